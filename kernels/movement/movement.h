// All ops that move elements without changing them, and those that make tensors from coordinates.
#ifndef KERNELS_MOVEMENT_MOVEMENT_H_
#define KERNELS_MOVEMENT_MOVEMENT_H_

#include "kernels/movement/concat.h"
#include "kernels/movement/depth.h"
#include "kernels/movement/expand.h"
#include "kernels/movement/gather.h"
#include "kernels/movement/generate.h"
#include "kernels/movement/pad.h"
#include "kernels/movement/reshape.h"
#include "kernels/movement/slice.h"
#include "kernels/movement/stored.h"
#include "kernels/movement/transpose.h"

#endif  // KERNELS_MOVEMENT_MOVEMENT_H_

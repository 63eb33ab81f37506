// All ops that move elements without changing them, and those that make tensors from coordinates.
#ifndef RLXGPU_KERNELS_MOVEMENT_MOVEMENT_H_
#define RLXGPU_KERNELS_MOVEMENT_MOVEMENT_H_

#include "rlxgpu/kernels/movement/assign.h"
#include "rlxgpu/kernels/movement/concat.h"
#include "rlxgpu/kernels/movement/depth.h"
#include "rlxgpu/kernels/movement/expand.h"
#include "rlxgpu/kernels/movement/gather.h"
#include "rlxgpu/kernels/movement/generate.h"
#include "rlxgpu/kernels/movement/pad.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/slice.h"
#include "rlxgpu/kernels/movement/stored.h"
#include "rlxgpu/kernels/movement/transpose.h"

#endif  // RLXGPU_KERNELS_MOVEMENT_MOVEMENT_H_

// The ops of the family movement: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_MOVEMENT_H_
#define RLXGPU_OPS_MOVEMENT_H_

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

#endif  // RLXGPU_OPS_MOVEMENT_H_

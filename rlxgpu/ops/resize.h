// The ops of the family resize: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_RESIZE_H_
#define RLXGPU_OPS_RESIZE_H_

#include "rlxgpu/kernels/resize/grid_sample.h"
#include "rlxgpu/kernels/resize/resize.h"
#include "rlxgpu/kernels/resize/taps.h"

#endif  // RLXGPU_OPS_RESIZE_H_

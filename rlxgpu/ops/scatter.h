// The ops of the family scatter: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_SCATTER_H_
#define RLXGPU_OPS_SCATTER_H_

#include "rlxgpu/kernels/scatter/bincount.h"
#include "rlxgpu/kernels/scatter/scatter.h"
#include "rlxgpu/kernels/scatter/shape.h"

#endif  // RLXGPU_OPS_SCATTER_H_

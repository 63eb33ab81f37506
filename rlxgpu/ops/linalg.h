// The ops of the family linalg: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_LINALG_H_
#define RLXGPU_OPS_LINALG_H_

#include "rlxgpu/kernels/linalg/cholesky.h"
#include "rlxgpu/kernels/linalg/det.h"

#endif  // RLXGPU_OPS_LINALG_H_

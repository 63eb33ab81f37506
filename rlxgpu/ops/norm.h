// The ops of the family norm: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_NORM_H_
#define RLXGPU_OPS_NORM_H_

#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"

#endif  // RLXGPU_OPS_NORM_H_

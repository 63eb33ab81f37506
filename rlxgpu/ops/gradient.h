// The ops of the family gradient: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_GRADIENT_H_
#define RLXGPU_OPS_GRADIENT_H_

#include "rlxgpu/kernels/gradient/gradients.h"

#endif  // RLXGPU_OPS_GRADIENT_H_

// The ops of the family softmax: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_SOFTMAX_H_
#define RLXGPU_OPS_SOFTMAX_H_

#include "rlxgpu/kernels/softmax/softmax.h"

#endif  // RLXGPU_OPS_SOFTMAX_H_

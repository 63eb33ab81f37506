// The ops of the family rope: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_ROPE_H_
#define RLXGPU_OPS_ROPE_H_

#include "rlxgpu/kernels/rope/rope.h"

#endif  // RLXGPU_OPS_ROPE_H_

// The ops of the family attention: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_ATTENTION_H_
#define RLXGPU_OPS_ATTENTION_H_

#include "rlxgpu/kernels/attention/attention.h"

#endif  // RLXGPU_OPS_ATTENTION_H_

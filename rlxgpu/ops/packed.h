// The ops of the family packed: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_PACKED_H_
#define RLXGPU_OPS_PACKED_H_

#include "rlxgpu/kernels/packed/packed.h"

#endif  // RLXGPU_OPS_PACKED_H_

// The ops of the family pool: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_POOL_H_
#define RLXGPU_OPS_POOL_H_

#include "rlxgpu/kernels/pool/pool.h"

#endif  // RLXGPU_OPS_POOL_H_

// The ops of the family reduce: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_REDUCE_H_
#define RLXGPU_OPS_REDUCE_H_

#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"

#endif  // RLXGPU_OPS_REDUCE_H_

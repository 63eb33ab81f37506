// The ops of the family sort: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_SORT_H_
#define RLXGPU_OPS_SORT_H_

#include "rlxgpu/kernels/sort/sort.h"

#endif  // RLXGPU_OPS_SORT_H_

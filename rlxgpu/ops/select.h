// The ops of the family select: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_SELECT_H_
#define RLXGPU_OPS_SELECT_H_

#include "rlxgpu/kernels/select/nms.h"
#include "rlxgpu/kernels/select/rank.h"
#include "rlxgpu/kernels/select/search.h"
#include "rlxgpu/kernels/select/select.h"

#endif  // RLXGPU_OPS_SELECT_H_

// The ops of the family blocks: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_BLOCKS_H_
#define RLXGPU_OPS_BLOCKS_H_

#include "rlxgpu/kernels/blocks/blocks.h"
#include "rlxgpu/kernels/blocks/weight.h"

#endif  // RLXGPU_OPS_BLOCKS_H_

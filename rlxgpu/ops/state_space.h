// The ops of the family state_space: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_STATE_SPACE_H_
#define RLXGPU_OPS_STATE_SPACE_H_

#include "rlxgpu/kernels/state_space/state_space.h"

#endif  // RLXGPU_OPS_STATE_SPACE_H_

// The ops of the family random: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_RANDOM_H_
#define RLXGPU_OPS_RANDOM_H_

#include "rlxgpu/kernels/random/random.h"

#endif  // RLXGPU_OPS_RANDOM_H_

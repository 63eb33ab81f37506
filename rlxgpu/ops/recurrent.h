// The ops of the family recurrent: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_RECURRENT_H_
#define RLXGPU_OPS_RECURRENT_H_

#include "rlxgpu/kernels/recurrent/attributes.h"
#include "rlxgpu/kernels/recurrent/recurrent.h"

#endif  // RLXGPU_OPS_RECURRENT_H_

// The ops of the family gate: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_GATE_H_
#define RLXGPU_OPS_GATE_H_

#include "rlxgpu/kernels/gate/gate.h"

#endif  // RLXGPU_OPS_GATE_H_

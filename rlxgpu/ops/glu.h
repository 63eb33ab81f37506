// The ops of the family glu: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_GLU_H_
#define RLXGPU_OPS_GLU_H_

#include "rlxgpu/kernels/glu/glu.h"

#endif  // RLXGPU_OPS_GLU_H_

// The ops of the family quantize: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_QUANTIZE_H_
#define RLXGPU_OPS_QUANTIZE_H_

#include "rlxgpu/kernels/quantize/quantize.h"

#endif  // RLXGPU_OPS_QUANTIZE_H_

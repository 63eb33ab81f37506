// The ops of the family sample: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_SAMPLE_H_
#define RLXGPU_OPS_SAMPLE_H_

#include "rlxgpu/kernels/sample/draw.h"
#include "rlxgpu/kernels/sample/sample.h"

#endif  // RLXGPU_OPS_SAMPLE_H_

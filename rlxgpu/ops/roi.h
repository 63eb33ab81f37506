// The ops of the family roi: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_ROI_H_
#define RLXGPU_OPS_ROI_H_

#include "rlxgpu/kernels/roi/roi.h"

#endif  // RLXGPU_OPS_ROI_H_

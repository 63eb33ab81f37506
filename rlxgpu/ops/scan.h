// The ops of the family scan: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_SCAN_H_
#define RLXGPU_OPS_SCAN_H_

#include "rlxgpu/kernels/scan/scan.h"

#endif  // RLXGPU_OPS_SCAN_H_

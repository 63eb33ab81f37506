// The ops of the family matmul: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_MATMUL_H_
#define RLXGPU_OPS_MATMUL_H_

#include "rlxgpu/kernels/matmul/einsum.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/gemm.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/matmul/qkv.h"
#include "rlxgpu/kernels/matmul/quantized.h"

#endif  // RLXGPU_OPS_MATMUL_H_

// The ops of the family conv: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_CONV_H_
#define RLXGPU_OPS_CONV_H_

#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/conv/conv_transpose.h"
#include "rlxgpu/kernels/conv/deform_conv.h"
#include "rlxgpu/kernels/conv/im2col.h"
#include "rlxgpu/kernels/conv/window.h"

#endif  // RLXGPU_OPS_CONV_H_

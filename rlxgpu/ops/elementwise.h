// The ops of the family elementwise: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_ELEMENTWISE_H_
#define RLXGPU_OPS_ELEMENTWISE_H_

#include "rlxgpu/kernels/elementwise/activation.h"
#include "rlxgpu/kernels/elementwise/activation_slot.h"
#include "rlxgpu/kernels/elementwise/angles.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/bits.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/elementwise/complex.h"
#include "rlxgpu/kernels/elementwise/logic.h"
#include "rlxgpu/kernels/elementwise/select.h"
#include "rlxgpu/kernels/elementwise/unary.h"

#endif  // RLXGPU_OPS_ELEMENTWISE_H_

// All ops that compute each element of their result from the elements at the same place.
//
//   Tensor y = where(gt(x, 0.0f), x, exp(x) - 1.0f);      // one kernel, whatever the length of the chain
//
// Operands broadcast as in NumPy, to rank 8; extents may be zero.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_ELEMENTWISE_H_
#define RLXGPU_KERNELS_ELEMENTWISE_ELEMENTWISE_H_

#include "rlxgpu/kernels/elementwise/activation.h"
#include "rlxgpu/kernels/elementwise/angles.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/bits.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/elementwise/complex.h"
#include "rlxgpu/kernels/elementwise/logic.h"
#include "rlxgpu/kernels/elementwise/select.h"
#include "rlxgpu/kernels/elementwise/unary.h"

#endif  // RLXGPU_KERNELS_ELEMENTWISE_ELEMENTWISE_H_

// All ops that compute each element of their result from the elements at the same place.
//
//   Tensor y = where(gt(x, 0.0f), x, exp(x) - 1.0f);      // one kernel, whatever the length of the chain
//
// Operands broadcast as in NumPy, to rank 8; extents may be zero.
#ifndef KERNELS_ELEMENTWISE_ELEMENTWISE_H_
#define KERNELS_ELEMENTWISE_ELEMENTWISE_H_

#include "kernels/elementwise/activation.h"
#include "kernels/elementwise/angles.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/elementwise/bits.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/complex.h"
#include "kernels/elementwise/logic.h"
#include "kernels/elementwise/select.h"
#include "kernels/elementwise/unary.h"

#endif  // KERNELS_ELEMENTWISE_ELEMENTWISE_H_

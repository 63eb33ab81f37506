// Gradients of matmul: two products, with what was broadcast added up. Transposes are views, so nothing is copied.
#ifndef RLXGPU_KERNELS_MATMUL_GRADIENT_H_
#define RLXGPU_KERNELS_MATMUL_GRADIENT_H_

#include "rlxgpu/gradient/rule.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/gradient.h"

namespace rlxgpu::core {

namespace internal {

constexpr Tensor as_type(Tensor x, DType dtype, Site at) { return x.dtype() == dtype ? x : cast(x, dtype, at); }

constexpr void matmul_gradient(Gradient& g) {
  const Site at = g.site();
  Tensor a = g.operand(0), b = g.operand(1), y = g.given();
  const bool row = a.shape().rank() == 1, column = b.shape().rank() == 1;  // axes that the result does not have
  if (row) a = unsqueeze(a, {0}, at), y = unsqueeze(y, {column ? -1 : -2}, at);
  if (column) b = unsqueeze(b, {1}, at), y = unsqueeze(y, {-1}, at);
  if (g.wanted(0)) {
    const Tensor to_a = sum_to(matmul(y, transpose(b, at), at), a.shape(), at);
    g.give(0, as_type(reshape(to_a, g.operand(0).shape(), at), g.operand(0).dtype(), at));
  }
  if (!g.wanted(1)) return;
  const int rank = a.shape().rank();
  if (b.shape().rank() == 2 && rank > 2 &&
      !a.shape().dynamic()) {  // one matrix for all of a: one product over all rows
    const int64_t rows = a.shape().count(0, rank - 1);
    a = reshape(a, {rows, a.shape().dim(rank - 1)}, at), y = reshape(y, {rows, y.shape().dim(rank - 1)}, at);
  }
  const Tensor to_b = sum_to(matmul(transpose(a, at), y, at), b.shape(), at);
  g.give(1, as_type(reshape(to_b, g.operand(1).shape(), at), g.operand(1).dtype(), at));
}

}  // namespace internal

inline constexpr GradientRule kMatmulGradients[] = {{&kMatmul, internal::matmul_gradient}};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_GRADIENT_H_

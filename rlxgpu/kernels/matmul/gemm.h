// gemm(a, b, {.alpha = 0.5f}): alpha op(a) op(b) + beta c, as BLAS and ONNX have it; op transposes or does nothing.
// lora(x, w, a, b, scale): x w + scale (x a) b, a weight with a correction of low rank.
//
//   Tensor y = gemm(x, w, {.alpha = 0.125f, .transpose_b = true, .c = bias});
//
// Everything but the products joins their dispatches: gemm is one product, lora three.
#ifndef RLXGPU_KERNELS_MATMUL_GEMM_H_
#define RLXGPU_KERNELS_MATMUL_GEMM_H_

#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/transpose.h"

namespace rlxgpu::core {

struct GemmOptions {
  float alpha = 1, beta = 1;
  bool transpose_a = false, transpose_b = false;
  Tensor c = {};  // added, broadcast to the product's shape; none unless given
};

// With its last two axes exchanged.
constexpr Tensor matrix_transpose(Tensor x, Site site = std::source_location::current()) {
  IntList order;
  const int rank = x.shape().rank();
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis < rank - 2 ? axis : 2 * rank - 3 - axis);
  return rank < 2 ? x : transpose(x, order, site);
}

constexpr Tensor gemm(Tensor a, Tensor b, const GemmOptions& options = {}, Site site = std::source_location::current()) {
  Tensor y = matmul(options.transpose_a ? matrix_transpose(a, site) : a,
                    options.transpose_b ? matrix_transpose(b, site) : b, site);
  if (options.alpha != 1) y = y * Rhs(options.alpha, site);
  if (!options.c.valid() || options.beta == 0) return y;
  return y + Rhs(options.beta == 1 ? options.c : options.c * Rhs(options.beta, site), site);
}

// x: (..., m, k)   w: (k, n)   a: (k, r)   b: (r, n)
constexpr Tensor lora(Tensor x, Tensor w, Tensor a, Tensor b, float scale, Site site = std::source_location::current()) {
  const Tensor correction = matmul(matmul(x, a, site), b, site) * Rhs(scale, site);
  return matmul(x, w, site) + Rhs(correction, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::GemmOptions, core::gemm, core::lora, core::matrix_transpose;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MATMUL_GEMM_H_

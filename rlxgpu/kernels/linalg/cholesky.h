// cholesky(x): the lower triangles l with l l^T = x of symmetric positive definite matrices.
//
//   auto [lower, flags] = cholesky(covariance);
//
// x: (..., n, n), floats, computed in f32; only its lower triangle is read   lower: like x, zero above the diagonal
// flags: i32 (...): 0, or for a matrix that is not positive definite (or whose elements are not finite) the order of the
// first leading minor that shows it, from 1 on, as LAPACK's info. The factor of such a matrix is NaN. n to 512.
#ifndef RLXGPU_KERNELS_LINALG_CHOLESKY_H_
#define RLXGPU_KERNELS_LINALG_CHOLESKY_H_

#include <cmath>
#include <cstdint>
#include <source_location>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

struct Factored {
  Tensor lower, flags;
};

inline constexpr KernelFile kCholeskyFile(
#include "rlxgpu/kernels/linalg/cholesky.wgsl"
);

namespace internal {

constexpr void cholesky_infer(Infer& infer) {
  const Shape& x = infer.shape(0);
  const int rank = x.rank();
  if (!is_float(infer.dtype(0))) return infer.fail("takes floats, not ", name_of(infer.dtype(0)));
  if (rank < 2 || x[rank - 1] != x[rank - 2] || x[rank - 1] < 1 || x[rank - 1] > 512 || x.dynamic())
    return infer.fail("takes square matrices of known extents, 1 to 512");
  Shape flags;
  for (int i = 0; i + 2 < rank; ++i) flags.push_back(x.dim(i));
  infer.result(infer.dtype(0), x);
  infer.result(i32, flags);
}

constexpr void cholesky_emit(Emit& e) {
  const Shape& x = e.call().operand(0).shape;
  const int64_t n = x[x.rank() - 1], count = x.count() / (n * n);
  const FoldedGrid grid = fold_grid(count, e.target().max_groups);
  int64_t lanes = 8;
  while (e.target().adapter_class != AdapterClass::software && lanes < n && lanes < 256) lanes *= 2;
  const Ref work = e.scratch(f32, {count, n, n});
  e.dispatch(kCholeskyFile)
      .number("kCount", count)
      .number("kSize", n)
      .number("kLanes", lanes)
      .number("kGridRow", grid.row)
      .input("x", e.operand(0))
      .raw("work", work, true)
      .output("y", e.result(0))
      .output("flags", e.result(1))
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kCholeskyVariants[] = {{"columns", nullptr, cholesky_emit}};

constexpr Cost cholesky_cost(const Call& call) {
  const Shape& x = call.operand(0).shape;
  return {1.0 / 3 * static_cast<double>(x.count()) * static_cast<double>(x[x.rank() - 1]), 0};
}

inline void cholesky_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const int64_t n = x.shape[x.shape.rank() - 1];
  for (int64_t m = 0; m < call.result(1).count(); ++m) {
    const auto l = [&](int64_t row, int64_t col) -> double& { return call.result(0)[(m * n + row) * n + col]; };
    int64_t bad = 0;
    for (int64_t row = 0; row < n && bad == 0; ++row) {
      for (int64_t col = 0; col <= row && bad == 0; ++col) {
        double left = x[(m * n + row) * n + col];
        for (int64_t k = 0; k < col; ++k) left -= l(row, k) * l(col, k);
        if (row == col && !(left > 0 && std::isfinite(left))) bad = row + 1;
        l(row, col) = row == col ? std::sqrt(left) : left / l(col, col);
      }
    }
    call.result(1)[m] = static_cast<double>(bad);
    for (int64_t i = 0; i < n * n && bad > 0; ++i) l(0, i) = std::nan("");
  }
}

}  // namespace internal

inline constexpr OpDef kCholesky = {
    .name = "cholesky",
    .infer = internal::cholesky_infer,
    .variants = internal::kCholeskyVariants,
    .absorbs = 1,
    .cost = internal::cholesky_cost,
    .reference = internal::cholesky_reference,
};
constexpr Factored cholesky(Tensor x, Site site = std::source_location::current()) {
  const Tensor lower = apply(kCholesky, {x}, site);
  return {lower, result_of(lower, 1)};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Factored, core::cholesky;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_LINALG_CHOLESKY_H_

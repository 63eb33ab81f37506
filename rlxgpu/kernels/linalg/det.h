// det(x): the determinants of square matrices, (..., n, n) to (...). For n up to a few hundred.
#ifndef RLXGPU_KERNELS_LINALG_DET_H_
#define RLXGPU_KERNELS_LINALG_DET_H_

#include <cmath>
#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline constexpr KernelFile kDetFile(
#include "rlxgpu/kernels/linalg/det.wgsl"
);

namespace internal {

constexpr void det_infer(Infer& infer) {
  const Shape& x = infer.shape(0);
  const int rank = x.rank();
  if (!is_float(infer.dtype(0))) return infer.fail("takes floats, not ", name_of(infer.dtype(0)));
  if (rank < 2 || x[rank - 1] != x[rank - 2] || x[rank - 1] < 1 || x.dynamic())
    return infer.fail("takes square matrices of known extents");
  Shape to;
  for (int i = 0; i + 2 < rank; ++i) to.push_back(x.dim(i));
  infer.result(infer.dtype(0), to);
}

constexpr void det_emit(Emit& e) {
  const Shape& x = e.call().operand(0).shape;
  const int64_t n = x[x.rank() - 1], count = x.count() / (n * n);
  const FoldedGrid grid = fold_grid(count, e.target().max_groups);
  int64_t lanes = 8;
  while (e.target().adapter_class != AdapterClass::software && lanes < n && lanes < 256) lanes *= 2;
  const Ref work = e.scratch(f32, {count, n, n});
  e.dispatch(kDetFile)
      .number("kCount", count)
      .number("kSize", n)
      .number("kLanes", lanes)
      .number("kGridRow", grid.row)
      .input("x", e.operand(0))
      .raw("work", work, true)
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kDetVariants[] = {{"elimination", nullptr, det_emit}};

constexpr Cost det_cost(const Call& call) {
  const Shape& x = call.operand(0).shape;
  return {2.0 / 3 * static_cast<double>(x.count()) * static_cast<double>(x[x.rank() - 1]), 0};
}

inline void det_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const int64_t n = x.shape[x.shape.rank() - 1];
  for (int64_t m = 0; m < call.result().count(); ++m) {
    std::vector<std::vector<double>> a(static_cast<size_t>(n));
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < n; ++c) a[static_cast<size_t>(r)].push_back(x[(m * n + r) * n + c]);
    }
    double product = 1;
    for (size_t k = 0; k < a.size(); ++k) {
      size_t pivot = k;
      for (size_t r = k; r < a.size(); ++r) {
        if (std::fabs(a[r][k]) > std::fabs(a[pivot][k])) pivot = r;
      }
      if (pivot != k) std::swap(a[pivot], a[k]), product = -product;
      product *= a[k][k];
      for (size_t r = k + 1; r < a.size() && a[k][k] != 0; ++r) {
        const double factor = a[r][k] / a[k][k];
        for (size_t c = k; c < a.size(); ++c) a[r][c] -= factor * a[k][c];
      }
    }
    call.result()[m] = product;
  }
}

}  // namespace internal

inline constexpr OpDef kDet = {
    .name = "det",
    .infer = internal::det_infer,
    .variants = internal::kDetVariants,
    .absorbs = 1,
    .absorbs_after = true,
    .cost = internal::det_cost,
    .reference = internal::det_reference,
};
constexpr Tensor det(Tensor x, Site site = std::source_location::current()) { return apply(kDet, {x}, site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::det;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_LINALG_DET_H_

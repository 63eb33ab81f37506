// knn(a, b, k): for each row of a the k nearest rows of b, nearest first, exactly: every pair is looked at, none is
// stored.
//
//   auto [indices, distances] = knn(queries, points, 10);
//   auto [near, how_far] = knn_self(points, 15, KnnMetric::cosine);   // of each point the 15 nearest others
//
// a: (m, d)   b: (n, d), floats, summed in f32   indices: i32 (m, k)   distances: f32 (m, k)   k to 128
// squared_euclidean: the sum of (a - b)^2. inner_product: the greatest products come first, and distances are those
// products. cosine: 1 - a b / (|a| |b|), which is 1 where a row is all zeros. Of equal distances the smaller index
// comes first; NaN is greater than every number. Memory beyond the results: none. One invocation walks over all of b
// for each row of a, so a few rows of a leave a wide device idle.
#ifndef RLXGPU_KERNELS_KNN_KNN_H_
#define RLXGPU_KERNELS_KNN_KNN_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/knn/reference.h"

namespace rlxgpu::core {

enum class KnnMetric : uint8_t { squared_euclidean, inner_product, cosine };

struct Neighbours {
  Tensor indices, distances;
};

inline constexpr KernelFile kKnnFile(
#include "rlxgpu/kernels/knn/knn.wgsl"
);

namespace internal {

// Attributes: k, metric, self.
constexpr void knn_infer(Infer& infer) {
  const Shape &a = infer.shape(0), &b = infer.shape(1);
  for (int i = 0; i < 2; ++i) {
    if (!is_float(infer.dtype(i))) return infer.fail("takes floats, not ", name_of(infer.dtype(i)));
  }
  if (a.rank() != 2 || b.rank() != 2 || a.dynamic() || b.dynamic())
    return infer.fail("takes two matrices of known extents");
  if (a[1] != b[1]) return infer.fail("rows of ", a[1], " and of ", b[1], " columns");
  if (a[1] < 1) return infer.fail("takes rows of at least one column");
  const int64_t k = infer.attr(0), others = infer.attr(2) != 0 && b[0] > 0 ? b[0] - 1 : b[0];
  if (k < 0 || k > 128) return infer.fail(k, " neighbours are wanted: 0 to 128 are possible");
  if (k > others && a[0] > 0) return infer.fail(k, " neighbours are wanted of ", others, " rows");
  infer.result(i32, {a[0], k});
  infer.result(f32, {a[0], k});
}

constexpr void knn_emit(Emit& e) {
  const Shape &a = e.call().operand(0).shape, &b = e.call().operand(1).shape;
  const int64_t lanes = e.target().adapter_class == AdapterClass::software ? 8 : 64;
  const FoldedGrid grid = fold_grid(ceil_div(a[0], lanes), e.target().max_groups);
  e.dispatch(kKnnFile)
      .number("kM", a[0])
      .number("kN", b[0])
      .number("kD", a[1])
      .number("kKeep", e.attr(0))
      .number("kMetric", e.attr(1))
      .number("kSelf", e.attr(2))
      .number("kLanes", lanes)
      .number("kGridRow", grid.row)
      .input("a", e.operand(0))
      .input("b", e.operand(1))
      .output("y", e.result(0))
      .output("distance", e.result(1))
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kKnnVariants[] = {{"rows", nullptr, knn_emit}};

constexpr Cost knn_cost(const Call& call) {
  const Shape &a = call.operand(0).shape, &b = call.operand(1).shape;
  return {2.0 * static_cast<double>(a.count()) * static_cast<double>(b[0]),
          4.0 * static_cast<double>(a.count() + b.count() + 2 * call.result().shape.count())};
}

}  // namespace internal

inline constexpr OpDef kKnn{
    .name = "knn",
    .infer = internal::knn_infer,
    .variants = internal::kKnnVariants,
    .cost = internal::knn_cost,
    .reference = knn_reference,
};

constexpr Neighbours knn(Tensor a, Tensor b, int64_t k, KnnMetric metric = KnnMetric::squared_euclidean,
                         Site site = std::source_location::current()) {
  const Tensor indices = apply(kKnn, {a, b}, {k, static_cast<int64_t>(metric), 0}, site);
  return {indices, result_of(indices, 1)};
}
// Of each row of x the k nearest other rows of x.
constexpr Neighbours knn_self(Tensor x, int64_t k, KnnMetric metric = KnnMetric::squared_euclidean,
                              Site site = std::source_location::current()) {
  const Tensor indices = apply(kKnn, {x, x}, {k, static_cast<int64_t>(metric), 1}, site.as("knn_self"));
  return {indices, result_of(indices, 1)};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::KnnMetric, core::Neighbours, core::knn, core::knn_self;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_KNN_KNN_H_

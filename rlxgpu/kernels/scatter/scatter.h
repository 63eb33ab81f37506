// scatter_elements, scatter_nd, scatter_add: x with some elements replaced or combined with updates.
//
//   Tensor y = scatter_elements(x, indices, updates, 1);        // y[i, indices[i, j]] = updates[i, j]
//   Tensor y = scatter_add(x, indices, updates, 0);             // y[indices[i, j], j] += updates[i, j]
//   Tensor y = scatter_nd(x, indices, updates, Scatter::max);   // y[indices[t, :], ...] = max(it, updates[t, ...])
//
// Updates are applied in the order of the indices, so that the result is the same on every run; of several that
// replace one element the last stays. Negative indices count from the end; an index out of range is ignored. Floats
// are combined in f32, integers wrap, a NaN wins max and min. Sums of integers are the same in any order, so
// scatter_elements adds them by atomics. Otherwise each element of the result looks at every update that could mean it:
// the cost is elements times indices along the axis (scatter_nd: times all tuples).
#ifndef RLXGPU_KERNELS_SCATTER_SCATTER_H_
#define RLXGPU_KERNELS_SCATTER_SCATTER_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/reduce/combine.h"
#include "rlxgpu/kernels/scatter/atomic.h"
#include "rlxgpu/kernels/scatter/reference.h"
#include "rlxgpu/kernels/scatter/shape.h"

namespace rlxgpu::core {

inline constexpr KernelFile kScatterElementsFile(
#include "rlxgpu/kernels/scatter/elements.wgsl"
);
inline constexpr KernelFile kScatterNdFile(
#include "rlxgpu/kernels/scatter/nd.wgsl"
);

constexpr std::string_view scatter_text(Scatter mode, DType dtype) {
  switch (mode) {
    case Scatter::replace:
      return "fn combine(a : Acc, b : Acc) -> Acc { return b; }";
    case Scatter::add:
      return combine_text(Combine::sum, dtype);
    case Scatter::mul:
      return combine_text(Combine::prod, dtype);
    case Scatter::max:
      return combine_text(Combine::max, dtype);
    case Scatter::min:
      return combine_text(Combine::min, dtype);
  }
  return "";
}

inline constexpr std::string_view kScatterExtents[] = {"kX0", "kX1", "kX2", "kX3", "kX4", "kX5", "kX6", "kX7"};

// What both kernels have.
constexpr void give_scatter(Dispatch& dispatch, const Emit& e, Scatter mode, const FoldedGrid& grid) {
  const DType dtype = e.call().operand(0).dtype, index = e.call().operand(1).dtype;
  dispatch.type("Acc", register_of(dtype)).type("IndexType", register_of(index));
  dispatch.number("kCount", e.call().result().shape.count()).number("kRow", grid.row * 64);
  dispatch.input("x", e.operand(0))
      .input("indices", e.operand(1))
      .input("updates", e.operand(2))
      .output("y", e.result());
  dispatch.slot("place", place_text(index)).slot("combine", scatter_text(mode, dtype)).slot("finish", wrap_text(dtype));
}

constexpr void scatter_elements_emit(Emit& e) {
  const Shape& x = e.call().operand(0).shape;
  const Shape& indices = e.call().operand(1).shape;
  const Strides steps = dense_strides(indices);
  const int shift = kMaxRank - x.rank();
  const FoldedGrid grid = fold_grid(ceil_div(x.count(), 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kScatterElementsFile);
  give_scatter(dispatch, e, static_cast<Scatter>(e.attr(0)), grid);
  constexpr std::string_view kSteps[] = {"kStep0", "kStep1", "kStep2", "kStep3",
                                         "kStep4", "kStep5", "kStep6", "kStep7"};
  constexpr std::string_view kExtents[] = {"extent0", "extent1", "extent2", "extent3",
                                           "extent4", "extent5", "extent6", "extent7"};
  for (int i = 0; i < kMaxRank; ++i) {
    dispatch.number(kScatterExtents[i], i < shift ? 1 : x[i - shift]);
    dispatch.number(kSteps[i], i < shift ? 0 : steps[i - shift]);
    dispatch.extent(kExtents[i], i < shift ? Dim(1) : indices.dim(i - shift));
  }
  dispatch.number("kAxis", shift + normalise_axis(e.attr(1), x.rank())).grid(grid.row, grid.rows);
}

constexpr void scatter_nd_emit(Emit& e) {
  const Shape& x = e.call().operand(0).shape;
  const Shape& indices = e.call().operand(1).shape;
  const int last = indices.rank() - 1;
  const int tuple = static_cast<int>(indices[last]);
  const FoldedGrid grid = fold_grid(ceil_div(x.count(), 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kScatterNdFile);
  give_scatter(dispatch, e, static_cast<Scatter>(e.attr(0)), grid);
  for (int i = 0; i < kMaxRank; ++i) dispatch.number(kScatterExtents[i], i < tuple ? x[i] : 1);
  dispatch.number("kTuple", tuple)
      .number("kInner", x.count(tuple, x.rank()))
      .extent("steps", last > 0 ? indices.dim(0) : Dim(1))
      .number("kPerTuples", indices.count(1, last))
      .grid(grid.row, grid.rows);
}

inline constexpr Variant kScatterElementsVariants[] = {
    {"atomic", internal::scatter_atomic_accepts, internal::scatter_atomic_emit, internal::scatter_atomic_prefers},
    {"walk", nullptr, scatter_elements_emit},
};
inline constexpr Variant kScatterNdVariants[] = {{"walk", nullptr, scatter_nd_emit}};

constexpr Cost scatter_cost(const Call& call) { return {static_cast<double>(call.operand(2).shape.count()), 0}; }

inline constexpr OpDef kScatterElements{
    .name = "scatter_elements",
    .infer = scatter_elements_infer,
    .variants = kScatterElementsVariants,
    .absorbs = 0b101,  // x and the updates; indices are read many times
    .absorbs_after = true,
    .cost = scatter_cost,
    .reference = scatter_elements_reference,
};
inline constexpr OpDef kScatterNd{
    .name = "scatter_nd",
    .infer = scatter_nd_infer,
    .variants = kScatterNdVariants,
    .absorbs = 0b101,
    .absorbs_after = true,
    .cost = scatter_cost,
    .reference = scatter_nd_reference,
};

constexpr Tensor scatter_elements(Tensor x, Tensor indices, Tensor updates, int axis, Scatter mode = Scatter::replace,
                                  Site site = std::source_location::current()) {
  return apply(kScatterElements, {x, indices, updates}, {static_cast<int64_t>(mode), axis}, site);
}
constexpr Tensor scatter_add(Tensor x, Tensor indices, Tensor updates, int axis,
                             Site site = std::source_location::current()) {
  return scatter_elements(x, indices, updates, axis, Scatter::add, site.as("scatter_add"));
}
constexpr Tensor scatter_nd(Tensor x, Tensor indices, Tensor updates, Scatter mode = Scatter::replace,
                            Site site = std::source_location::current()) {
  return apply(kScatterNd, {x, indices, updates}, {static_cast<int64_t>(mode)}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::scatter_add, core::scatter_elements, core::scatter_nd;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SCATTER_SCATTER_H_

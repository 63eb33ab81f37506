// Sums of integers by atomics: the variant of scatter_elements whose cost does not grow with updates times elements.
#ifndef RLXGPU_KERNELS_SCATTER_ATOMIC_H_
#define RLXGPU_KERNELS_SCATTER_ATOMIC_H_

#include <algorithm>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/reduce/combine.h"
#include "rlxgpu/kernels/scatter/shape.h"

namespace rlxgpu::core {

namespace internal {

inline constexpr KernelFile kScatterAtomicAddFile(
#include "rlxgpu/kernels/scatter/atomic_add.wgsl"
);
inline constexpr KernelFile kScatterAtomicCopyFile(
#include "rlxgpu/kernels/scatter/atomic_copy.wgsl"
);

constexpr bool scatter_atomic_accepts(const Call& call, const Target&) {
  return static_cast<Scatter>(call.attr(0)) == Scatter::add && is_integer(call.operand(0).dtype) &&
         call.result().shape.count() > 0 && call.operand(1).shape.count() > 0;
}

// Three dispatches instead of one that reads every index for every element along the axis.
constexpr bool scatter_atomic_prefers(const Call& call, const Target&) {
  const Shape& indices = call.operand(1).shape;
  return indices[normalise_axis(call.attr(1), indices.rank())] > 16;
}

// From x to the sums, or from the sums to the result.
constexpr void copy_for_atomics(const Emit& e, Ref from, Ref to, Register elem, Register acc, std::string_view finish) {
  const int64_t count = e.call().result().shape.count();
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  e.dispatch(kScatterAtomicCopyFile)
      .type("Elem", elem)
      .type("Acc", acc)
      .number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("x", from)
      .output("y", to)
      .slot("finish", finish)
      .grid(grid.row, grid.rows);
}

constexpr void scatter_atomic_emit(Emit& e) {
  const Shape &x = e.call().operand(0).shape, &indices = e.call().operand(1).shape;
  const DType dtype = e.call().operand(0).dtype, index = e.call().operand(1).dtype;
  const Register reg = register_of(dtype);
  const Ref sums = e.scratch(u32, {x.count()});
  copy_for_atomics(e, e.operand(0), sums, reg, Register::u32, wrap_text(u32));

  // Workgroups that add up their updates first see at least four for each place that they then add to.
  constexpr int64_t kMostPlaces = 2048, kLanes = 64, kGroups = 32;
  const int64_t places = x.count(), count = indices.count();
  const int64_t worth = std::max(int64_t{1}, ceil_div(4 * places, kLanes)), most = ceil_div(count, kLanes * kGroups);
  const bool shared = places <= kMostPlaces && worth <= most;
  const int64_t each = shared ? most : 1;
  const FoldedGrid grid = fold_grid(ceil_div(count, kLanes * each), e.target().max_groups);
  constexpr std::string_view kX[] = {"kX0", "kX1", "kX2", "kX3", "kX4", "kX5", "kX6", "kX7"};
  constexpr std::string_view kU[] = {"kU0", "kU1", "kU2", "kU3", "kU4", "kU5", "kU6", "kU7"};
  constexpr std::string_view kExtents[] = {"extent0", "extent1", "extent2", "extent3",
                                           "extent4", "extent5", "extent6", "extent7"};
  const int shift = kMaxRank - x.rank();
  Dispatch dispatch = e.dispatch(kScatterAtomicAddFile);
  dispatch.type("Elem", reg)
      .type("IndexType", register_of(index))
      .number("kCount", count)
      .number("kEach", each)
      .number("kPlaces", shared ? places : 1)
      .number("kRow", grid.row)
      .number("kAxis", shift + normalise_axis(e.attr(1), x.rank()))
      .flag("SHARED", shared)
      .input("indices", e.operand(1))
      .input("updates", e.operand(2))
      .raw("sums", sums, true)
      .slot("place", place_text(index));
  for (int i = 0; i < kMaxRank; ++i) {
    dispatch.number(kX[i], i < shift ? 1 : x[i - shift])
        .number(kU[i], i < shift ? 1 : indices[i - shift])
        .extent(kExtents[i], i < shift ? Dim(1) : indices.dim(i - shift));
  }
  dispatch.grid(grid.row, grid.rows);

  copy_for_atomics(e, sums, e.result(), Register::u32, reg, wrap_text(dtype));
}

}  // namespace internal

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SCATTER_ATOMIC_H_

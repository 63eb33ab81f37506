// expand(x, shape): broadcast as NumPy does; a view. tile(x, repeats): whole copies side by side.
//
//   expand(bias, {32, 64})      tile(x, {1, 3})      // [a b] becomes [a b a b a b]
//
// expand takes an extent of 1 in `shape` for "as it is"; run-time extents pass through, tile must not repeat them.
#ifndef RLXGPU_KERNELS_MOVEMENT_EXPAND_H_
#define RLXGPU_KERNELS_MOVEMENT_EXPAND_H_

#include <cstdint>
#include <source_location>
#include <span>

#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

// attrs: an extent and a symbol for each axis of the shape asked for.
constexpr void expand_infer(Infer& infer) {
  Shape wanted, to;
  for (int i = 0; i < static_cast<int>(infer.call().attrs.size()); i += 2) {
    wanted.push_back(Dim(infer.attr(i), static_cast<int>(infer.attr(i + 1))));
  }
  if (!broadcast(infer.shape(0), wanted, to)) return infer.fail("does not stretch to ", wanted);
  infer.result(infer.dtype(0), to);
}

constexpr bool expand_view(const Call& call, const View& operand, View& result) {
  const Shape &from = call.operand(0).shape, &to = call.result().shape;
  const int shift = to.rank() - from.rank();
  result = {operand.offset, {}};
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] != 1) result.strides[axis + shift] = operand.strides[axis];
  }
  return true;
}

constexpr void expand_at(At& at) { at.result() << at.operand(0); }

// attrs: repeats of each axis.
constexpr void tile_infer(Infer& infer) {
  const Shape& from = infer.shape(0);
  if (static_cast<int>(infer.call().attrs.size()) != from.rank()) {
    return infer.fail(infer.call().attrs.size(), " repeats for ", from.rank(), " axes");
  }
  Shape to;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int64_t repeats = infer.attr(axis);
    if (repeats < 0) return infer.fail("axis ", axis, " cannot be repeated ", repeats, " times");
    if (repeats != 1 && from.symbol(axis) >= 0)
      return infer.fail("axis ", axis, " has a run-time extent and cannot be repeated");
    to.push_back(repeats == 1 ? from.dim(axis) : Dim(from[axis] * repeats));
  }
  infer.result(infer.dtype(0), to);
}

constexpr void tile_at(At& at) {
  Coords source = at.coords();
  for (int axis = 0; axis < at.shape().rank(); ++axis) {
    const int64_t extent = at.operand_shape(0)[axis];
    if (extent == at.shape()[axis] || extent == 0) continue;
    source[axis] = extent == 1 ? kZero : at.let(source[axis], " % ", extent, 'u');
  }
  at.result() << at.operand(0, source);
}

}  // namespace internal

inline constexpr OpDef kExpand = {
    .name = "expand",
    .infer = internal::expand_infer,
    .at = internal::expand_at,
    .view = internal::expand_view,
    .reads_elsewhere = true,
    .fold = internal::fold_same_type,
    .reference = reference::expand,
};
constexpr Tensor expand(Tensor x, const Shape& shape, Site site = std::source_location::current()) {
  int64_t attrs[2 * kMaxRank] = {};
  for (int axis = 0; axis < shape.rank() && axis < kMaxRank; ++axis) {
    attrs[2 * axis] = shape[axis];
    attrs[2 * axis + 1] = shape.symbol(axis);
  }
  const int rank = shape.rank() < kMaxRank ? shape.rank() : kMaxRank;
  return apply(kExpand, {x}, Span<int64_t>(attrs, static_cast<size_t>(2 * rank)), site);
}

inline constexpr OpDef kTile = {
    .name = "tile",
    .infer = internal::tile_infer,
    .at = internal::tile_at,
    .reads_elsewhere = true,
    .fold = internal::fold_same_type,
    .reference = reference::tile,
};
constexpr Tensor tile(Tensor x, const IntList& repeats, Site site = std::source_location::current()) {
  return apply(kTile, {x}, repeats.span(), site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::expand, core::tile;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_EXPAND_H_

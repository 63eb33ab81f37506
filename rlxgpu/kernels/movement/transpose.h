// transpose(x, order): axis i of the result is axis order[i] of x. A view.
//
//   Tensor k_t = transpose(k, {0, 2, 1});      // (batch, key, head) to (batch, head, key)
//   Tensor w_t = transpose(w);                 // the last two axes change places
#ifndef RLXGPU_KERNELS_MOVEMENT_TRANSPOSE_H_
#define RLXGPU_KERNELS_MOVEMENT_TRANSPOSE_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

constexpr void transpose_infer(Infer& infer) {
  const Shape& from = infer.shape(0);
  const int rank = static_cast<int>(infer.call().attrs.size());
  if (rank != from.rank()) return infer.fail("the order names ", rank, " axes, not ", from.rank());
  Shape to;
  bool seen[kMaxRank] = {};
  for (int axis = 0; axis < rank; ++axis) {
    const int source = normalise_axis(infer.attr(axis), rank);
    if (source < 0) return infer.fail("axis ", infer.attr(axis), " does not exist");
    if (seen[source]) return infer.fail("axis ", infer.attr(axis), " is named twice");
    seen[source] = true;
    to.push_back(from.dim(source));
  }
  infer.result(infer.dtype(0), to);
}

constexpr bool transpose_view(const Call& call, const View& operand, View& result) {
  const int rank = call.result().shape.rank();
  result.offset = operand.offset;
  for (int axis = 0; axis < rank; ++axis) result.strides[axis] = operand.strides[normalise_axis(call.attr(axis), rank)];
  return true;
}

constexpr void transpose_at(At& at) {
  const int rank = at.shape().rank();
  Coords source;
  for (int axis = 0; axis < rank; ++axis) source[normalise_axis(at.attr(axis), rank)] = at.coord(axis);
  at.result() << at.operand(0, source);
}

constexpr bool transpose_fold(Fold& fold) {
  const int rank = fold.call().result().shape.rank();
  for (int axis = 0; axis < rank; ++axis) {
    if (normalise_axis(fold.call().attr(axis), rank) != axis) return false;
  }
  return fold.operand(0);
}

}  // namespace internal

inline constexpr OpDef kTranspose = {
    .name = "transpose",
    .infer = internal::transpose_infer,
    .at = internal::transpose_at,
    .view = internal::transpose_view,
    .reads_elsewhere = true,
    .fold = internal::transpose_fold,
    .reference = reference::transpose,
};

constexpr Tensor transpose(Tensor x, const IntList& order, Site site = std::source_location::current()) {
  return apply(kTranspose, {x}, order.span(), site);
}
constexpr Tensor transpose(Tensor x, Site site = std::source_location::current()) {
  const int rank = x.shape().rank();
  IntList order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis < rank - 2 ? axis : 2 * rank - 3 - axis);
  if (rank == 1) order[0] = 0;
  return apply(kTranspose, {x}, order.span(), site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::transpose;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_TRANSPOSE_H_

// reshape(x, shape): the same elements in the same order, counted in other axes; a view where memory allows it.
//
//   reshape(x, {2, -1, 64})      // at most one -1: what is left
//   reshape(x, {n, 12, 64})      // n: a run-time extent of x
//   squeeze(x, {0})   unsqueeze(x, {0, -1})   flatten(x, 1)
//
// A run-time extent must stay an axis of its own with the same elements behind it; -1 may stand for it.
#ifndef RLXGPU_KERNELS_MOVEMENT_RESHAPE_H_
#define RLXGPU_KERNELS_MOVEMENT_RESHAPE_H_

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

// The axis of `shape` with this extent and this many elements behind each step; -1: none.
constexpr int axis_like(const Shape& shape, int64_t extent, int64_t inner) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == extent && shape.count(axis + 1, shape.rank()) == inner) return axis;
  }
  return -1;
}

// attrs: an extent and a symbol for each axis of the result.
constexpr void reshape_infer(Infer& infer) {
  const Shape& from = infer.shape(0);
  Shape to;
  int inferred = -1;
  int64_t known = 1;
  for (size_t i = 0; i < infer.call().attrs.size(); i += 2) {
    const Dim dim(infer.attr(static_cast<int>(i)), static_cast<int>(infer.attr(static_cast<int>(i) + 1)));
    if (dim.extent < -1) return infer.fail("extent ", dim.extent, " is neither a size nor -1");
    if (dim.extent == -1 && inferred >= 0) return infer.fail("only one extent may be -1");
    if (dim.extent == -1) {
      inferred = to.rank();
    } else {
      known *= dim.extent;
    }
    to.push_back(dim);
  }
  if (to.rank() > kMaxRank) return infer.fail("the result's rank is above 8");
  if (inferred >= 0) {
    if (known == 0 || from.count() % known != 0) {
      return infer.fail(from.count(), " elements are no multiple of ", known, ", so -1 stands for nothing");
    }
    to.set(inferred, Dim(from.count() / known));
  }
  if (to.count() != from.count())
    return infer.fail("the result ", to, " has ", to.count(), " elements, not ", from.count());
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from.symbol(axis) < 0) continue;
    const int same = axis_like(to, from[axis], from.count(axis + 1, from.rank()));
    if (same >= 0 && same == inferred) to.set(same, from.dim(axis));
    if (same < 0 || to.symbol(same) != from.symbol(axis)) {
      return infer.fail("the run-time extent of axis ", axis, " must stay an axis of its own in ", to);
    }
  }
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to.symbol(axis) < 0) continue;
    const int same = axis_like(from, to[axis], to.count(axis + 1, to.rank()));
    if (same < 0 || from.symbol(same) != to.symbol(axis)) {
      return infer.fail("axis ", axis, " of the result ", to,
                        " has a run-time extent that the operand does not have there");
    }
  }
  infer.result(infer.dtype(0), to);
}

// Groups of axes that hold the same elements are matched from the left; within a group the operand's axes must follow
// each other in memory without gaps.
constexpr bool reshape_view(const Call& call, const View& operand, View& result) {
  Shape from;  // without axes of extent 1, which put no condition on memory
  Strides steps;
  for (int axis = 0; axis < call.operand(0).shape.rank(); ++axis) {
    if (call.operand(0).shape[axis] == 1) continue;
    steps[from.rank()] = operand.strides[axis];
    from.push_back(call.operand(0).shape.dim(axis));
  }
  const Shape& to = call.result().shape;
  result = {operand.offset, dense_strides(to)};
  if (to.count() == 0) return true;
  int i = 0, k = 0;
  while (i < from.rank()) {
    int i_end = i + 1, k_end = k + 1;
    int64_t left = from[i], right = to[k];
    while (left != right) {
      if (left < right) {
        left *= from[i_end++];
      } else {
        right *= to[k_end++];
      }
    }
    for (int axis = i; axis + 1 < i_end; ++axis) {
      if (steps[axis] != steps[axis + 1] * from[axis + 1]) return false;
    }
    int64_t step = steps[i_end - 1];
    for (int axis = k_end - 1; axis >= k; --axis) {
      result.strides[axis] = step;
      step *= to[axis];
    }
    i = i_end;
    k = k_end;
  }
  return true;
}

constexpr void reshape_at(At& at) { at.result() << at.operand_at_index(0, at.index()); }

constexpr bool fold_same_type(Fold& fold) { return fold.operand(0); }

}  // namespace internal

inline constexpr OpDef kReshape = {
    .name = "reshape",
    .infer = internal::reshape_infer,
    .at = internal::reshape_at,
    .view = internal::reshape_view,
    .reads_elsewhere = true,
    .keeps_order = true,
    .fold = internal::fold_same_type,
    .reference = reference::reshape,
};

constexpr Tensor reshape(Tensor x, const Shape& shape, Site site = std::source_location::current()) {
  int64_t attrs[2 * kMaxRank + 2] = {};  // one axis too many is reported by the shape rule
  const int rank = shape.rank() <= kMaxRank ? shape.rank() : kMaxRank + 1;
  for (int axis = 0; axis < rank && axis < kMaxRank; ++axis) {
    attrs[2 * axis] = shape[axis];
    attrs[2 * axis + 1] = shape.symbol(axis);
  }
  return apply(kReshape, {x}, Span<int64_t>(attrs, static_cast<size_t>(2 * rank)), site);
}

// Without the given axes, each of extent 1; without any list, without all such axes.
constexpr Tensor squeeze(Tensor x, const IntList& axes = {}, Site site = std::source_location::current()) {
  const Shape& from = x.shape();
  bool drop[kMaxRank] = {};
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = normalise_axis(axes[i], from.rank());
    if (axis < 0 || from[axis] != 1) {
      x.builder().fail(site, "squeeze(", from, "): axis ", axes[i],
                       axis < 0 ? " does not exist" : " is not of extent 1");
      return {&x.builder(), -1};
    }
    drop[axis] = true;
  }
  Shape to;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool dropped = axes.size() == 0 ? from.dim(axis) == Dim(1) : drop[axis];
    if (!dropped) to.push_back(from.dim(axis));
  }
  return reshape(x, to, site);
}

// With axes of extent 1 at the given places of the result.
constexpr Tensor unsqueeze(Tensor x, const IntList& axes, Site site = std::source_location::current()) {
  const Shape& from = x.shape();
  const int rank = from.rank() + axes.size();
  bool fresh[2 * kMaxRank] = {};
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = normalise_axis(axes[i], rank);
    if (rank > kMaxRank || axis < 0 || fresh[axis]) {
      x.builder().fail(site, "unsqueeze(", from, "): ", axes, " do not name ", axes.size(),
                       " axes of a result of rank ", rank, ", at most ", kMaxRank);
      return {&x.builder(), -1};
    }
    fresh[axis] = true;
  }
  Shape to;
  for (int axis = 0, next = 0; axis < rank; ++axis) to.push_back(fresh[axis] ? Dim(1) : from.dim(next++));
  return reshape(x, to, site);
}

// Two axes: those before `axis`, and the rest.
constexpr Tensor flatten(Tensor x, int64_t axis = 1, Site site = std::source_location::current()) {
  const Shape& from = x.shape();
  const int64_t at = axis < 0 ? axis + from.rank() : axis;
  if (at < 0 || at > from.rank()) {
    x.builder().fail(site, "flatten(", from, "): axis ", axis, " does not exist");
    return {&x.builder(), -1};
  }
  const int middle = static_cast<int>(at);
  const Dim outer = middle == 1 ? from.dim(0) : Dim(from.count(0, middle));
  const Dim inner = middle + 1 == from.rank() ? from.dim(middle) : Dim(from.count(middle, from.rank()));
  return reshape(x, {outer, inner}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::flatten, core::reshape, core::squeeze, core::unsqueeze;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_RESHAPE_H_

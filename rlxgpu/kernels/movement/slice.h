// slice(x, starts, ends, steps): every step-th element of each axis from start to before end. A view.
//
//   slice(x, {1}, {kEnd})                   // x[1:], other axes whole
//   slice(x, {0, -1}, {2, -9}, {1, -2})     // x[0:2, -1:-9:-2]
//   narrow(x, 1, 0, 64)   split(x, {4, 2}, 0)   chunk(x, 3, -1)   reverse(x, {0})
//
// As in NumPy: negative positions count from the end, positions beyond it are cut. To walk backwards down to the first
// element, end at kBegin. Run-time extents must be taken whole.
#ifndef RLXGPU_KERNELS_MOVEMENT_SLICE_H_
#define RLXGPU_KERNELS_MOVEMENT_SLICE_H_

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

inline constexpr int64_t kEnd = INT32_MAX, kBegin = INT32_MIN;

namespace internal {

// attrs: start, end and step for each axis.
struct Walk {
  int64_t first = 0, step = 1, count = 0;
  constexpr bool whole(int64_t extent) const { return first == 0 && step == 1 && count == extent; }
};

constexpr Walk walk_over(int64_t extent, int64_t start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  start = start < low ? low : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  const int64_t distance = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
  return {start, step, distance > 0 ? (distance + stride - 1) / stride : 0};
}

constexpr Walk walk_of(const Call& call, int axis) {
  return walk_over(call.operand(0).shape[axis], call.attr(3 * axis), call.attr(3 * axis + 1), call.attr(3 * axis + 2));
}

constexpr void slice_infer(Infer& infer) {
  const Shape& from = infer.shape(0);
  if (infer.call().attrs.size() != static_cast<size_t>(3 * from.rank())) return infer.fail("more positions than axes");
  Shape to;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (infer.attr(3 * axis + 2) == 0) return infer.fail("the step of axis ", axis, " is 0");
    const Walk walk = walk_of(infer.call(), axis);
    const bool whole = walk.whole(from[axis]);
    if (from.symbol(axis) >= 0 && !whole)
      return infer.fail("axis ", axis, " has a run-time extent and must be taken whole");
    to.push_back(whole ? from.dim(axis) : Dim(walk.count));
  }
  infer.result(infer.dtype(0), to);
}

constexpr bool slice_view(const Call& call, const View& operand, View& result) {
  result.offset = operand.offset;
  for (int axis = 0; axis < call.result().shape.rank(); ++axis) {
    const Walk walk = walk_of(call, axis);
    if (walk.count > 0) result.offset += walk.first * operand.strides[axis];
    result.strides[axis] = walk.step * operand.strides[axis];
  }
  return true;
}

constexpr void slice_at(At& at) {
  Coords source = at.coords();
  for (int axis = 0; axis < at.shape().rank(); ++axis) {
    const int64_t extent = at.operand_shape(0)[axis];
    const Walk walk = walk_over(extent, at.attr(3 * axis), at.attr(3 * axis + 1), at.attr(3 * axis + 2));
    if (walk.whole(extent) || walk.count == 0) continue;
    // Unsigned numbers wrap, so a negative step is a large positive one.
    const auto step = static_cast<uint32_t>(walk.step), first = static_cast<uint32_t>(walk.first);
    source[axis] =
        step == 1 ? at.let(source[axis], " + ", first, 'u') : at.let(source[axis], " * ", step, "u + ", first, 'u');
  }
  at.result() << at.operand(0, source);
}

constexpr bool slice_fold(Fold& fold) {
  for (int axis = 0; axis < fold.call().result().shape.rank(); ++axis) {
    if (!walk_of(fold.call(), axis).whole(fold.call().operand(0).shape[axis])) return false;
  }
  return fold.operand(0);
}

}  // namespace internal

inline constexpr OpDef kSlice = {
    .name = "slice",
    .infer = internal::slice_infer,
    .at = internal::slice_at,
    .view = internal::slice_view,
    .reads_elsewhere = true,
    .fold = internal::slice_fold,
    .reference = reference::slice,
};

// Lists may be shorter than the rank: the axes that are left are taken whole.
constexpr Tensor slice(Tensor x, const IntList& starts, const IntList& ends, const IntList& steps = {},
                       Site site = std::source_location::current()) {
  const int rank = x.shape().rank();
  Vec<int64_t> attrs;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t step = axis < steps.size() ? steps[axis] : 1;
    attrs.push_back(axis < starts.size() ? starts[axis] : step > 0 ? 0 : kEnd);
    attrs.push_back(axis < ends.size() ? ends[axis] : step > 0 ? kEnd : kBegin);
    attrs.push_back(step);
  }
  if (starts.size() > rank || ends.size() > rank || steps.size() > rank) attrs.push_back(0);  // the shape rule objects
  return apply(kSlice, {x}, Span<int64_t>(attrs.data(), attrs.size()), site);
}

namespace internal {

// One axis of x; -1 after reporting that it does not exist.
constexpr int checked_axis(Tensor x, int64_t axis, std::string_view op, Site site) {
  const int found = normalise_axis(axis, x.shape().rank());
  if (found < 0 && x.valid()) x.builder().fail(site, op, '(', x.shape(), "): axis ", axis, " does not exist");
  return found;
}

constexpr Tensor slice_axis(Tensor x, int axis, int64_t start, int64_t end, int64_t step, Site site) {
  IntList starts, ends, steps;
  starts.resize(axis, 0);
  ends.resize(axis, kEnd);
  steps.resize(axis, 1);
  starts.push_back(start);
  ends.push_back(end);
  steps.push_back(step);
  return slice(x, starts, ends, steps, site);
}

}  // namespace internal

// `length` elements of one axis, from `start` on.
constexpr Tensor narrow(Tensor x, int64_t axis, int64_t start, int64_t length,
                        Site site = std::source_location::current()) {
  const int at = internal::checked_axis(x, axis, "narrow", site);
  if (at < 0) return {&x.builder(), -1};
  if (start < 0 || length < 0 || start + length > x.shape()[at]) {
    x.builder().fail(site, "narrow(", x.shape(), "): elements ", start, " to ", start + length, " leave axis ", axis);
    return {&x.builder(), -1};
  }
  return internal::slice_axis(x, at, start, start + length, 1, site);
}

// The axes in the other direction; without a list, all of them.
constexpr Tensor reverse(Tensor x, const IntList& axes = {}, Site site = std::source_location::current()) {
  const int rank = x.shape().rank();
  IntList starts, ends, steps;
  starts.resize(rank, axes.size() == 0 ? kEnd : 0);
  ends.resize(rank, axes.size() == 0 ? kBegin : kEnd);
  steps.resize(rank, axes.size() == 0 ? -1 : 1);
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = internal::checked_axis(x, axes[i], "reverse", site);
    if (axis < 0) return {&x.builder(), -1};
    starts[axis] = kEnd;
    ends[axis] = kBegin;
    steps[axis] = -1;
  }
  return slice(x, starts, ends, steps, site);
}

// Consecutive parts of one axis, with the given lengths.
constexpr Vec<Tensor> split(Tensor x, std::span<const int64_t> lengths, int64_t axis,
                            Site site = std::source_location::current()) {
  const int at = internal::checked_axis(x, axis, "split", site);
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  const bool fits = at >= 0 && total == x.shape()[at];
  if (at >= 0 && !fits) {
    x.builder().fail(site, "split(", x.shape(), "): the lengths add up to ", total, ", but axis ", axis, " has ",
                     x.shape()[at]);
  }
  Vec<Tensor> parts;
  int64_t start = 0;
  for (const int64_t length : lengths) {
    parts.push_back(fits ? internal::slice_axis(x, at, start, start + length, 1, site) : Tensor(&x.builder(), -1));
    start += length;
  }
  return parts;
}
constexpr Vec<Tensor> split(Tensor x, std::initializer_list<int64_t> lengths, int64_t axis,
                            Site site = std::source_location::current()) {
  return split(x, std::span<const int64_t>(lengths.begin(), lengths.size()), axis, site);
}

// `count` equal parts of one axis.
constexpr Vec<Tensor> chunk(Tensor x, int count, int64_t axis, Site site = std::source_location::current()) {
  const int at = internal::checked_axis(x, axis, "chunk", site);
  const bool fits = at >= 0 && count > 0 && x.shape()[at] % count == 0;
  if (at >= 0 && !fits) {
    x.builder().fail(site, "chunk(", x.shape(), "): axis ", axis, " has no ", count, " equal parts");
  }
  const int64_t length = fits ? x.shape()[at] / count : 0;
  Vec<Tensor> parts;
  for (int i = 0; i < count; ++i) {
    parts.push_back(fits ? internal::slice_axis(x, at, i * length, (i + 1) * length, 1, site)
                         : Tensor(&x.builder(), -1));
  }
  return parts;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::chunk, core::kEnd, core::narrow, core::reverse, core::slice, core::split;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_SLICE_H_

// pad(x, before, after, mode, value): more elements around x, or fewer where a pad is negative. roll: around the
// corner.
//
//   pad(x, {0, 1}, {0, 1})                          // a zero at both ends of the second axis
//   pad(x, {2}, {2}, PadMode::reflect)              // c b [a b c d] c b, without the edge itself
//   pad(x, {1}, {1}, PadMode::constant, -1.0f)      roll(x, 3, -1)
//
// Lists may be shorter than the rank. reflect, edge and wrap go on as often as the pad needs. Run-time extents must not
// be padded or rolled.
#ifndef RLXGPU_KERNELS_MOVEMENT_PAD_H_
#define RLXGPU_KERNELS_MOVEMENT_PAD_H_

#include <cstdint>
#include <source_location>
#include <span>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

enum class PadMode : int64_t { constant, reflect, edge, wrap };

namespace internal {

// attrs: the mode, then elements before each axis, then after each.
constexpr void pad_infer(Infer& infer) {
  const Shape& from = infer.shape(0);
  const int rank = from.rank();
  if (infer.call().attrs.size() != static_cast<size_t>(1 + 2 * rank)) return infer.fail("more pads than axes");
  const bool constant = infer.attr(0) == static_cast<int64_t>(PadMode::constant);
  if (constant && infer.dtype(1) != infer.dtype(0)) return infer.fail("the value has another dtype");
  if (constant && infer.shape(1).rank() != 0) return infer.fail("the value is not one number");
  Shape to;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t before = infer.attr(1 + axis), after = infer.attr(1 + rank + axis),
                  extent = from[axis] + before + after;
    if (before == 0 && after == 0) {
      to.push_back(from.dim(axis));
      continue;
    }
    if (from.symbol(axis) >= 0) return infer.fail("axis ", axis, " has a run-time extent and cannot be padded");
    if (extent < 0) return infer.fail("axis ", axis, " would lose more elements than it has");
    if (from[axis] == 0 && extent > 0 && !constant)
      return infer.fail("axis ", axis, " is empty: there is nothing to repeat");
    to.push_back(Dim(extent));
  }
  infer.result(infer.dtype(0), to);
}

// Where along an axis of n elements an i32 points, without leaving it.
constexpr Name pad_source(At& at, PadMode mode, Name i, int64_t n) {
  switch (mode) {
    case PadMode::reflect: {
      if (n == 1) return kZero;
      const int64_t period = 2 * (n - 1);
      const Name phase = at.let("((", i, " % ", period, ") + ", period, ") % ", period);
      return at.let("u32(min(", phase, ", ", period, " - ", phase, "))");
    }
    case PadMode::wrap:
      return at.let("u32(((", i, " % ", n, ") + ", n, ") % ", n, ')');
    default:
      return at.let("u32(clamp(", i, ", 0, ", n - 1, "))");
  }
}

constexpr void pad_at(At& at) {
  const auto mode = static_cast<PadMode>(at.attr(0));
  const int rank = at.shape().rank();
  if (at.operand_shape(0).count() == 0 && mode == PadMode::constant) {
    at.result() << at.operand(1);
    return;
  }
  Coords source = at.coords();
  Text inside;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t before = at.attr(1 + axis), after = at.attr(1 + rank + axis), n = at.operand_shape(0)[axis];
    if (before == 0 && after == 0) continue;
    const Name i = at.let("i32(", source[axis], ") - (", before, ')');
    source[axis] = pad_source(at, mode, i, n);
    if (before > 0 || after > 0)
      inside << (inside.empty() ? "" : " && ") << '(' << i << " >= 0 && " << i << " < " << n << ')';
  }
  const Name element = at.operand(0, source);
  if (mode != PadMode::constant || inside.empty()) {
    at.result() << element;
  } else {
    at.result() << "select(" << at.operand(1) << ", " << element << ", " << inside << ')';
  }
}

// attrs: how far each axis is rolled.
constexpr void roll_infer(Infer& infer) {
  const Shape& shape = infer.shape(0);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (infer.attr(axis) != 0 && shape.symbol(axis) >= 0)
      return infer.fail("axis ", axis, " has a run-time extent and cannot be rolled");
  }
  infer.result(infer.dtype(0), shape);
}

constexpr void roll_at(At& at) {
  Coords source = at.coords();
  for (int axis = 0; axis < at.shape().rank(); ++axis) {
    const int64_t n = at.shape()[axis];
    if (n < 2) continue;
    const int64_t shift = ((-at.attr(axis)) % n + n) % n;  // how far ahead the source is
    if (shift != 0) source[axis] = at.let('(', source[axis], " + ", shift, "u) % ", n, 'u');
  }
  at.result() << at.operand(0, source);
}

constexpr bool pad_fold(Fold& fold) {
  for (size_t i = 1; i < fold.call().attrs.size(); ++i) {
    if (fold.call().attrs[i] != 0) return false;
  }
  return fold.operand(0);
}

}  // namespace internal

inline constexpr OpDef kPad = {
    .name = "pad",
    .infer = internal::pad_infer,
    .at = internal::pad_at,
    .reads_elsewhere = true,
    .fold = internal::pad_fold,
    .reference = reference::pad,
};
constexpr Tensor pad(Tensor x, const IntList& before, const IntList& after, PadMode mode = PadMode::constant,
                     Rhs value = 0.0f, Site site = std::source_location::current()) {
  const int rank = x.shape().rank();
  Vec<int64_t> attrs;
  attrs.push_back(static_cast<int64_t>(mode));
  for (int axis = 0; axis < rank; ++axis) attrs.push_back(axis < before.size() ? before[axis] : 0);
  for (int axis = 0; axis < rank; ++axis) attrs.push_back(axis < after.size() ? after[axis] : 0);
  if (before.size() > rank || after.size() > rank) attrs.push_back(0);  // the shape rule objects
  const std::span<const int64_t> all(attrs.data(), attrs.size());
  if (mode != PadMode::constant) return apply(kPad, {x}, all, site);
  return apply(kPad, {x, operand_of(value, x)}, all, site);
}

inline constexpr OpDef kRoll = {
    .name = "roll",
    .infer = internal::roll_infer,
    .at = internal::roll_at,
    .reads_elsewhere = true,
    .reference = reference::roll,
};
// Element i goes to i + shift along the axis; what leaves at the end comes back at the beginning.
constexpr Tensor roll(Tensor x, int64_t shift, int64_t axis, Site site = std::source_location::current()) {
  int64_t attrs[kMaxRank] = {};
  const int at = normalise_axis(axis, x.shape().rank());
  if (at < 0) {
    x.builder().fail(site, "roll(", x.shape(), "): axis ", axis, " does not exist");
    return {&x.builder(), -1};
  }
  attrs[at] = shift;
  return apply(kRoll, {x}, Span<int64_t>(attrs, static_cast<size_t>(x.shape().rank())), site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::PadMode, core::pad, core::roll;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_PAD_H_

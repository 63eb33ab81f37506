// Gradients of data movement: every element's gradient goes back to where the element came from. What was read several
// times (expand, tile, gather) is added up, in the order of the indices: the same on every run.
#ifndef RLXGPU_KERNELS_MOVEMENT_GRADIENT_H_
#define RLXGPU_KERNELS_MOVEMENT_GRADIENT_H_

#include <cstdint>

#include "rlxgpu/gradient/rule.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/gradient.h"
#include "rlxgpu/kernels/scatter/scatter.h"

namespace rlxgpu::core {

// A tensor of one number.
constexpr Tensor filled(Builder& g, double value, DType dtype, const Shape& shape, Site site) {
  return expand(g.literal(value, dtype), shape, site);
}

namespace internal {

constexpr void reshape_gradient(Gradient& g) { g.give(0, reshape(g.given(), g.operand(0).shape(), g.site())); }
constexpr void expand_gradient(Gradient& g) { g.give(0, sum_to(g.given(), g.operand(0).shape(), g.site())); }

constexpr void transpose_gradient(Gradient& g) {
  const int rank = g.operand(0).shape().rank();
  IntList back;
  back.resize(rank, 0);
  for (int axis = 0; axis < rank; ++axis) back[normalise_axis(g.attr(axis), rank)] = axis;
  g.give(0, transpose(g.given(), back, g.site()));
}

// One axis of a slice at a time: turned round, with zeros between what was not next to each other, and around.
constexpr void slice_gradient(Gradient& g) {
  const Shape from = g.operand(0).shape();
  Tensor part = g.given();
  IntList before, after;
  for (int axis = 0; axis < from.rank(); ++axis) {
    Walk walk = walk_over(from[axis], g.attr(3 * axis), g.attr(3 * axis + 1), g.attr(3 * axis + 2));
    if (walk.count == 0) return g.give(0, filled(g.builder(), 0, part.dtype(), from, g.site()));
    if (walk.step < 0) {
      part = reverse(part, {axis}, g.site());
      walk = {walk.first + (walk.count - 1) * walk.step, -walk.step, walk.count};
    }
    if (walk.step > 1 && walk.count > 1) {
      const Shape now = part.shape();
      Shape apart = now;
      apart.set(axis, Dim(walk.count * walk.step));
      IntList zeros;
      zeros.resize(axis + 1, 0);
      zeros.push_back(walk.step - 1);
      part = reshape(
          pad(unsqueeze(part, {axis + 1}, g.site()), {}, zeros, PadMode::constant, Rhs(0.0f, g.site()), g.site()),
          apart, g.site());
    }
    before.push_back(walk.first);
    after.push_back(from.symbol(axis) >= 0 ? 0 : from[axis] - walk.first - part.shape()[axis]);
  }
  g.give(0, pad(part, before, after, PadMode::constant, Rhs(0.0f, g.site()), g.site()));
}

constexpr void tile_gradient(Gradient& g) {
  const Shape from = g.operand(0).shape();
  Tensor part = g.given();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (g.attr(axis) == 1) continue;
    Shape apart;
    for (int i = 0; i < from.rank(); ++i) {
      if (i == axis) apart.push_back(Dim(g.attr(axis)));
      apart.push_back(i <= axis ? from.dim(i) : part.shape().dim(i));
    }
    part = sum(reshape(part, apart, g.site()), axis, {}, g.site());
  }
  g.give(0, part);
}

constexpr void concat_gradient(Gradient& g) {
  const int axis = normalise_axis(g.attr(0), g.result().shape().rank());
  int64_t start = 0;
  for (int k = 0; k < g.count(); ++k) {
    const int64_t length = g.operand(k).shape()[axis];
    if (g.wanted(k)) g.give(k, narrow(g.given(), axis, start, length, g.site()));
    start += length;
  }
}

constexpr void pad_gradient(Gradient& g) {
  const int rank = g.operand(0).shape().rank();
  if (g.attr(0) != static_cast<int64_t>(PadMode::constant))
    return g.fail("only the pad by a constant has a rule for its gradient");
  IntList before, after;
  for (int axis = 0; axis < rank; ++axis)
    before.push_back(-g.attr(1 + axis)), after.push_back(-g.attr(1 + rank + axis));
  const Tensor inner = pad(g.given(), before, after, PadMode::constant, Rhs(0.0f, g.site()), g.site());
  if (g.wanted(0)) g.give(0, inner);
  if (g.wanted(1)) g.give(1, sum(g.given(), {}, {}, g.site()) - Rhs(sum(inner, {}, {}, g.site()), g.site()));
}

constexpr void roll_gradient(Gradient& g) {
  Tensor part = g.given();
  for (int axis = 0; axis < part.shape().rank(); ++axis) {
    if (g.attr(axis) != 0) part = roll(part, -g.attr(axis), axis, g.site());
  }
  g.give(0, part);
}

constexpr void triangle_gradient(Gradient& g) {
  g.give(0, g.attr(1) != 0 ? triu(g.given(), g.attr(0), g.site()) : tril(g.given(), g.attr(0), g.site()));
}

// As gather reads them: the nearest that is inside. (A scatter ignores what is outside.)
constexpr Tensor inside(Tensor indices, int64_t extent, Site at) {
  const Tensor below_end = min(indices, Rhs(static_cast<double>(extent - 1), at));
  return indices.dtype() == u32 ? below_end : max(below_end, Rhs(static_cast<double>(-extent), at));
}

// Slices back to their rows: the indexed axis first, rows added, and the axes as they were.
constexpr void gather_gradient(Gradient& g) {
  const Site at = g.site();
  const Tensor indices = g.operand(1);
  const Shape from = g.operand(0).shape(), which = indices.shape();
  const int axis = normalise_axis(g.attr(0), from.rank());
  const int64_t rows = which.count();
  IntList first, back;
  for (int i = 0; i < which.rank(); ++i) first.push_back(axis + i);
  for (int i = 0; i < axis; ++i) first.push_back(i);
  for (int i = axis + 1; i < from.rank(); ++i) first.push_back(i + which.rank() - 1);
  Shape updates = {rows}, table = {from.dim(axis)};
  for (int i = 0; i < from.rank(); ++i) {
    back.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
    if (i == axis) continue;
    updates.push_back(from.dim(i)), table.push_back(from.dim(i));
  }
  const Tensor slices = reshape(transpose(g.given(), first, at), updates, at);
  const Tensor places = reshape(inside(indices, from[axis], at), {rows, 1}, at);
  const Tensor sums = scatter_nd(filled(g.builder(), 0, slices.dtype(), table, at), places, slices, Scatter::add, at);
  g.give(0, transpose(sums, back, at));
}

constexpr void gather_elements_gradient(Gradient& g) {
  const Shape from = g.operand(0).shape();
  const int axis = normalise_axis(g.attr(0), from.rank());
  const Tensor zero = filled(g.builder(), 0, g.given().dtype(), from, g.site());
  g.give(0, scatter_add(zero, inside(g.operand(1), from[axis], g.site()), g.given(), axis, g.site()));
}

}  // namespace internal

inline constexpr GradientRule kMovementGradients[] = {
    {&kReshape, internal::reshape_gradient},
    {&kTranspose, internal::transpose_gradient},
    {&kSlice, internal::slice_gradient},
    {&kExpand, internal::expand_gradient},
    {&kTile, internal::tile_gradient},
    {&kConcat, internal::concat_gradient},
    {&kPad, internal::pad_gradient},
    {&kRoll, internal::roll_gradient},
    {&kTriangle, internal::triangle_gradient},
    {&kGather, internal::gather_gradient},
    {&kGatherElements, internal::gather_elements_gradient},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MOVEMENT_GRADIENT_H_

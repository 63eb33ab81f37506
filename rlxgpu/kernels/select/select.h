// nonzero, compress: which elements are set, and those elements; unique: each number once. How many there are is known
// only when the graph runs, so results are as long as they can be and a count says how much of them means something.
//
//   auto [indices, count] = nonzero(x);            // (rank, most), row-major order; -1 beyond count
//   auto [kept, count] = compress(x, flags, 1);    // slices of axis 1 whose flag is set; zero beyond count
//   auto u = unique(x);                            // u.values, u.first, u.inverse, u.counts, u.count
//
// All are compositions: running sums, a search among them, gathers, sorts.
#ifndef RLXGPU_KERNELS_SELECT_SELECT_H_
#define RLXGPU_KERNELS_SELECT_SELECT_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/movement/stored.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/select/rank.h"
#include "rlxgpu/kernels/select/search.h"
#include "rlxgpu/kernels/sort/sort.h"

namespace rlxgpu::core {

// The first `count` (i32, rank 0) along the last axis (nonzero) or the given one mean something.
struct Selected {
  Tensor values, count;
};
struct Unique {
  Tensor values;   // along the axis, or flat
  Tensor first;    // where each stood first
  Tensor inverse;  // for every element (slice), which of the values it is
  Tensor counts;   // how often each stood there
  Tensor count;    // how many there are
};
struct UniqueOptions {
  bool sorted = true;  // else in the order of first occurrence
};

namespace internal {

// x[0], x[0] + x[1], ... of i32 (n): long ones in rows, which many workgroups share.
constexpr Tensor running_count(Tensor x, Site site) {
  constexpr int64_t kCols = 1024;
  const int64_t n = x.shape()[0], rows = (n + kCols - 1) / kCols;
  if (n <= 2 * kCols) return cumsum(x, 0, {}, site);
  const Tensor within =
      cumsum(reshape(pad(x, {0}, {rows * kCols - n}, PadMode::constant, 0, site), {rows, kCols}, site), 1, {}, site);
  const Tensor before = cumsum(narrow(within, 1, kCols - 1, 1, site), 0, {.exclusive = true}, site);
  return narrow(reshape(within + Rhs(before, site), {rows * kCols}, site), 0, 0, n, site);
}

// Where the flags (bool, (n)) are set, n beyond the last of them; and how many are.
constexpr Selected positions(Tensor flags, Site site) {
  Builder& g = flags.builder();
  const int64_t n = flags.shape()[0];
  if (n == 0) return {cast(flags, i32, site), g.literal(0, i32)};
  const Tensor sums = stored(running_count(cast(flags, i32, site), site), site);
  return {search_sorted(sums, iota(g, i32, n, 1, 1, site), site), reshape(narrow(sums, 0, n - 1, 1, site), {}, site)};
}

constexpr bool known_shape(Tensor x, Site site) {
  if (!x.valid() || !x.builder().ok()) return false;
  if (x.shape().dynamic()) x.builder().fail(site, site.called, '(', x.shape(), "): run-time extents are not possible");
  return x.builder().ok();
}

}  // namespace internal

// Any type; NaN is not zero.
constexpr Selected nonzero(Tensor x, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  const Site here = site.as("nonzero");
  if (!internal::known_shape(x, here)) return {{&g, -1}, {&g, -1}};
  const Shape shape = x.shape();
  const int64_t n = shape.count();
  const Selected at = internal::positions(reshape(cast(x, boolean, here), {n}, here), here);
  if (shape.rank() == 0 || n == 0) {
    return {expand(g.literal(0, i32), {shape.rank(), n}, here), at.count};
  }
  // Coordinates of the positions, axis by axis.
  Vec<uint32_t> strides, extents;
  const Strides dense = dense_strides(shape);
  for (int axis = 0; axis < shape.rank(); ++axis)
    strides.push_back(static_cast<uint32_t>(dense[axis])), extents.push_back(static_cast<uint32_t>(shape[axis]));
  const Tensor by = g.constant(i32, {shape.rank(), 1}, {strides.data(), strides.size()}, here);
  const Tensor modulo = g.constant(i32, {shape.rank(), 1}, {extents.data(), extents.size()}, here);
  const Tensor place = stored(at.values, here);
  return {where(lt(place, Rhs(static_cast<double>(n), here)), Rhs(mod(place / Rhs(by, here), Rhs(modulo, here)), here),
                Rhs(-1, here)),
          at.count};
}

// flags: bool, one for each slice (fewer: the others are not kept).
constexpr Selected compress(Tensor x, Tensor flags, int64_t axis, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  const Site here = site.as("compress");
  const Selected nothing = {{&g, -1}, {&g, -1}};
  if (!internal::known_shape(x, here) || !internal::known_shape(flags, here)) return nothing;
  const Shape shape = x.shape();
  const int along = normalise_axis(axis, shape.rank());
  const auto fail = [&](const auto&... why) {
    g.fail(site, "compress(", shape, ", ", flags.shape(), "): ", why...);
    return nothing;
  };
  if (along < 0) return fail("axis ", axis, " does not exist");
  if (flags.dtype() != boolean || flags.shape().rank() != 1) return fail("flags are bool, of one axis");
  const int64_t most = flags.shape()[0];
  if (most > shape[along]) return fail("more flags than elements along axis ", axis);
  const Selected at = internal::positions(flags, here);
  Shape beside, to = shape;
  for (int i = 0; i < shape.rank(); ++i) beside.push_back(i == along ? Dim(most) : Dim(1));
  to.set(along, most);
  if (to.count() == 0) return {expand(cast(g.literal(0, f32), x.dtype(), here), to, here), at.count};
  const Tensor place = stored(at.values, here),
               kept = reshape(lt(place, Rhs(static_cast<double>(most), here)), beside, here);
  const Tensor zero = expand(cast(g.literal(0, f32), x.dtype(), here), to, here);
  return {where(kept, Rhs(gather(x, place, along, here), here), Rhs(zero, here)), at.count};
}

namespace internal {

// order: i32 (n), in which equal elements stand side by side; is_new: bool (n), along that order.
struct Groups {
  Tensor starts;  // where each group begins along the order, n beyond the last
  Tensor count, first, inverse, counts;
};
constexpr Groups groups_of(Tensor order, Tensor is_new, bool sorted, Site site) {
  Builder& g = order.builder();
  const int64_t n = order.shape()[0];
  const Tensor sums = stored(running_count(cast(is_new, i32, site), site), site);  // the group of each, from 1 on
  Groups groups;
  groups.count = reshape(narrow(sums, 0, n - 1, 1, site), {}, site);
  Tensor starts = stored(search_sorted(sums, iota(g, i32, n + 1, 1, 1, site), site), site);  // (n + 1)
  const Tensor beyond = expand(g.literal(static_cast<double>(n), i32), {n}, site);
  Tensor begin = narrow(starts, 0, 0, n, site), length = narrow(starts, 0, 1, n, site) - Rhs(begin, site);
  const Tensor inside = lt(begin, Rhs(beyond, site));
  Tensor first = where(inside, Rhs(gather(order, begin, 0, site), site), Rhs(beyond, site));
  // Which group each element is in: back from the order.
  const Tensor rank = argsort(order, 0, {}, site);
  Tensor group = gather(sums, rank, 0, site) - Rhs(1, site);
  if (!sorted) {
    const Tensor turn = stored(argsort(first, 0, {}, site), site);  // groups by first occurrence
    const Tensor back = argsort(turn, 0, {}, site);
    begin = gather(begin, turn, 0, site), length = gather(length, turn, 0, site), first = gather(first, turn, 0, site);
    group = gather(back, group, 0, site);
  }
  groups.starts = begin, groups.first = first, groups.inverse = group, groups.counts = length;
  return groups;
}

}  // namespace internal

// All elements, flat.
constexpr Unique unique(Tensor x, const UniqueOptions& options = {}, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  const Site here = site.as("unique");
  const Tensor none(&g, -1);
  if (!internal::known_shape(x, here)) return {none, none, none, none, none};
  const int64_t n = x.shape().count();
  const Tensor flat = reshape(x, {n}, here);
  if (n == 0) {
    const Tensor empty = expand(g.literal(0, i32), {0}, here);
    return {flat, empty, empty, empty, g.literal(0, i32)};
  }
  const Tensor order = stored(argsort(flat, 0, {}, here), here);
  const Tensor ordered = stored(gather(flat, order, 0, here), here);
  const Tensor before = gather(ordered, max(iota(g, i32, n, -1, 1, here), Rhs(0, here)), 0, here);
  Tensor differs = ne(ordered, Rhs(before, here));
  if (is_float(x.dtype()))
    differs = logical_and(
        differs, Rhs(logical_not(logical_and(is_nan(ordered, here), Rhs(is_nan(before, here), here)), here), here));
  const Tensor is_new = logical_or(differs, Rhs(eq(iota(g, i32, n, 0, 1, here), Rhs(0, here)), here));
  const internal::Groups groups = internal::groups_of(order, is_new, options.sorted, here);
  const Tensor inside = lt(groups.first, Rhs(static_cast<double>(n), here)),
               zero = cast(g.literal(0, f32), x.dtype(), here);
  const Tensor values =
      where(inside, Rhs(gather(flat, groups.first, 0, here), here), Rhs(expand(zero, {n}, here), here));
  return {values, groups.first, groups.inverse, groups.counts, groups.count};
}

// Slices along an axis, in lexicographic order when sorted.
constexpr Unique unique(Tensor x, int64_t axis, const UniqueOptions& options = {},
                        Site site = std::source_location::current()) {
  Builder& g = x.builder();
  const Site here = site.as("unique");
  const Tensor none(&g, -1);
  if (!internal::known_shape(x, here)) return {none, none, none, none, none};
  const Shape shape = x.shape();
  const int along = normalise_axis(axis, shape.rank());
  if (along < 0) {
    g.fail(site, "unique(", shape, "): axis ", axis, " does not exist");
    return {none, none, none, none, none};
  }
  const int64_t n = shape[along];
  if (shape.count() == 0) {
    g.fail(site, "unique(", shape, "): there are no slices");
    return {none, none, none, none, none};
  }
  IntList front = {along};
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != along) front.push_back(i);
  }
  const int64_t width = shape.count() / n;
  const Tensor rows = stored(reshape(transpose(x, front, here), {n, width}, here), here);
  const Tensor order = stored(argsort(row_ranks(rows, here), 0, {}, here), here);
  const Tensor ordered = stored(gather(rows, order, 0, here), here);
  const Tensor before = gather(ordered, max(iota(g, i32, n, -1, 1, here), Rhs(0, here)), 0, here);
  const Tensor is_new = logical_or(any(ne(ordered, Rhs(before, here)), 1, {}, here),
                                   Rhs(eq(iota(g, i32, n, 0, 1, here), Rhs(0, here)), here));
  const internal::Groups groups = internal::groups_of(order, is_new, options.sorted, here);
  Shape beside;
  for (int i = 0; i < shape.rank(); ++i) beside.push_back(i == along ? Dim(n) : Dim(1));
  const Tensor inside = reshape(lt(groups.first, Rhs(static_cast<double>(n), here)), beside, here);
  const Tensor zero = expand(cast(g.literal(0, f32), x.dtype(), here), shape, here);
  const Tensor values = where(inside, Rhs(gather(x, stored(groups.first, here), along, here), here), Rhs(zero, here));
  return {values, groups.first, groups.inverse, groups.counts, groups.count};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Selected, core::Unique, core::UniqueOptions, core::compress, core::nonzero, core::unique;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SELECT_SELECT_H_

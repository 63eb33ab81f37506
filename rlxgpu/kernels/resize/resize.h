// resize(x, axes, options): more or fewer elements along some axes, as ONNX's Resize: nearest, linear or cubic.
//
//   resize(image, {{.axis = 2, .size = 224}, {.axis = 3, .size = 224}})                          // linear
//   resize(x, {{.axis = 1, .size = 2 * n}}, {.mode = ResizeMode::nearest})
//   resize(x, {{.axis = 0, .size = 10}}, {.mode = ResizeMode::cubic, .antialias = true})
//
// One axis after another, each a map: linear over two or three axes is one kernel, joined by what stands before and
// after it; between the axes of a cubic there is memory, so that an element costs 4 loads for each axis and not 16
// or 64. More than 8 elements for one (antialias) are summed by a kernel of its own. Nearest: any type; linear and
// cubic: f32, f16, bf16. Axes with run-time extents cannot be resized.
#ifndef RLXGPU_KERNELS_RESIZE_RESIZE_H_
#define RLXGPU_KERNELS_RESIZE_RESIZE_H_

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/logic.h"
#include "rlxgpu/kernels/elementwise/select.h"
#include "rlxgpu/kernels/movement/expand.h"
#include "rlxgpu/kernels/movement/gather.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/slice.h"
#include "rlxgpu/kernels/movement/stored.h"
#include "rlxgpu/kernels/resize/reference.h"
#include "rlxgpu/kernels/resize/taps.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

inline constexpr KernelFile kTapsFile(
#include "rlxgpu/kernels/resize/taps.wgsl"
);

namespace internal {

// Operands: x, the first element for each of the result, weights [tap][element]. Attributes: the axis.
constexpr void taps_infer(Infer& infer) {
  Shape shape = infer.shape(0);
  if (!is_float(infer.dtype(0)))
    return infer.fail("linear and cubic take floats, not ", name_of(infer.dtype(0)), ": cast the operand first");
  shape.set(static_cast<int>(infer.attr(0)), infer.shape(1).dim(0));
  infer.result(infer.dtype(0), shape);
}

constexpr void taps_at(At& at) {
  const int axis = static_cast<int>(at.attr(0));
  const int64_t count = at.operand_shape(2)[0], extent = at.operand_shape(0)[axis];
  Coords which, source = at.coords();
  which[0] = at.coord(axis);
  const Name first = at.operand(1, which);
  Text sum;
  for (int64_t t = 0; t < count; ++t) {
    source[axis] = at.let("u32(clamp(", first, " + ", t, ", 0, ", extent - 1, "))");
    Coords weight;
    weight[0] = name_of(t), weight[1] = at.coord(axis);
    const Name w = at.operand(2, weight), v = at.operand(0, source);
    sum << (t > 0 ? " + " : "") << w << " * " << v;
  }
  at.result() << '(' << sum << ')';
}
constexpr int taps_read(const Call& call) { return static_cast<int>(call.operand(2).shape[0]); }

constexpr void taps_emit(Emit& e) {
  const int axis = static_cast<int>(e.attr(0));
  const Shape &x = e.call().operand(0).shape, &y = e.call().result().shape;
  const FoldedGrid grid = fold_grid(ceil_div(y.count(), 64), e.target().max_groups);
  e.dispatch(kTapsFile)
      .number("kCount", y.count())
      .number("kIn", x[axis])
      .number("kOut", y[axis])
      .number("kInner", x.count(axis + 1, x.rank()))
      .number("kTaps", e.call().operand(2).shape[0])
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .input("first", e.operand(1))
      .input("weights", e.operand(2))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kTapsVariants[] = {{"walk", nullptr, taps_emit}};

constexpr Cost taps_cost(const Call& call) {
  return {2.0 * static_cast<double>(call.result().shape.count() * call.operand(2).shape[0]), 0};
}

}  // namespace internal

inline constexpr OpDef kResizeFew = {
    .name = "resize",
    .infer = internal::taps_infer,
    .at = internal::taps_at,
    .reads_elsewhere = true,
    .reads = internal::taps_read,
    .cost = internal::taps_cost,
    .reference = reference::resize_taps,
};
inline constexpr OpDef kResizeMany = {
    .name = "resize_wide",
    .infer = internal::taps_infer,
    .variants = internal::kTapsVariants,
    .absorbs_after = true,
    .cost = internal::taps_cost,
    .reference = reference::resize_taps,
};

namespace internal {

// Without weights. Where each element stands for `k` neighbours, or every k-th is taken, no index is looked up.
constexpr Tensor nearest_axis(Tensor x, const ResizeAxis& axis, const Taps& taps, Site site) {
  const int64_t extent = x.shape()[axis.axis];
  const int64_t up = axis.size / extent, down = extent / axis.size;
  bool repeats = up * extent == axis.size && x.shape().rank() < kMaxRank, skips = true;
  Vec<uint32_t> words;
  for (int64_t o = 0; o < axis.size; ++o) {
    const int64_t given = taps.first[static_cast<size_t>(o)], i = given < 0 ? 0 : given < extent ? given : extent - 1;
    repeats = repeats && i == o / up;
    skips = skips && down > 0 && i == o * down;
    words.push_back(static_cast<uint32_t>(i));
  }
  if (skips) return slice_axis(x, axis.axis, 0, (axis.size - 1) * down + 1, down, site);
  if (repeats) {
    Shape apart, joined = x.shape();
    for (int i = 0; i < x.shape().rank(); ++i) {
      apart.push_back(x.shape().dim(i));
      if (i == axis.axis) apart.push_back(up);
    }
    joined.set(axis.axis, axis.size);
    return reshape(expand(unsqueeze(x, {axis.axis + 1}, site), apart, site), joined, site);
  }
  const Tensor indices = x.builder().constant(u32, {axis.size}, {words.data(), words.size()}, site);
  return gather(x, indices, axis.axis, site);
}

constexpr Tensor weighted_axis(Tensor x, const ResizeAxis& axis, const Taps& taps, Site site) {
  Builder& g = x.builder();
  Vec<uint32_t> first, weights;
  first.reserve(taps.first.size()), weights.reserve(taps.weights.size());
  for (const int64_t i : taps.first) first.push_back(static_cast<uint32_t>(i));
  for (const double w : taps.weights) weights.push_back(std::bit_cast<uint32_t>(static_cast<float>(w)));
  const Tensor starts = g.constant(i32, {axis.size}, {first.data(), first.size()}, site);
  const Tensor shares = g.constant(f32, {taps.count, axis.size}, {weights.data(), weights.size()}, site);
  return apply(taps.count <= 8 ? kResizeFew : kResizeMany, {x, starts, shares}, {axis.axis}, site);
}

// Which elements along the axis lie inside x, as a tensor that broadcasts with the result.
constexpr Tensor inside_axis(Builder& g, int rank, const ResizeAxis& axis, const Taps& taps, Site site) {
  Vec<uint32_t> words;
  words.resize((taps.inside.size() + 3) / 4, 0);
  for (size_t i = 0; i < taps.inside.size(); ++i) words[i / 4] |= static_cast<uint32_t>(taps.inside[i]) << 8 * (i % 4);
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(i == axis.axis ? Dim(axis.size) : Dim(1));
  return g.constant(boolean, shape, {words.data(), words.size()}, site);
}

}  // namespace internal

constexpr Tensor resize(Tensor x, std::span<const ResizeAxis> axes, const ResizeOptions& options = {},
                        Site site = std::source_location::current()) {
  Builder& g = x.builder();
  const Site here = site.as("resize");
  const Tensor nothing(&g, -1);
  Tensor y = x, inside;
  for (ResizeAxis axis : axes) {
    if (!g.ok()) return nothing;
    const Shape shape = y.shape();
    const int given = axis.axis;
    axis.axis = normalise_axis(given, shape.rank());
    const auto fail = [&](const auto&... why) {
      g.fail(site, "resize(", x.shape(), "): axis ", given, why...);
      return nothing;
    };
    if (axis.axis < 0) return fail(" does not exist");
    if (shape.symbol(axis.axis) >= 0) return fail(" has a run-time extent");
    if (axis.size < 0) return fail(" would have ", axis.size, " elements");
    if (shape[axis.axis] == 0 && axis.size > 0) return fail(" is empty");
    const bool crop = options.coordinates == ResizeCoordinates::crop;
    const bool same = axis.size == shape[axis.axis] && (axis.scale == 0 || axis.scale == 1) && !crop;
    if (same || axis.size == 0) {
      if (axis.size == 0) y = narrow(y, axis.axis, 0, 0, here);
      continue;
    }
    if (const double table = resize_table(axis, shape[axis.axis], options); !(table <= kMostTaps)) {
      return fail(" needs a table of ", table < 1e18 ? static_cast<int64_t>(table) : int64_t{1} << 60,
                  " numbers; at most ", kMostTaps, " are supported");
    }
    const Taps taps = resize_taps(axis, shape[axis.axis], options);
    if (options.mode == ResizeMode::nearest) {
      y = internal::nearest_axis(y, axis, taps, here);
    } else {
      if (options.mode == ResizeMode::cubic && y.id() != x.id()) y = stored(y, here);
      y = internal::weighted_axis(y, axis, taps, here);
    }
    if (!crop) continue;
    const Tensor along = internal::inside_axis(g, shape.rank(), axis, taps, here);
    inside = inside.given() ? logical_and(inside, Rhs(along, here)) : along;
  }
  if (!inside.given()) return y;
  return where(inside, Rhs(y, here), Rhs(options.extrapolation, here));
}
constexpr Tensor resize(Tensor x, std::initializer_list<ResizeAxis> axes, const ResizeOptions& options = {},
                        Site site = std::source_location::current()) {
  return resize(x, std::span<const ResizeAxis>(axes.begin(), axes.size()), options, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::resize;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_RESIZE_RESIZE_H_

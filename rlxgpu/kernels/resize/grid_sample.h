// grid_sample(x, grid): elements of x at places that a tensor gives. affine_grid: such places from affine maps.
//
//   Tensor grid = affine_grid(theta, {h, w});       // theta: (n, 2, 3) gives (n, h, w, 2); (n, 3, 4) likewise
//   Tensor y = grid_sample(x, grid);                // x: (n, c, h', w'), y: (n, c, h, w)
//
// A place is (x, y) or (x, y, z), the last axis first, from -1 to 1 across x: between the middles of the outermost
// elements with align_corners, else between their outer edges. Nearest places round halves to even. Both are maps.
#ifndef RLXGPU_KERNELS_RESIZE_GRID_SAMPLE_H_
#define RLXGPU_KERNELS_RESIZE_GRID_SAMPLE_H_

#include <cstdint>
#include <source_location>
#include <span>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/resize/reference.h"
#include "rlxgpu/kernels/resize/taps.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

enum class GridPadding : int64_t { zeros, border, reflection };

struct GridSampleOptions {
  ResizeMode mode = ResizeMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;
};

inline constexpr char kGridFunctions[] = R"wgsl(
fn rlx_reflect(at : f32, low : f32, high : f32) -> f32 {  // back and forth between low and high
  let range = high - low;
  if (range <= 0.0) { return low; }
  let away = abs(at - low);
  let phase = away - floor(away / (2.0 * range)) * (2.0 * range);
  return low + min(phase, 2.0 * range - phase);
}
fn rlx_cubic(distance : f32) -> f32 {
  let t = abs(distance);
  let near = (1.25 * t - 2.25) * t * t + 1.0;
  let far = ((-0.75 * t + 3.75) * t - 6.0) * t + 3.0;
  return select(select(0.0, far, t < 2.0), near, t <= 1.0);
}
)wgsl";

namespace internal {

// Attributes: mode, padding, align_corners.
constexpr void grid_sample_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &grid = infer.shape(1);
  const int axes = x.rank() - 2;
  if (!is_float(infer.dtype(0)) || !is_float(infer.dtype(1))) return infer.fail("takes floats");
  if (axes < 1 || axes > 3) return infer.fail("takes (batch, channel, ...) with one to three axes more");
  if (grid.rank() != x.rank()) return infer.fail("the grid has rank ", grid.rank(), ", not ", x.rank());
  if (grid[axes + 1] != axes) return infer.fail("places of ", grid[axes + 1], " coordinates, ", axes, " are needed");
  if (grid.dim(0) != x.dim(0)) return infer.fail("the batches differ");
  if (infer.attr(0) == static_cast<int64_t>(ResizeMode::cubic) && axes > 2)
    return infer.fail("cubic takes one or two axes");
  Shape to = {x.dim(0), x.dim(1)};
  for (int d = 0; d < axes; ++d) {
    if (x.symbol(d + 2) >= 0) return infer.fail("axis ", d + 2, " has a run-time extent");
    if (x[d + 2] == 0 && grid.count() > 0) return infer.fail("axis ", d + 2, " is empty");
    to.push_back(grid.dim(d + 1));
  }
  infer.result(infer.dtype(0), to);
}

// The elements that matter along one axis.
struct GridTaps {
  Name index[4], weight[4], inside[4];
  int count = 1;
};

constexpr GridTaps grid_taps(At& at, Name normal, int64_t n) {
  const auto mode = static_cast<ResizeMode>(at.attr(0));
  const auto padding = static_cast<GridPadding>(at.attr(1));
  const bool align = at.attr(2) != 0;
  Text low, high;
  low << (align ? "0.0" : "-0.5");
  high << n - 1 << (align ? ".0" : ".5");
  const Name given = align ? at.let('(', normal, " + 1.0) * 0.5 * ", n - 1, ".0")
                           : at.let("((", normal, " + 1.0) * ", n, ".0 - 1.0) * 0.5");
  Name place = mode == ResizeMode::nearest ? at.let("round(", given, ')') : given;
  if (padding != GridPadding::zeros) {
    const Name outside = at.let(place, " < ", low, " || ", place, " > ", high);
    place = padding == GridPadding::border
                ? at.let("select(", place, ", clamp(", place, ", 0.0, ", n - 1, ".0), ", outside, ')')
                : at.let("select(", place, ", rlx_reflect(", place, ", ", low, ", ", high, "), ", outside, ')');
  }
  const Name whole = mode == ResizeMode::nearest ? at.let("round(", place, ')') : at.let("floor(", place, ')');
  const Name base = at.let("i32(clamp(", whole, ", -8.0, ", n + 8, ".0))");  // far outside is outside
  GridTaps taps;
  const int start = mode == ResizeMode::cubic ? -1 : 0;
  taps.count = mode == ResizeMode::nearest ? 1 : mode == ResizeMode::linear ? 2 : 4;
  for (int t = 0; t < taps.count; ++t) {
    Name i = at.let(base, " + (", start + t, ')');
    if (padding == GridPadding::zeros) taps.inside[t] = at.let(i, " >= 0 && ", i, " < ", n);
    if (padding == GridPadding::reflection) i = at.let("i32(rlx_reflect(f32(", i, "), ", low, ", ", high, "))");
    taps.index[t] = at.let("u32(clamp(", i, ", 0, ", n - 1, "))");
    if (mode == ResizeMode::cubic)
      taps.weight[t] = at.let("rlx_cubic(", place, " - ", whole, " - (", start + t, ".0))");
    if (mode == ResizeMode::linear)
      taps.weight[t] = t == 0 ? at.let("1.0 - (", place, " - ", whole, ')') : at.let(place, " - ", whole);
  }
  return taps;
}

// The sum over the taps of axes [d, axes), those before being chosen.
constexpr void grid_sum(At& at, const GridTaps* taps, int d, int axes, Coords& source, const Text& inside, Text& out) {
  if (d == axes) {
    const Name v = at.operand(0, source);
    if (inside.empty()) {
      out << v;
    } else {
      out << "select(0.0, " << v << ", " << inside << ')';
    }
    return;
  }
  out << '(';
  for (int t = 0; t < taps[d].count; ++t) {
    source[d + 2] = taps[d].index[t];
    Text also(inside.view());
    if (taps[d].inside[t].size != 0) also << (inside.empty() ? "" : " && ") << taps[d].inside[t];
    if (t > 0) out << " + ";
    if (taps[d].weight[t].size != 0) out << taps[d].weight[t] << " * ";
    grid_sum(at, taps, d + 1, axes, source, also, out);
  }
  out << ')';
}

constexpr void grid_sample_at(At& at) {
  const Shape& x = at.operand_shape(0);
  const int axes = x.rank() - 2;
  Coords which, source;
  which[0] = source[0] = at.coord(0), source[1] = at.coord(1);
  for (int d = 0; d < axes; ++d) which[d + 1] = at.coord(d + 2);
  GridTaps taps[3];
  for (int d = 0; d < axes; ++d) {
    which[axes + 1] = name_of(int64_t{axes - 1 - d});
    taps[d] = grid_taps(at, at.operand(1, which), x[d + 2]);
  }
  Text sum;
  grid_sum(at, taps, 0, axes, source, Text(), sum);
  at.result() << sum;
}
constexpr int grid_sample_reads(const Call& call) {
  const int64_t each = call.attr(0) == 0 ? 1 : call.attr(0) == 1 ? 2 : 4;
  int64_t all = 1;
  for (int d = 2; d < call.operand(0).shape.rank(); ++d) all *= each;
  return static_cast<int>(all);
}

// Attributes: align_corners, the extents of the grid.
constexpr void affine_grid_infer(Infer& infer) {
  const Shape& theta = infer.shape(0);
  const auto axes = static_cast<int64_t>(infer.call().attrs.size()) - 1;
  if (!is_float(infer.dtype(0))) return infer.fail("takes floats, not ", name_of(infer.dtype(0)));
  if (axes < 1 || axes > 6 || theta.rank() != 3 || theta[1] != axes || theta[2] != axes + 1) {
    return infer.fail("a grid of ", axes, " axes needs maps of (batch, ", axes, ", ", axes + 1, ')');
  }
  Shape to = {theta.dim(0)};
  for (int d = 0; d < axes; ++d) {
    if (infer.attr(d + 1) < 0) return infer.fail("a negative extent");
    to.push_back(infer.attr(d + 1));
  }
  to.push_back(axes);
  infer.result(infer.dtype(0), to);
}

constexpr void affine_grid_at(At& at) {
  const int axes = at.shape().rank() - 2;
  const bool align = at.attr(0) != 0;
  Coords which;
  which[0] = at.coord(0), which[1] = at.coord(axes + 1);
  Text sum;
  for (int d = 0; d < axes; ++d) {
    const int64_t n = at.shape()[d + 1];
    const Name c = at.coord(d + 1);
    const Name place = !align   ? at.let("(2.0 * f32(", c, ") + 1.0) / ", n, ".0 - 1.0")
                       : n == 1 ? Name("0.0")
                                : at.let("2.0 * f32(", c, ") / ", n - 1, ".0 - 1.0");
    which[2] = name_of(int64_t{axes - 1 - d});
    sum << at.operand(0, which) << " * " << place << " + ";
  }
  which[2] = name_of(int64_t{axes});
  at.result() << '(' << sum << at.operand(0, which) << ')';
}
constexpr int affine_grid_reads(const Call& call) { return static_cast<int>(call.attrs.size()); }

}  // namespace internal

inline constexpr OpDef kGridSample = {
    .name = "grid_sample",
    .infer = internal::grid_sample_infer,
    .at = internal::grid_sample_at,
    .reads_elsewhere = true,
    .reads = internal::grid_sample_reads,
    .wgsl = {kGridFunctions},
    .reference = reference::grid_sample,
};
constexpr Tensor grid_sample(Tensor x, Tensor grid, const GridSampleOptions& options = {},
                             Site site = std::source_location::current()) {
  return apply(kGridSample, {x, grid},
               {static_cast<int64_t>(options.mode), static_cast<int64_t>(options.padding), options.align_corners},
               site);
}

inline constexpr OpDef kAffineGrid = {
    .name = "affine_grid",
    .infer = internal::affine_grid_infer,
    .at = internal::affine_grid_at,
    .reads_elsewhere = true,
    .reads = internal::affine_grid_reads,
    .reference = reference::affine_grid,
};
constexpr Tensor affine_grid(Tensor theta, std::span<const int64_t> extents, bool align_corners = false,
                             Site site = std::source_location::current()) {
  Vec<int64_t> attrs;
  attrs.push_back(align_corners);
  for (const int64_t extent : extents) attrs.push_back(extent);
  return apply(kAffineGrid, {theta}, Span<int64_t>(attrs.data(), attrs.size()), site);
}
constexpr Tensor affine_grid(Tensor theta, std::initializer_list<int64_t> extents, bool align_corners = false,
                             Site site = std::source_location::current()) {
  return affine_grid(theta, std::span<const int64_t>(extents.begin(), extents.size()), align_corners, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::GridPadding, core::GridSampleOptions, core::affine_grid, core::grid_sample;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_RESIZE_GRID_SAMPLE_H_

// conv(x, w, bias, options): sums of products of x and of weights that walk over it, in one to three dimensions.
//
//   Tensor y = relu(conv(x, w, bias, {.strides = {2, 2}, .before = {1, 1}, .after = {1, 1}}) + shortcut);
//   Tensor d = conv(x, w, {.groups = channels});                  // every channel by itself
//
// x: (image, channel, axes...)   w: (channel of y, channel of x / groups, kernel...)   bias: (channel of y), may be
// left out. The kernel is not mirrored (cross-correlation, as everywhere in neural networks). Both have one type:
// floats are summed in f32; i32 and u32 wrap; i8 gives i32, u8 gives u32. Bias, residual and activation join the last
// dispatch. A kernel of one element is a matmul. Only the number of images may be a run-time extent.
#ifndef RLXGPU_KERNELS_CONV_CONV_H_
#define RLXGPU_KERNELS_CONV_CONV_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/conv/layout.h"
#include "rlxgpu/kernels/conv/reference.h"
#include "rlxgpu/kernels/conv/strips.h"
#include "rlxgpu/kernels/conv/window.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/reshape.h"

namespace rlxgpu::core {

struct ConvOptions {
  IntList strides = {}, dilations = {};  // one number for each spatial axis; left out: 1
  IntList before = {}, after = {};       // zeros at both ends; left out: none
  int64_t groups = 1;
};

inline constexpr KernelFile kConvPlainFile(
#include "rlxgpu/kernels/conv/plain.wgsl"
);
inline constexpr KernelFile kConvTiledFile(
#include "rlxgpu/kernels/conv/tiled.wgsl"
);
inline constexpr KernelFile kConvDepthwiseFile(
#include "rlxgpu/kernels/conv/depthwise.wgsl"
);

constexpr bool check_conv_types(Infer& infer) {
  const DType x = infer.dtype(0), w = infer.dtype(1);
  if (x == boolean || x == c64) return infer.fail("needs real numbers"), false;
  if (x != w) return infer.fail(name_of(x), " and ", name_of(w), " do not mix: cast one of them"), false;
  if (infer.shape(0).rank() != infer.shape(1).rank())
    return infer.fail("x and w must have the same number of axes"), false;
  return true;
}

constexpr void conv_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &w = infer.shape(1);
  const int64_t groups = infer.attr(0);
  const SlidingWindow window = SlidingWindow::from(infer.call().attrs.subspan(1));
  if (!check_conv_types(infer) || !check_window(infer, window, x)) return;
  if (groups < 1 || w[0] % groups != 0)
    return infer.fail(w[0], " channels of w are no multiple of ", groups, " groups");
  if (x[1] != w[1] * groups)
    return infer.fail("x has ", x[1], " channels, w wants ", w[1], " in each of ", groups, " groups");
  Shape y = {x.dim(0), w[0]};
  for (int axis = kWindowAxes - x.rank() + 2; axis < kWindowAxes; ++axis) {
    const int64_t places = window.places(axis, spatial(x, axis));
    if (places == 0)
      return infer.fail("a kernel that reaches over ", window.span(axis), " elements does not fit into ",
                        window.padded(axis, spatial(x, axis)));
    y.push_back(places);
  }
  const DType dtype = infer.dtype(0);
  infer.result(dtype == i8 ? i32 : dtype == u8 ? u32 : dtype, y);
}

constexpr void conv_plain_emit(Emit& e) {
  const ConvLayout layout = conv_layout(e.call());
  const int64_t count = e.call().result().shape.count();
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kConvPlainFile);
  layout.give_to(dispatch, register_of(e.call().result().dtype));
  dispatch.number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .input("w", e.operand(1))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

inline constexpr Parameter kConvTiledParameters[] = {
    {"rows_each", 1, 8, kPowersOfTwo, "channels of an invocation; a workgroup has 16 times as many"},
    {"cols_each", 1, 8, kPowersOfTwo, "its places"},
    {"tile_k", 4, 32, kPowersOfTwo, "products between two barriers"},
};
constexpr void conv_tiled_defaults(const Call& call, const Target&, Parameters& p) {
  const ConvLayout layout = conv_layout(call);
  p.fill("rows_each", each_of(layout.m, 16, 4));
  p.fill("cols_each", each_of(layout.places, 16, 4));
  p.fill("tile_k", 16);
}
constexpr bool conv_tiled_valid(const Call&, const Target& target, const Parameters& p) {
  const int64_t bytes = 4 * 16 * p["tile_k"] * (p["rows_each"] + p["cols_each"]);
  return bytes <= 16384 && bytes <= target.max_workgroup_bytes;
}

constexpr void conv_tiled_emit(Emit& e) {
  const ConvLayout layout = conv_layout(e.call());
  const int64_t rows_each = e.parameter("rows_each"), cols_each = e.parameter("cols_each");
  const int64_t tiles =
      layout.images * layout.groups * ceil_div(layout.m, 16 * rows_each) * ceil_div(layout.places, 16 * cols_each);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kConvTiledFile);
  layout.give_to(dispatch, register_of(e.call().result().dtype));
  dispatch.number("kRowsEach", rows_each)
      .number("kColsEach", cols_each)
      .number("kTileK", e.parameter("tile_k"))
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .input("x", e.operand(0))
      .input("w", e.operand(1))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

// Results of an invocation: fewer where rows are short.
constexpr int64_t depthwise_each(const ConvLayout& layout) { return each_of(spatial(layout.out, 2), 1, 4); }

// One channel of x in a group, and a row under the window that fits into registers.
constexpr bool conv_depthwise_accepts(const Call& call, const Target&) {
  const ConvLayout layout = conv_layout(call);
  return layout.c == 1 && (depthwise_each(layout) - 1) * layout.window.stride[2] + layout.window.span(2) <= 32;
}
// Many results of one channel are a product.
constexpr bool conv_depthwise_prefers(const Call& call, const Target& target) {
  return conv_depthwise_accepts(call, target) && conv_layout(call).m <= 4;
}

inline constexpr Parameter kConvDepthwiseParameters[] = {
    {"each", 1, 16, kPowersOfTwo, "neighbouring results of an invocation"},
};
constexpr void conv_depthwise_defaults(const Call& call, const Target&, Parameters& p) {
  p.fill("each", depthwise_each(conv_layout(call)));
}
constexpr bool conv_depthwise_valid(const Call& call, const Target&, const Parameters& p) {
  const ConvLayout layout = conv_layout(call);
  return (p["each"] - 1) * layout.window.stride[2] + layout.window.span(2) <= 32;
}

constexpr void conv_depthwise_emit(Emit& e) {
  const ConvLayout layout = conv_layout(e.call());
  const int64_t each = e.parameter("each"), last = spatial(layout.out, 2);
  const int64_t count =
      layout.images * layout.groups * layout.m * (last > 0 ? layout.places / last : 0) * ceil_div(last, each);
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kConvDepthwiseFile);
  dispatch.type("Acc", register_of(e.call().result().dtype))
      .number("kM", layout.m)
      .number("kChannels", layout.groups * layout.m);
  give_window(dispatch, layout.window, layout.in, layout.out);
  dispatch.number("kEach", each)
      .number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .input("w", e.operand(1))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

// A block that is worth its barriers.
constexpr bool conv_tiled_prefers(const Call& call, const Target&) {
  const ConvLayout layout = conv_layout(call);
  return layout.m >= 8 && layout.products() >= 8;
}

inline constexpr Variant kConvVariants[] = {
    {.name = "depthwise",
     .accepts = conv_depthwise_accepts,
     .emit = conv_depthwise_emit,
     .prefers = conv_depthwise_prefers,
     .parameters = {kConvDepthwiseParameters, conv_depthwise_defaults, conv_depthwise_valid}},
    {.name = "strips",
     .accepts = conv_strips_accepts,
     .emit = conv_strips_emit,
     .prefers = conv_strips_prefers,
     .parameters = {conv_strips::kParameters, conv_strips::defaults, conv_strips::valid}},
    {.name = "tiled",
     .emit = conv_tiled_emit,
     .prefers = conv_tiled_prefers,
     .parameters = {kConvTiledParameters, conv_tiled_defaults, conv_tiled_valid}},
    {"plain", nullptr, conv_plain_emit},
};

constexpr Cost conv_cost(const Call& call) {
  return {2.0 * static_cast<double>(call.result().shape.count()) * static_cast<double>(conv_layout(call).products()),
          0};
}

inline constexpr OpDef kConv{
    .name = "conv",
    .infer = conv_infer,
    .variants = kConvVariants,
    .absorbs_after = true,
    .extra_bindings = 1,  // "strips": steps from tap to tap
    .cost = conv_cost,
    .reference = conv_reference,
};

namespace internal {

// y: (image, channel, axes...); bias: (channel), or not given.
constexpr Tensor with_bias(std::string_view op, Tensor y, Tensor bias, Site site) {
  if (!bias.given() || !y.valid()) return y;
  if (!bias.valid() || bias.shape() != Shape{y.shape()[1]}) {
    y.builder().fail(site, op, ": a bias of ", bias.shape(), " for ", y.shape()[1], " channels");
    return {&y.builder(), -1};
  }
  Shape beside = {y.shape()[1]};
  for (int axis = 2; axis < y.shape().rank(); ++axis) beside.push_back(1);
  return add(y, Rhs(reshape(bias, beside, site), site));
}

// Products of matrices, one for each group: w (groups, m, k), x (image, groups, k, n).
constexpr Tensor grouped_product(Tensor w, Tensor x, int64_t groups, Site site) {
  const Shape xs = x.shape(), ws = w.shape();
  const Dim images = xs.dim(0);
  const int64_t c = xs[1] / groups, m = ws[0] / groups, k = ws.count(1, ws.rank()), n = xs.count(2, xs.rank());
  if (groups == 1) return matmul(reshape(w, {m, k}, site), reshape(x, {images, c, n}, site), site);
  return matmul(reshape(w, {groups, m, k}, site), reshape(x, {images, groups, c, n}, site), site);
}

}  // namespace internal

constexpr Tensor conv(Tensor x, Tensor w, const ConvOptions& options = {},
                      Site site = std::source_location::current()) {
  Builder& g = x.builder();
  if (!g.ok() || !x.valid() || !w.valid()) return {&g, -1};
  WindowOptions given = {{}, options.strides, options.dilations, options.before, options.after};
  for (int axis = 2; axis < w.shape().rank(); ++axis) given.kernel.push_back(w.shape()[axis]);
  const SlidingWindow window = window_of(given, w.shape().rank() - 2);
  Vec<int64_t> attrs;
  attrs.push_back(options.groups);
  window.append_to(attrs);
  const Tensor y = apply(kConv, {x, w}, {attrs.data(), attrs.size()}, site);
  // A kernel of one element: what was just checked is not used.
  if (!y.valid() || !window.is_point() || x.shape().count() == 0) return y;
  return reshape(internal::grouped_product(w, x, options.groups, site), y.shape(), site);
}
constexpr Tensor conv(Tensor x, Tensor w, Tensor bias, const ConvOptions& options = {},
                      Site site = std::source_location::current()) {
  return internal::with_bias("conv", conv(x, w, options, site), bias, site);
}

// Sums of (x - x_zero) (w - w_zero) over 8-bit integers, exactly, as i32; what lies outside x counts as x_zero. x_zero
// and w_zero are one number or a tensor of x's and w's type that broadcasts with it.
constexpr Tensor conv_integer(Tensor x, Tensor w, Rhs x_zero, Rhs w_zero, const ConvOptions& options = {},
                              Site site = std::source_location::current()) {
  Builder& g = x.builder();
  if (!g.ok() || !x.valid() || !w.valid()) return {&g, -1};
  const auto shifted = [&](Tensor values, const Rhs& zero) {
    const Tensor wide = cast(values, i32, site);
    if (zero.is_number) return zero.number == 0 ? wide : sub(wide, zero);
    return sub(wide, Rhs(cast(zero.tensor, i32, site), site));
  };
  return conv(shifted(x, x_zero), shifted(w, w_zero), options, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::ConvOptions, core::conv, core::conv_integer;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_CONV_CONV_H_

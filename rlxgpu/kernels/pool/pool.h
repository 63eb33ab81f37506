// Pools over one to three spatial axes: max, average, lp, and over all of them; max_unpool; lrn.
//
//   Tensor y = max_pool(x, {.kernel = {3, 3}, .strides = {2, 2}, .before = {1, 1}, .after = {1, 1}});
//   auto [values, indices] = max_pool_indices(x, {.kernel = {2, 2}, .strides = {2, 2}});
//   Tensor back = max_unpool(values, indices, {h, w}, {.kernel = {2, 2}, .strides = {2, 2}});
//   Tensor m = global_average_pool(x);
//
// x: (image, channel, axes...). What lies outside x counts for nothing; an average may count pads as zeros
// (count_pads). `ceil`: a last window that begins inside x (or before it) is taken, even if it ends beyond the pads.
// max takes any real type, and a NaN wins; the others take floats and compute in f32. What follows joins the kernel.
#ifndef RLXGPU_KERNELS_POOL_POOL_H_
#define RLXGPU_KERNELS_POOL_POOL_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/conv/window.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/elementwise/complex.h"
#include "rlxgpu/kernels/elementwise/unary.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/pool/kind.h"
#include "rlxgpu/kernels/pool/reference.h"
#include "rlxgpu/kernels/reduce/combine.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {

inline constexpr KernelFile kPoolFile(
#include "rlxgpu/kernels/pool/pool.wgsl"
);
inline constexpr KernelFile kMaxIndicesFile(
#include "rlxgpu/kernels/pool/max_indices.wgsl"
);
inline constexpr KernelFile kUnpoolFile(
#include "rlxgpu/kernels/pool/unpool.wgsl"
);

struct PoolOptions {
  IntList kernel = {}, strides = {}, dilations = {};  // one number for each spatial axis; left out: 1
  IntList before = {}, after = {};                    // left out: 0
  bool ceil = false;
  bool count_pads = false;  // average only
  bool columns = false;     // indices only: within an image and channel they count the first spatial axis fastest
};
struct MaxPooled {
  Tensor values, indices;
};

namespace internal {

// The result's shape; false after a failure.
constexpr bool infer_pool(Infer& infer, const PoolAttrs& attrs, Shape& y) {
  const Shape& x = infer.shape(0);
  if (!check_window(infer, attrs.window, x)) return false;
  y = {x.dim(0), x.dim(1)};
  for (int axis = kWindowAxes - x.rank() + 2; axis < kWindowAxes; ++axis) {
    const int64_t places = attrs.window.places(axis, spatial(x, axis), attrs.ceil);
    if (places == 0) {
      infer.fail("a window that reaches over ", attrs.window.span(axis), " elements does not fit into ",
                 attrs.window.padded(axis, spatial(x, axis)));
      return false;
    }
    y.push_back(places);
  }
  return true;
}

constexpr void pool_infer(Infer& infer) {
  const PoolAttrs attrs = PoolAttrs::from(infer.call().attrs);
  const DType dtype = infer.dtype(0);
  if (attrs.kind == PoolKind::max ? dtype == boolean || dtype == c64 : !is_float(dtype))
    return infer.fail(attrs.kind == PoolKind::max ? "needs real numbers" : "takes floats, not ",
                      attrs.kind == PoolKind::max ? "" : name_of(dtype));
  Shape y;
  if (infer_pool(infer, attrs, y)) infer.result(dtype, y);
}
constexpr void max_pool_indices_infer(Infer& infer) {
  if (infer.dtype(0) == boolean || infer.dtype(0) == c64) return infer.fail("needs real numbers");
  Shape y;
  if (!infer_pool(infer, PoolAttrs::from(infer.call().attrs), y)) return;
  infer.result(infer.dtype(0), y);
  infer.result(i32, y);
}

constexpr std::string_view term_text(const PoolAttrs& attrs) {
  if (attrs.kind == PoolKind::mean_square || (attrs.kind == PoolKind::lp && attrs.p == 2))
    return "fn term(v : Acc) -> Acc { return v * v; }";
  if (attrs.kind != PoolKind::lp) return "fn term(v : Acc) -> Acc { return v; }";
  if (attrs.p == 1) return "fn term(v : Acc) -> Acc { return abs(v); }";
  return "fn term(v : Acc) -> Acc { return pow(abs(v), kP); }";
}
constexpr std::string_view finish_text(const PoolAttrs& attrs) {
  if (attrs.kind != PoolKind::lp || attrs.p == 1) return "fn finish(acc : Acc) -> Acc { return acc; }";
  if (attrs.p == 2) return "fn finish(acc : Acc) -> Acc { return sqrt(acc); }";
  return "fn finish(acc : Acc) -> Acc { return pow(acc, 1.0f / kP); }";
}

constexpr void pool_emit(Emit& e) {
  const PoolAttrs attrs = PoolAttrs::from(e.call().attrs);
  const SlidingWindow& window = attrs.window;
  const Shape &x = e.call().operand(0).shape, &y = e.call().result().shape;
  const DType dtype = e.call().operand(0).dtype;
  const Combine combine = attrs.kind == PoolKind::max ? Combine::max : Combine::sum;
  const int64_t count = y.count();
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kPoolFile);
  dispatch.type("Acc", register_of(dtype)).real("kP", attrs.p);
  give_window(dispatch, window, x, y);
  constexpr std::string_view kLow[] = {"kLow0", "kLow1", "kLow2"}, kHigh[] = {"kHigh0", "kHigh1", "kHigh2"};
  for (int axis = 0; axis < kWindowAxes; ++axis)
    dispatch.number(kLow[axis], attrs.count_pads ? 0 : window.before[axis]);
  for (int axis = 0; axis < kWindowAxes; ++axis) {
    const int64_t extent = spatial(x, axis);
    dispatch.number(kHigh[axis], attrs.count_pads ? window.padded(axis, extent) : window.before[axis] + extent);
  }
  dispatch.number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .output("y", e.result())
      .slot("identity", identity_text(combine, dtype))
      .slot("combine", combine_text(combine, dtype))
      .slot("term", term_text(attrs))
      .slot("finish", finish_text(attrs))
      .flag("MEAN", attrs.kind == PoolKind::mean || attrs.kind == PoolKind::mean_square)
      .grid(grid.row, grid.rows);
}

constexpr void max_pool_indices_emit(Emit& e) {
  const PoolAttrs attrs = PoolAttrs::from(e.call().attrs);
  const Shape& y = e.call().result().shape;
  const DType dtype = e.call().operand(0).dtype;
  const FoldedGrid grid = fold_grid(ceil_div(y.count(), 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMaxIndicesFile);
  dispatch.type("Acc", register_of(dtype));
  give_window(dispatch, attrs.window, e.call().operand(0).shape, y);
  dispatch.number("kColumns", attrs.columns)
      .number("kCount", y.count())
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .output("y", e.result())
      .output("indices", e.result(1))
      .slot("identity", identity_text(Combine::max, dtype))
      .slot("above", is_float(dtype)
                         ? "fn above(a : Acc, b : Acc) -> bool { return !is_nan(b) && (a > b || is_nan(a)); }\n"
                           "fn is_nan(v : f32) -> bool { return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u; }"
                         : "fn above(a : Acc, b : Acc) -> bool { return a > b; }")
      .grid(grid.row, grid.rows);
}

// attrs: the window, then the extents of the result's spatial axes.
constexpr void max_unpool_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &indices = infer.shape(1);
  const SlidingWindow window = SlidingWindow::from(infer.call().attrs);
  if (!is_index(infer.dtype(1)) || indices != x) return infer.fail("needs an index (i32) for each element");
  if (!check_window(infer, window, x)) return;
  Shape y = {x.dim(0), x.dim(1)};
  for (size_t i = SlidingWindow::kAttrs; i < infer.call().attrs.size(); ++i) y.push_back(infer.call().attrs[i]);
  if (y.rank() != x.rank()) return infer.fail("needs an extent for each of ", x.rank() - 2, " spatial axes");
  infer.result(infer.dtype(0), y);
}

constexpr void max_unpool_emit(Emit& e) {
  const SlidingWindow window = SlidingWindow::from(e.call().attrs);
  const Shape &places = e.call().operand(0).shape, &y = e.call().result().shape;
  const FoldedGrid grid = fold_grid(ceil_div(y.count(), 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kUnpoolFile);
  dispatch.type("Acc", register_of(e.call().operand(0).dtype))
      .number("kSpan0", window.span(0))
      .number("kSpan1", window.span(1))
      .number("kSpan2", window.span(2))
      .number("kStride0", window.stride[0])
      .number("kStride1", window.stride[1])
      .number("kStride2", window.stride[2])
      .number("kDilation0", window.dilation[0])
      .number("kDilation1", window.dilation[1])
      .number("kDilation2", window.dilation[2])
      .number("kBefore0", window.before[0])
      .number("kBefore1", window.before[1])
      .number("kBefore2", window.before[2])
      .number("kIn0", spatial(y, 0))
      .number("kIn1", spatial(y, 1))
      .number("kIn2", spatial(y, 2))
      .number("kOut0", spatial(places, 0))
      .number("kOut1", spatial(places, 1))
      .number("kOut2", spatial(places, 2))
      .number("kCount", y.count())
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .input("indices", e.operand(1))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

constexpr Cost pool_cost(const Call& call) {
  const auto taps = static_cast<double>(PoolAttrs::from(call.attrs).window.taps());
  return {static_cast<double>(call.result().shape.count()) * taps, 0};
}

inline constexpr Variant kPoolVariants[] = {{"window", nullptr, pool_emit}};
inline constexpr Variant kMaxPoolIndicesVariants[] = {{"window", nullptr, max_pool_indices_emit}};
inline constexpr Variant kMaxUnpoolVariants[] = {{"gathered", nullptr, max_unpool_emit}};

constexpr Tensor pooled(const OpDef& op, Tensor x, PoolAttrs attrs, const PoolOptions& options, Site site) {
  attrs.ceil = options.ceil, attrs.count_pads = options.count_pads, attrs.columns = options.columns;
  attrs.window = window_of({options.kernel, options.strides, options.dilations, options.before, options.after},
                           x.shape().rank() - 2);
  Vec<int64_t> list;
  attrs.append_to(list);
  return apply(op, {x}, {list.data(), list.size()}, site);
}

}  // namespace internal

inline constexpr OpDef kPool{
    .name = "pool",
    .infer = internal::pool_infer,
    .variants = internal::kPoolVariants,
    .absorbs_after = true,
    .cost = internal::pool_cost,
    .reference = pool_reference,
};
inline constexpr OpDef kMaxPoolIndices{
    .name = "max_pool_indices",
    .infer = internal::max_pool_indices_infer,
    .variants = internal::kMaxPoolIndicesVariants,
    .cost = internal::pool_cost,
    .reference = pool_reference,
};
inline constexpr OpDef kMaxUnpool{
    .name = "max_unpool",
    .infer = internal::max_unpool_infer,
    .variants = internal::kMaxUnpoolVariants,
    .absorbs_after = true,
    .reference = max_unpool_reference,
};

constexpr Tensor max_pool(Tensor x, const PoolOptions& options, Site site = std::source_location::current()) {
  return internal::pooled(kPool, x, {.kind = PoolKind::max}, options, site.as("max_pool"));
}
// Indices are i32 and count all elements of x, row by row.
constexpr MaxPooled max_pool_indices(Tensor x, const PoolOptions& options,
                                     Site site = std::source_location::current()) {
  const Tensor values = internal::pooled(kMaxPoolIndices, x, {.kind = PoolKind::max}, options, site);
  return {values, result_of(values, 1)};
}
constexpr Tensor average_pool(Tensor x, const PoolOptions& options, Site site = std::source_location::current()) {
  return internal::pooled(kPool, x, {.kind = PoolKind::mean}, options, site.as("average_pool"));
}
// (sum of |x|^p)^(1/p).
constexpr Tensor lp_pool(Tensor x, float p, const PoolOptions& options, Site site = std::source_location::current()) {
  return internal::pooled(kPool, x, {.kind = PoolKind::lp, .p = p}, options, site.as("lp_pool"));
}

// Values at their indices, as max_pool_indices gives them for a tensor with these spatial extents and the same options;
// zero elsewhere. An index outside its window is ignored; of several that name one element the last counts.
constexpr Tensor max_unpool(Tensor values, Tensor indices, const IntList& extents, const PoolOptions& options,
                            Site site = std::source_location::current()) {
  Vec<int64_t> attrs;
  window_of({options.kernel, options.strides, options.dilations, options.before, options.after},
            values.shape().rank() - 2)
      .append_to(attrs);
  for (const int64_t extent : extents.span()) attrs.push_back(extent);
  return apply(kMaxUnpool, {values, indices}, {attrs.data(), attrs.size()}, site);
}

namespace internal {
constexpr Axes spatial_axes(Tensor x) {
  Axes axes;
  for (int axis = 2; axis < x.shape().rank(); ++axis) axes.axis[axes.count++] = axis;
  return axes;
}
}  // namespace internal

// One element for each image and channel; spatial axes stay, with one element.
constexpr Tensor global_average_pool(Tensor x, Site site = std::source_location::current()) {
  return mean(x, internal::spatial_axes(x), {.keep_dims = true}, site);
}
constexpr Tensor global_max_pool(Tensor x, Site site = std::source_location::current()) {
  return reduce_max(x, internal::spatial_axes(x), {.keep_dims = true}, site);
}
constexpr Tensor global_lp_pool(Tensor x, float p, Site site = std::source_location::current()) {
  const Axes axes = internal::spatial_axes(x);
  if (p == 1) return l1(x, axes, {.keep_dims = true}, site);
  if (p == 2) return l2(x, axes, {.keep_dims = true}, site);
  return cast(
      pow(sum(pow(abs(cast(x, f32, site), site), Rhs(p, site)), axes, {.keep_dims = true}, site), Rhs(1.0f / p, site)),
      x.dtype(), site);
}

struct LrnOptions {
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
};
// x / (bias + alpha * mean of squares over `size` neighbouring channels)^beta; beyond the first and last channel there
// are zeros.
constexpr Tensor lrn(Tensor x, int64_t size, const LrnOptions& options = {},
                     Site site = std::source_location::current()) {
  Builder& g = x.builder();
  if (!g.ok() || !x.valid()) return {&g, -1};
  const Shape shape = x.shape();
  if (shape.rank() < 2 || size < 1 || !is_float(x.dtype())) {
    g.fail(site, "lrn(", name_of(x.dtype()), shape, "): needs floats with a channel axis, and a size of 1 at least");
    return {&g, -1};
  }
  const int64_t before = (size - 1) / 2;
  const Tensor planes = reshape(cast(x, f32, site), {shape.dim(0), 1, shape[1], shape.count(2, shape.rank())}, site);
  const Tensor squares = internal::pooled(
      kPool, planes, {.kind = PoolKind::mean_square},
      {.kernel = {size, 1}, .before = {before, 0}, .after = {size - 1 - before, 0}, .count_pads = true},
      site.as("lrn"));
  const Tensor scale =
      pow(add(mul(squares, Rhs(options.alpha, site)), Rhs(options.bias, site)), Rhs(-options.beta, site));
  return cast(mul(cast(x, f32, site), Rhs(reshape(scale, shape, site), site)), x.dtype(), site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::LrnOptions, core::MaxPooled, core::PoolOptions, core::average_pool, core::global_average_pool,
    core::global_lp_pool, core::global_max_pool, core::lp_pool, core::lrn, core::max_pool, core::max_pool_indices,
    core::max_unpool;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_POOL_POOL_H_

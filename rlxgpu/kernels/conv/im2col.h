// im2col(x, options): the elements under a window at every place, as columns. col2im(columns, extents, options):
// columns added up where their elements came from.
//
//   Tensor columns = im2col(x, {.kernel = {3, 3}, .before = {1, 1}, .after = {1, 1}});
//   Tensor image = col2im(columns, {5, 5}, {.kernel = {3, 3}, .strides = {2, 2}});
//
// x: (image, channel, axes...)   columns: (image, channel * kernel elements, places). im2col is a map: it joins the
// kernel that reads it. col2im sums in f32 and takes floats; conv_transpose is a product and a col2im.
#ifndef RLXGPU_KERNELS_CONV_IM2COL_H_
#define RLXGPU_KERNELS_CONV_IM2COL_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/conv/window.h"
#include "rlxgpu/kernels/movement/generate.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

inline constexpr KernelFile kCol2imFile(
#include "rlxgpu/kernels/conv/col2im.wgsl"
);

namespace internal {

// The shape of the places of a window in x, with x's leading axes.
constexpr Shape places_of(const SlidingWindow& window, const Shape& x) {
  Shape places = {x.dim(0), x.dim(1)};
  for (int axis = kWindowAxes - x.rank() + 2; axis < kWindowAxes; ++axis)
    places.push_back(window.places(axis, spatial(x, axis)));
  return places;
}

// Names of what a row-major index is along three axes.
struct Triple {
  Name at[kWindowAxes];
};
constexpr Triple split_index(At& at, Name index, int64_t second, int64_t third) {
  Triple triple;
  triple.at[2] = third == 1 ? kZero : at.let(index, " % ", third, 'u');
  triple.at[1] = second == 1 ? kZero : at.let('(', index, " / ", third, "u) % ", second, 'u');
  triple.at[0] = at.let(index, " / ", second * third, 'u');
  return triple;
}

// attrs: the window.
constexpr void im2col_infer(Infer& infer) {
  const SlidingWindow window = SlidingWindow::from(infer.call().attrs);
  const Shape& x = infer.shape(0);
  if (!check_window(infer, window, x)) return;
  const Shape places = places_of(window, x);
  infer.result(infer.dtype(0), {x.dim(0), x[1] * window.taps(), places.count(2, places.rank())});
}

constexpr void im2col_at(At& at) {
  int64_t attrs[SlidingWindow::kAttrs] = {};
  for (int i = 0; i < SlidingWindow::kAttrs; ++i) attrs[i] = at.attr(i);
  const SlidingWindow window = SlidingWindow::from(attrs);
  const Shape& x = at.operand_shape(0);
  if (x.count() == 0) {
    at.result() << zero_of(at.dtype());
    return;
  }
  const Shape places = places_of(window, x);
  const Name row = at.coord(1);
  const Name tap = at.let(row, " % ", window.taps(), 'u');
  const Triple k = split_index(at, tap, window.kernel[1], window.kernel[2]);
  const Triple o = split_index(at, at.coord(2), spatial(places, 1), spatial(places, 2));
  Coords source;
  source[0] = at.coord(0);
  source[1] = at.let(row, " / ", window.taps(), 'u');
  Text inside;
  for (int axis = kWindowAxes - x.rank() + 2; axis < kWindowAxes; ++axis) {
    const int to = axis - kWindowAxes + x.rank();
    const Name where = at.let(o.at[axis], " * ", window.stride[axis], "u + ", k.at[axis], " * ", window.dilation[axis],
                              "u - ", window.before[axis], 'u');  // wraps below zero
    source[to] = at.let("min(", where, ", ", x[to] - 1, "u)");
    inside << (inside.empty() ? "" : " && ") << where << " < " << x[to] << 'u';
  }
  const Name element = at.operand(0, source);
  at.result() << "select(" << zero_of(at.dtype()) << ", " << element << ", " << inside << ')';
}

inline void im2col_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const SlidingWindow window = SlidingWindow::from(call.attrs);
  const Shape out = places_of(window, x.shape);
  const int64_t in = x.shape.count(2, x.shape.rank()), places = out.count(2, out.rank());
  const int parts = x.dtype == c64 ? 2 : 1;
  for (int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    for (int64_t o = 0; o < places; ++o) {
      reference::each_tap(window, x.shape, out, o, [&](int64_t k, int64_t at) {
        for (int part = 0; part < parts; ++part)
          y[((plane * window.taps() + k) * places + o) * parts + part] = x[(plane * in + at) * parts + part];
      });
    }
  }
}

// attrs: the window, then the extents of the result's spatial axes.
constexpr Shape col2im_shape(const Shape& columns, std::span<const int64_t> attrs, int64_t taps) {
  Shape shape = {columns.dim(0), columns[1] / taps};
  for (size_t i = SlidingWindow::kAttrs; i < attrs.size(); ++i) shape.push_back(attrs[i]);
  return shape;
}

constexpr void col2im_infer(Infer& infer) {
  const SlidingWindow window = SlidingWindow::from(infer.call().attrs);
  const Shape& columns = infer.shape(0);
  if (!is_float(infer.dtype(0))) return infer.fail("takes floats, not ", name_of(infer.dtype(0)));
  if (columns.rank() != 3) return infer.fail("needs (image, channel * kernel elements, places)");
  if (window.taps() > 0 && columns[1] % window.taps() != 0)
    return infer.fail(columns[1], " rows are no multiple of ", window.taps(), " kernel elements");
  const Shape y = col2im_shape(columns, infer.call().attrs, window.taps() > 0 ? window.taps() : 1);
  if (!check_window(infer, window, y)) return;
  const Shape places = places_of(window, y);
  if (columns.symbol(2) >= 0 || places.count(2, places.rank()) != columns[2])
    return infer.fail("the window has ", places.count(2, places.rank()), " places in ", y, ", not ", columns[2]);
  infer.result(infer.dtype(0), y);
}

constexpr void col2im_emit(Emit& e) {
  const SlidingWindow window = SlidingWindow::from(e.call().attrs);
  const Shape& y = e.call().result().shape;
  const int64_t count = y.count();
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kCol2imFile);
  give_window(dispatch, window, y, places_of(window, y));
  dispatch.number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

inline void col2im_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const SlidingWindow window = SlidingWindow::from(call.attrs);
  const Shape out = places_of(window, y.shape);
  const int64_t in = y.shape.count(2, y.shape.rank()), places = out.count(2, out.rank());
  for (int64_t plane = 0; plane < y.shape[0] * y.shape[1]; ++plane) {
    for (int64_t o = 0; o < places; ++o) {
      reference::each_tap(window, y.shape, out, o, [&](int64_t k, int64_t at) {
        y[plane * in + at] += x[(plane * window.taps() + k) * places + o];
      });
    }
  }
}

}  // namespace internal

inline constexpr OpDef kIm2col{
    .name = "im2col",
    .infer = internal::im2col_infer,
    .at = internal::im2col_at,
    .reads_elsewhere = true,
    .reference = internal::im2col_reference,
};
constexpr Tensor im2col(Tensor x, const WindowOptions& options, Site site = std::source_location::current()) {
  Vec<int64_t> attrs;
  window_of(options, x.shape().rank() - 2).append_to(attrs);
  return apply(kIm2col, {x}, {attrs.data(), attrs.size()}, site);
}

inline constexpr Variant kCol2imVariants[] = {{"gathered", nullptr, internal::col2im_emit}};
inline constexpr OpDef kCol2im{
    .name = "col2im",
    .infer = internal::col2im_infer,
    .variants = kCol2imVariants,
    .absorbs = 1,  // every element of the columns is read once
    .absorbs_after = true,
    .reference = internal::col2im_reference,
};
constexpr Tensor col2im(Tensor columns, const IntList& extents, const WindowOptions& options,
                        Site site = std::source_location::current()) {
  Vec<int64_t> attrs;
  window_of(options, extents.size()).append_to(attrs);
  for (const int64_t extent : extents.span()) attrs.push_back(extent);
  return apply(kCol2im, {columns}, {attrs.data(), attrs.size()}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::col2im, core::im2col;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_CONV_IM2COL_H_

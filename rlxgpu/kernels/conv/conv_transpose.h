// conv_transpose(x, w, bias, options): conv backwards. Every element of x adds its multiple of the weights to the
// result.
//
//   Tensor y = conv_transpose(x, w, bias, {.strides = {2, 2}, .before = {1, 1}, .after = {1, 1}, .more = {1, 1}});
//
// x: (image, channel, axes...)   w: (channel of x, channel of y / groups, kernel...). An axis of the result has
// (extent - 1) * stride + (kernel - 1) * dilation + 1 - before - after + more elements. Floats, summed in f32: a
// product (rlxgpu/kernels/matmul) whose columns col2im adds up; bias and activation join that.
#ifndef RLXGPU_KERNELS_CONV_CONV_TRANSPOSE_H_
#define RLXGPU_KERNELS_CONV_CONV_TRANSPOSE_H_

#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/conv/im2col.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/movement/transpose.h"

namespace rlxgpu::core {

struct ConvTransposeOptions {
  IntList strides = {}, dilations = {};
  IntList before = {}, after = {};  // elements that are cut off at both ends
  IntList more = {};                // elements that are kept (or zero) beyond the end
  int64_t groups = 1;
};

constexpr Tensor conv_transpose(Tensor x, Tensor w, const ConvTransposeOptions& options = {},
                                Site site = std::source_location::current()) {
  Builder& g = x.builder();
  if (!g.ok() || !x.valid() || !w.valid()) return {&g, -1};
  const Shape xs = x.shape(), ws = w.shape();
  const int axes = xs.rank() - 2;
  const int64_t groups = options.groups;
  const auto refuse = [&](const auto&... why) {
    g.fail(site, "conv_transpose(", xs, ", ", ws, "): ", why...);
    return Tensor(&g, -1);
  };
  if (axes < 1 || axes > kWindowAxes || ws.rank() != xs.rank())
    return refuse("x and w need the same number of axes, 3 to 5");
  if (!is_float(x.dtype()) || x.dtype() != w.dtype()) return refuse("needs floats of one type");
  if (groups < 1 || xs[1] % groups != 0 || xs[1] != ws[0])
    return refuse("x has ", xs[1], " channels, w wants ", ws[0], " in ", groups, " groups");
  for (const IntList* list : {&options.strides, &options.dilations, &options.before, &options.after, &options.more}) {
    if (list->size() != 0 && list->size() != axes) return refuse("lists need ", axes, " numbers each");
  }
  const auto of = [](const IntList& list, int axis, int64_t otherwise) {
    return list.size() > 0 ? list[axis] : otherwise;
  };
  WindowOptions window = {{}, options.strides, options.dilations, options.before, options.after};
  window.before.resize(axes, 0), window.after.resize(axes, 0);
  IntList extents;
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t kernel = ws[2 + axis], stride = of(options.strides, axis, 1),
                  dilation = of(options.dilations, axis, 1), more = of(options.more, axis, 0);
    window.kernel.push_back(kernel);
    const int64_t extent =
        (xs[2 + axis] - 1) * stride + (kernel - 1) * dilation + 1 - window.before[axis] - window.after[axis] + more;
    if (xs[2 + axis] < 1 || extent < 0)
      return refuse("axis ", 2 + axis, " of the result would have ", extent, " elements");
    extents.push_back(extent), window.after[axis] -= more;
  }
  const int64_t c = xs[1] / groups, k = ws.count(1, ws.rank()), n = xs.count(2, xs.rank());
  const Dim images = xs.dim(0);
  const bool one = groups == 1;
  const Tensor wide = cast(w, f32, site);  // sums of columns keep their digits
  const Tensor left = one ? transpose(reshape(wide, {c, k}, site), {1, 0}, site)
                          : transpose(reshape(wide, {groups, c, k}, site), {0, 2, 1}, site);
  const Tensor right = reshape(x, one ? Shape{images, c, n} : Shape{images, groups, c, n}, site);
  const Tensor columns = reshape(matmul(left, right, site), {images, groups * k, n}, site);
  return cast(col2im(columns, extents, window, site), x.dtype(), site);
}
constexpr Tensor conv_transpose(Tensor x, Tensor w, Tensor bias, const ConvTransposeOptions& options = {},
                                Site site = std::source_location::current()) {
  const Tensor y = conv_transpose(x, w, options, site);
  return internal::with_bias("conv_transpose", y, bias, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::ConvTransposeOptions, core::conv_transpose;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_CONV_CONV_TRANSPOSE_H_

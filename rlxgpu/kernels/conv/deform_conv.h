// deform_conv(x, w, offsets, mask, bias, options): a convolution in two dimensions whose taps are moved by offsets,
// read between elements, and weighed by a mask.
//
//   Tensor y = deform_conv(x, w, offsets, mask, bias, {.before = {1, 1}, .after = {1, 1}});
//
// x: (image, channel, h, w)   w: (channel of y, channel of x / groups, kernel, kernel)
// offsets: (image, offset_groups * kernel elements * 2, h of y, w of y), down then right   mask: (image, offset_groups
// * kernel elements, h of y, w of y); mask and bias may be left out. Outside x there are zeros. The columns are laid
// out as f32 (a map), then multiplied by the weights.
#ifndef RLXGPU_KERNELS_CONV_DEFORM_CONV_H_
#define RLXGPU_KERNELS_CONV_DEFORM_CONV_H_

#include <cmath>

#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/conv/im2col.h"

namespace rlxgpu::core {

struct DeformConvOptions {
  IntList strides = {}, dilations = {}, before = {}, after = {};
  int64_t groups = 1, offset_groups = 1;
};

namespace internal {

// attrs: the number of offset groups, then the window. Operands: x, offsets, and perhaps a mask.
constexpr void deform_columns_infer(Infer& infer) {
  const SlidingWindow window = SlidingWindow::from(infer.call().attrs.subspan(1));
  const Shape& x = infer.shape(0);
  const int64_t groups = infer.attr(0);
  if (x.rank() != 4) return infer.fail("needs two spatial axes");
  if (!check_window(infer, window, x)) return;
  for (int k = 0; k < infer.count(); ++k) {
    if (!is_float(infer.dtype(k))) return infer.fail("needs floats");
  }
  if (groups < 1 || x[1] % groups != 0)
    return infer.fail(x[1], " channels are no multiple of ", groups, " offset groups");
  const Shape places = places_of(window, x);
  for (int k = 1; k < infer.count(); ++k) {
    const Shape wanted = {x.dim(0), groups * window.taps() * (k == 1 ? 2 : 1), places[2], places[3]};
    if (infer.shape(k) != wanted) return infer.fail(k == 1 ? "offsets" : "the mask", " must be ", wanted);
  }
  infer.result(f32, {x.dim(0), x[1] * window.taps(), places.count(2, 4)});
}

constexpr void deform_columns_at(At& at) {
  int64_t attrs[SlidingWindow::kAttrs] = {};
  for (int i = 0; i < SlidingWindow::kAttrs; ++i) attrs[i] = at.attr(1 + i);
  const SlidingWindow window = SlidingWindow::from(attrs);
  const Shape& x = at.operand_shape(0);
  const Shape& offsets = at.operand_shape(1);
  if (x.count() == 0) {
    at.result() << "0.0f";
    return;
  }
  const int64_t taps = window.taps();
  const Name row = at.coord(1);
  const Name channel = at.let(row, " / ", taps, 'u'), tap = at.let(row, " % ", taps, 'u');
  const Name first = at.let(channel, " / ", x[1] / at.attr(0), "u * ", taps, "u + ", tap);  // of the taps of all groups
  const Triple k = split_index(at, tap, window.kernel[1], window.kernel[2]);
  const Triple o = split_index(at, at.coord(2), offsets[2], offsets[3]);
  Coords given;
  given[0] = at.coord(0), given[2] = o.at[1], given[3] = o.at[2];
  Name low[2], high[2], part[2], below[2], above[2];  // neighbours on both sides, and their shares
  for (int i = 0; i < 2; ++i) {
    const int axis = 1 + i;
    given[1] = at.let(first, " * 2u + ", i, 'u');
    const Name where = at.let("f32(i32(", o.at[axis], " * ", window.stride[axis], "u + ", k.at[axis], " * ",
                              window.dilation[axis], "u) - ", window.before[axis], ") + ", at.operand(1, given));
    const int64_t n = x[2 + i];
    // A neighbour outside has no share; far outside the number would not fit into an integer.
    const Name floor = at.let("floor(clamp(", where, ", -2.0, ", n + 1, ".0))");
    part[i] = at.let(where, " - ", floor);
    low[i] = at.let("u32(clamp(", floor, ", 0.0, ", n - 1, ".0))");
    high[i] = at.let("u32(clamp(", floor, " + 1.0, 0.0, ", n - 1, ".0))");
    below[i] = at.let("select(0.0, 1.0 - ", part[i], ", ", floor, " >= 0.0 && ", floor, " < ", n, ".0)");
    above[i] = at.let("select(0.0, ", part[i], ", ", floor, " >= -1.0 && ", floor, " < ", n - 1, ".0)");
  }
  Text sum;
  for (int corner = 0; corner < 4; ++corner) {
    const bool down = corner / 2 == 1, right = corner % 2 == 1;
    Coords source;
    source[0] = at.coord(0), source[1] = channel;
    source[2] = down ? high[0] : low[0], source[3] = right ? high[1] : low[1];
    const Name element = at.operand(0, source);
    sum << (corner > 0 ? " + " : "") << element << " * (" << (down ? above[0] : below[0]) << " * "
        << (right ? above[1] : below[1]) << ')';
  }
  if (at.operand_count() < 3) {
    at.result() << '(' << sum << ')';
    return;
  }
  given[1] = first;
  const Name weight = at.operand(2, given);
  at.result() << "((" << sum << ") * " << weight << ')';
}

inline void deform_columns_reference(reference::Call& call) {
  const reference::Array &x = call.operand(0), &offsets = call.operand(1);
  reference::Array& y = call.result();
  const SlidingWindow window = SlidingWindow::from(call.attrs.subspan(1));
  const int64_t taps = window.taps(), places = y.shape[2], h = x.shape[2], w = x.shape[3];
  for (int64_t i = 0; i < y.count(); ++i) {
    const reference::Index at = y.index_of(i);
    const int64_t channel = at[1] / taps, tap = at[1] % taps, o = at[2];
    const int64_t first = (at[0] * call.attr(0) + channel / (x.shape[1] / call.attr(0))) * taps + tap;
    const int64_t place[] = {o / offsets.shape[3], o % offsets.shape[3]},
                  k[] = {tap / window.kernel[2], tap % window.kernel[2]};
    double where[2] = {};
    for (int axis = 0; axis < 2; ++axis) {
      where[axis] = static_cast<double>(place[axis] * window.stride[1 + axis] + k[axis] * window.dilation[1 + axis] -
                                        window.before[1 + axis]) +
                    offsets[(first * 2 + axis) * places + o];
    }
    for (const int64_t down : {0, 1}) {
      for (const int64_t right : {0, 1}) {
        const auto r = static_cast<int64_t>(std::floor(where[0])) + down,
                   c = static_cast<int64_t>(std::floor(where[1])) + right;
        if (r < 0 || r >= h || c < 0 || c >= w) continue;
        const double share =
            (1 - std::fabs(where[0] - static_cast<double>(r))) * (1 - std::fabs(where[1] - static_cast<double>(c)));
        y[i] += share * x[((at[0] * x.shape[1] + channel) * h + r) * w + c];
      }
    }
    if (call.operands.size() > 2) y[i] *= call.operand(2)[first * places + o];
  }
}

}  // namespace internal

inline constexpr OpDef kDeformColumns{
    .name = "deform_columns",
    .infer = internal::deform_columns_infer,
    .at = internal::deform_columns_at,
    .reads_elsewhere = true,
    .reads = [](const Call&) { return 4; },
    .reference = internal::deform_columns_reference,
};

constexpr Tensor deform_conv(Tensor x, Tensor w, Tensor offsets, Tensor mask = {}, Tensor bias = {},
                             const DeformConvOptions& options = {}, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  if (!g.ok() || !x.valid() || !w.valid()) return {&g, -1};
  const Site here = site.as("deform_conv");
  const ConvOptions plain = {options.strides, options.dilations, options.before, options.after, options.groups};
  const Tensor y = conv(x, w, plain, here);  // its shape; the node is not used
  if (!y.valid()) return y;
  WindowOptions window = {{}, options.strides, options.dilations, options.before, options.after};
  for (int axis = 2; axis < w.shape().rank(); ++axis) window.kernel.push_back(w.shape()[axis]);
  Vec<int64_t> attrs;
  attrs.push_back(options.offset_groups);
  window_of(window, w.shape().rank() - 2).append_to(attrs);
  const std::span<const int64_t> all(attrs.data(), attrs.size());
  const Tensor columns = mask.given() ? apply(kDeformColumns, {x, offsets, mask}, all, here)
                                      : apply(kDeformColumns, {x, offsets}, all, here);
  if (!columns.valid()) return columns;
  const Tensor product = internal::grouped_product(w, columns, options.groups, site);
  return internal::with_bias("deform_conv", reshape(product, y.shape(), site), bias, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::DeformConvOptions, core::deform_conv;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_CONV_DEFORM_CONV_H_

// SlidingWindow: a small box that walks over the spatial axes of a tensor (image, channel, axes...), as convolution,
// pooling and im2col have it.
//
//   SlidingWindow window = window_of({.kernel = {3, 3}, .strides = {2, 2}, .before = {1, 1}, .after = {1, 1}}, 2);
//
// There are always three axes; those that a tensor does not have come first and have one element.
#ifndef RLXGPU_KERNELS_CONV_WINDOW_H_
#define RLXGPU_KERNELS_CONV_WINDOW_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/movement/int_list.h"

namespace rlxgpu::core {

inline constexpr int kWindowAxes = 3;

// One number for each spatial axis. Lists that are left out: strides and dilations 1, pads 0.
struct WindowOptions {
  IntList kernel = {}, strides = {}, dilations = {};
  IntList before = {}, after = {};  // zeros (or nothing, for pools) at both ends; below 0 after: elements left out
};

struct SlidingWindow {
  int64_t kernel[kWindowAxes] = {1, 1, 1}, stride[kWindowAxes] = {1, 1, 1}, dilation[kWindowAxes] = {1, 1, 1},
          before[kWindowAxes] = {}, after[kWindowAxes] = {};

  static constexpr int kAttrs = 5 * kWindowAxes;
  constexpr void append_to(Vec<int64_t>& attrs) const {
    for (const auto* list : {&kernel, &stride, &dilation, &before, &after}) {
      for (const int64_t number : *list) attrs.push_back(number);
    }
  }
  static constexpr SlidingWindow from(std::span<const int64_t> attrs) {
    SlidingWindow window;
    size_t i = 0;
    for (auto* list : {&window.kernel, &window.stride, &window.dilation, &window.before, &window.after}) {
      for (int64_t& number : *list) number = attrs[i++];
    }
    return window;
  }

  constexpr int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  // From the first to the last element under the window.
  constexpr int64_t span(int axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  constexpr int64_t padded(int axis, int64_t extent) const { return extent + before[axis] + after[axis]; }
  // Places where it lies inside the padded axis; `ceil`: or begins inside, but not beyond the last element.
  constexpr int64_t places(int axis, int64_t extent, bool ceil = false) const {
    const int64_t room = padded(axis, extent) - span(axis);
    if (room < 0 && !(ceil && room > -stride[axis])) return 0;
    int64_t count = (room < 0 ? 0 : ceil ? ceil_div(room, stride[axis]) : room / stride[axis]) + 1;
    if (ceil && count > 1 && (count - 1) * stride[axis] >= extent + before[axis]) --count;
    return count;
  }
  // One element, where it is.
  constexpr bool is_point() const {
    for (int axis = 0; axis < kWindowAxes; ++axis) {
      if (kernel[axis] != 1 || stride[axis] != 1 || before[axis] != 0 || after[axis] != 0) return false;
    }
    return true;
  }
};

// Extent of one of three spatial axes.
constexpr int64_t spatial(const Shape& shape, int axis) {
  const int at = axis - kWindowAxes + shape.rank();
  return at < 2 ? 1 : shape[at];
}

// For `axes` spatial axes. Lists of another length leave the mark of an impossible kernel: check_window says so.
constexpr SlidingWindow window_of(const WindowOptions& options, int axes) {
  SlidingWindow window;
  const auto give = [&](const IntList& list, int64_t* to) {
    if (list.size() == 0) return;
    if (list.size() != axes) window.kernel[0] = -1;
    for (int i = 0; i < axes && i < list.size() && i < kWindowAxes; ++i) to[kWindowAxes - axes + i] = list[i];
  };
  if (axes < 1 || axes > kWindowAxes) return window;
  give(options.kernel, window.kernel), give(options.strides, window.stride), give(options.dilations, window.dilation);
  give(options.before, window.before), give(options.after, window.after);
  return window;
}

// False after a failure.
constexpr bool check_window(Infer& infer, const SlidingWindow& window, const Shape& shape) {
  const int axes = shape.rank() - 2;
  const auto refuse = [&](const auto&... why) { return infer.fail(why...), false; };
  if (axes < 1 || axes > kWindowAxes) return refuse("needs (image, channel) and 1 to 3 spatial axes");
  if (window.kernel[0] < 0) return refuse("kernel, strides, dilations and pads need ", axes, " numbers each");
  for (int axis = 1; axis < shape.rank(); ++axis) {
    if (shape.symbol(axis) >= 0) return refuse("axis ", axis, " must be known: it is a run-time extent");
  }
  for (int axis = 0; axis < kWindowAxes; ++axis) {
    if (window.kernel[axis] < 1 || window.stride[axis] < 1 || window.dilation[axis] < 1)
      return refuse("kernel, strides and dilations must be 1 at least");
    if (window.before[axis] < 0) return refuse("pads before must not be negative");
  }
  return true;
}

namespace internal {
inline constexpr std::string_view kWindowNames[][kWindowAxes] = {{"kKernel0", "kKernel1", "kKernel2"},
                                                                 {"kStride0", "kStride1", "kStride2"},
                                                                 {"kDilation0", "kDilation1", "kDilation2"},
                                                                 {"kBefore0", "kBefore1", "kBefore2"},
                                                                 {"kIn0", "kIn1", "kIn2"},
                                                                 {"kOut0", "kOut1", "kOut2"}};
}  // namespace internal

// kKernel0 ... kBefore2 of a kernel file, and the extents kIn0 ... of what the window walks over and kOut0 ... of its
// places.
constexpr void give_window(Dispatch& dispatch, const SlidingWindow& window, const Shape& in, const Shape& out) {
  const int64_t* lists[] = {window.kernel, window.stride, window.dilation, window.before};
  for (int list = 0; list < 4; ++list) {
    for (int axis = 0; axis < kWindowAxes; ++axis)
      dispatch.number(internal::kWindowNames[list][axis], lists[list][axis]);
  }
  for (int axis = 0; axis < kWindowAxes; ++axis) dispatch.number(internal::kWindowNames[4][axis], spatial(in, axis));
  for (int axis = 0; axis < kWindowAxes; ++axis) dispatch.number(internal::kWindowNames[5][axis], spatial(out, axis));
}

namespace reference {

// Calls visit(k, at) for every tap k of the window at place `o` (both counted row-major) that meets an element, `at` of
// the spatial axes.
template <typename Visit>
void each_tap(const SlidingWindow& window, const Shape& in, const Shape& out, int64_t o, Visit visit) {
  const int64_t place[] = {o / (spatial(out, 1) * spatial(out, 2)), o / spatial(out, 2) % spatial(out, 1),
                           o % spatial(out, 2)};
  for (int64_t k = 0; k < window.taps(); ++k) {
    const int64_t tap[] = {k / (window.kernel[1] * window.kernel[2]), k / window.kernel[2] % window.kernel[1],
                           k % window.kernel[2]};
    int64_t at = 0;
    bool inside = true;
    for (int axis = 0; axis < kWindowAxes; ++axis) {
      const int64_t where = place[axis] * window.stride[axis] + tap[axis] * window.dilation[axis] - window.before[axis];
      inside = inside && where >= 0 && where < spatial(in, axis);
      at = at * spatial(in, axis) + where;
    }
    if (inside) visit(k, at);
  }
}

}  // namespace reference

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::WindowOptions;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_CONV_WINDOW_H_

// ConvLayout: the sizes of a convolution.
#ifndef RLXGPU_KERNELS_CONV_LAYOUT_H_
#define RLXGPU_KERNELS_CONV_LAYOUT_H_

#include <cstdint>

#include "rlxgpu/kernels/conv/window.h"

namespace rlxgpu::core {

// attrs: the number of groups, then the window.
struct ConvLayout {
  SlidingWindow window;
  Shape in, out;
  int64_t images = 1, groups = 1;
  int64_t c = 1, m = 1;  // channels of x and of the result in a group
  int64_t places = 1;

  constexpr int64_t products() const { return c * window.taps(); }  // in a sum
  constexpr void give_to(Dispatch& dispatch, Register acc) const {
    dispatch.type("Acc", acc).number("kGroups", groups).number("kC", c).number("kM", m);
    give_window(dispatch, window, in, out);
  }
};

constexpr ConvLayout conv_layout(const Call& call) {
  ConvLayout layout;
  const Shape& w = call.operand(1).shape;
  layout.window = SlidingWindow::from(call.attrs.subspan(1));
  layout.in = call.operand(0).shape, layout.out = call.result().shape;
  layout.images = layout.in[0], layout.groups = call.attr(0);
  layout.c = w[1], layout.m = w[0] / layout.groups;
  layout.places = layout.out.count(2, layout.out.rank());
  return layout;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_CONV_LAYOUT_H_

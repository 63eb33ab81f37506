// What the pools mean.
#ifndef RLXGPU_KERNELS_POOL_REFERENCE_H_
#define RLXGPU_KERNELS_POOL_REFERENCE_H_

#include <cmath>
#include <cstdint>

#include "rlxgpu/kernels/conv/window.h"
#include "rlxgpu/kernels/pool/kind.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void pool_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const PoolAttrs attrs = PoolAttrs::from(call.attrs);
  const SlidingWindow& window = attrs.window;
  const int64_t in = x.shape.count(2, x.shape.rank()), out = y.shape.count(2, y.shape.rank());
  for (int64_t i = 0; i < y.count(); ++i) {
    double sum = 0, most = 0;
    int64_t met = 0, where = 0;
    reference::each_tap(window, x.shape, y.shape, i % out, [&](int64_t, int64_t at) {
      const double v = x[i / out * in + at];
      sum += attrs.kind == PoolKind::mean          ? v
             : attrs.kind == PoolKind::mean_square ? v * v
                                                   : std::pow(std::fabs(v), static_cast<double>(attrs.p));
      if (met++ == 0 || v > most || (std::isnan(v) && !std::isnan(most))) most = v, where = at;
    });
    if (attrs.kind == PoolKind::max) {
      y[i] = most;
      if (met == 0) y[i] = is_float(y.dtype) ? -HUGE_VAL : y.dtype == i8 ? -128 : y.dtype == i32 ? -2147483648.0 : 0;
      if (call.results.size() > 1) {
        const int64_t n1 = spatial(x.shape, 1), n2 = spatial(x.shape, 2);
        const int64_t columns = (where % n2 * n1 + where / n2 % n1) * spatial(x.shape, 0) + where / (n1 * n2);
        call.result(1)[i] = static_cast<double>(i / out * in + (attrs.columns ? columns : where));
      }
    } else if (attrs.kind == PoolKind::lp) {
      y[i] = std::pow(sum, 1 / static_cast<double>(attrs.p));
    } else {
      int64_t count = met;
      if (attrs.count_pads) {  // taps that lie inside the padded axes
        int64_t o = i % out;
        count = 1;
        for (int axis = kWindowAxes - 1; axis >= 0; --axis) {
          const int64_t place = o % spatial(y.shape, axis);
          o /= spatial(y.shape, axis);
          int64_t along = 0;
          for (int64_t k = 0; k < window.kernel[axis]; ++k)
            along +=
                place * window.stride[axis] + k * window.dilation[axis] < window.padded(axis, spatial(x.shape, axis));
          count *= along;
        }
      }
      y[i] = count == 0 ? 0 : sum / static_cast<double>(count);
    }
  }
}

inline void max_unpool_reference(reference::Call& call) {
  const reference::Array &x = call.operand(0), &indices = call.operand(1);
  reference::Array& y = call.result();
  const SlidingWindow window = SlidingWindow::from(call.attrs);
  const int64_t in = y.shape.count(2, y.shape.rank()), out = x.shape.count(2, x.shape.rank());
  for (int64_t i = 0; i < x.count(); ++i) {
    reference::each_tap(window, y.shape, x.shape, i % out, [&](int64_t, int64_t tap) {
      const int64_t at = i / out * in + tap;
      if (static_cast<int64_t>(indices[i]) == at) y[at] = x[i];
    });
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_POOL_REFERENCE_H_

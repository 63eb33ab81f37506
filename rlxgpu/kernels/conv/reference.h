// What conv means.
#ifndef RLXGPU_KERNELS_CONV_REFERENCE_H_
#define RLXGPU_KERNELS_CONV_REFERENCE_H_

#include <cstdint>

#include "rlxgpu/kernels/conv/window.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void conv_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const reference::Array& w = call.operand(1);
  reference::Array& y = call.result();
  const SlidingWindow window = SlidingWindow::from(call.attrs.subspan(1));
  const int64_t groups = call.attr(0), m = w.shape[0] / groups, c = w.shape[1];
  const int64_t in = x.shape.count(2, x.shape.rank()), out = y.shape.count(2, y.shape.rank());
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t channel = i / out % w.shape[0], image = i / out / w.shape[0];
    double sum = 0;
    uint64_t wrapped = 0;  // integers: the low 32 bits are exact, however large the sum
    reference::each_tap(window, x.shape, y.shape, i % out, [&](int64_t k, int64_t at) {
      for (int64_t j = 0; j < c; ++j) {
        const double left = x[((image * groups + channel / m) * c + j) * in + at],
                     right = w[(channel * c + j) * window.taps() + k];
        sum += left * right;
        if (is_integer(y.dtype))
          wrapped +=
              static_cast<uint64_t>(static_cast<int64_t>(left)) * static_cast<uint64_t>(static_cast<int64_t>(right));
      }
    });
    y[i] = is_integer(y.dtype) ? static_cast<double>(wrapped & 0xffffffffu) : sum;
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_CONV_REFERENCE_H_

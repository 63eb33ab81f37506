// What conv means.
#ifndef RLXGPU_KERNELS_CONV_REFERENCE_H_
#define RLXGPU_KERNELS_CONV_REFERENCE_H_

#include <cstdint>
#include <vector>

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
  struct Tap {
    int64_t k, at;
  };
  for (int64_t o = 0; o < out; ++o) {
    std::vector<Tap> taps;
    reference::each_tap(window, x.shape, y.shape, o, [&](int64_t k, int64_t at) { taps.push_back({k, at}); });
    for (int64_t row = 0; row < y.shape[0] * w.shape[0]; ++row) {
      const int64_t channel = row % w.shape[0], image = row / w.shape[0];
      const double* const pixels = x.data.data() + (image * groups + channel / m) * c * in;
      const double* const weights = w.data.data() + channel * c * window.taps();
      double sum = 0;
      uint64_t wrapped = 0;  // integers: the low 32 bits are exact, however large the sum
      for (const Tap& tap : taps) {
        for (int64_t j = 0; j < c; ++j) {
          const double left = pixels[j * in + tap.at], right = weights[j * window.taps() + tap.k];
          if (is_integer(y.dtype)) {
            wrapped +=
                static_cast<uint64_t>(static_cast<int64_t>(left)) * static_cast<uint64_t>(static_cast<int64_t>(right));
          } else {
            sum += left * right;
          }
        }
      }
      y[row * out + o] = is_integer(y.dtype) ? static_cast<double>(wrapped & 0xffffffffu) : sum;
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_CONV_REFERENCE_H_

// Windows: weights that fade a piece of signal in and out.
//
//   Tensor w = window(g, Window::hann, 400);              // periodic, as for spectra
//   Tensor s = window(g, Window::hamming, 21, false);     // symmetric, as for filters
#ifndef RLXGPU_KERNELS_SIGNAL_WINDOW_H_
#define RLXGPU_KERNELS_SIGNAL_WINDOW_H_

#include <bit>
#include <cstdint>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/fft/circle.h"

namespace rlxgpu::core {

enum class Window : uint8_t { rectangular, hann, hamming, blackman };

// Weight k of n.
constexpr double window_weight(Window kind, int64_t k, int64_t n, bool periodic = true) {
  const int64_t period = periodic ? n : n - 1;
  if (kind == Window::rectangular || period < 1) return 1;
  const double c = turn(k, period).cos;
  switch (kind) {
    case Window::hann:
      return 0.5 - 0.5 * c;
    case Window::hamming:
      return 0.54 - 0.46 * c;
    default:
      return 0.42 - 0.5 * c + 0.08 * turn(2 * k, period).cos;
  }
}

// Its weights as a constant of n numbers.
constexpr Tensor window(Builder& g, Window kind, int64_t n, bool periodic = true,
                        Site site = std::source_location::current()) {
  Vec<uint32_t> words;
  words.resize(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    words[static_cast<size_t>(k)] = std::bit_cast<uint32_t>(static_cast<float>(window_weight(kind, k, n, periodic)));
  }
  return g.constant(f32, {n}, {words.data(), words.size()}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Window, core::window;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SIGNAL_WINDOW_H_

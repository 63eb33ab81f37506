// Filters: fft_convolve for long kernels, hilbert (the analytic signal), resample by a rational factor.
//
//   Tensor y = fft_convolve(x, h);          // (..., n) and (m) or (..., m): (..., n + m - 1), as numpy.convolve
//   Tensor z = hilbert(x);                  // c64: real(z) is x, abs(z) its envelope
//   Tensor r = resample(x, 160, 441);       // 44.1 kHz to 16 kHz
#ifndef RLXGPU_KERNELS_SIGNAL_FILTER_H_
#define RLXGPU_KERNELS_SIGNAL_FILTER_H_

#include <cmath>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/movement/pad.h"
#include "rlxgpu/kernels/movement/slice.h"
#include "rlxgpu/kernels/signal/stft.h"

namespace rlxgpu::core {

inline constexpr KernelFile kResampleFile(
#include "rlxgpu/kernels/signal/resample.wgsl"
);

constexpr Tensor fft_convolve(Tensor x, Tensor h, Site site = std::source_location::current()) {
  if (x.valid() && h.valid() && (x.shape().rank() < 1 || h.shape().rank() < 1))
    x.builder().fail(site, "fft_convolve: both must have rank 1 at least");
  if (!x.valid() || !h.valid() || !x.builder().ok()) return {&x.builder(), -1};
  const int64_t n = x.shape()[x.shape().rank() - 1], m = h.shape()[h.shape().rank() - 1], all = n + m - 1;
  int64_t length = 1;
  while (length < all) length *= 2;
  const Tensor a = rfft(pad(x, last_axis(x, 0), last_axis(x, length - n), PadMode::constant, 0.0f, site), -1, {}, site);
  const Tensor b = rfft(pad(h, last_axis(h, 0), last_axis(h, length - m), PadMode::constant, 0.0f, site), -1, {}, site);
  return narrow(irfft(mul(a, Rhs(b, site)), length, -1, {}, site), -1, 0, all, site);
}

// x + i H(x): the spectrum without its negative frequencies, the positive ones twice.
constexpr Tensor hilbert(Tensor x, Site site = std::source_location::current()) {
  const Tensor half = rfft(x, -1, {}, site);
  if (!half.valid()) return half;
  const int64_t n = x.shape()[x.shape().rank() - 1], bins = n / 2 + 1;
  Vec<uint32_t> words;
  for (int64_t k = 0; k < bins; ++k) {
    words.push_back(word_of(k == 0 || 2 * k == n ? 1 : 2, c64));
    words.push_back(0);
  }
  const Tensor twice = x.builder().constant(c64, {bins}, {words.data(), words.size()}, site);
  return ifft(
      pad(mul(half, Rhs(twice, site)), last_axis(half, 0), last_axis(half, n - bins), PadMode::constant, 0.0f, site),
      -1, {}, site);
}

namespace signal {

// Half the filter's length, in steps of 1 / up of a sample: ten zeros of the sinc on each side.
constexpr int64_t half_of(int64_t up, int64_t down) { return 10 * (up > down ? up : down); }

// A sinc that cuts off at the lower of both Nyquist frequencies, under a Kaiser window (beta 5); its sum is `up`.
inline std::vector<double> resample_weights(int64_t up, int64_t down) {
  const auto bessel = [](double x) {  // I0
    double sum = 1, term = 1;
    for (int k = 1; k < 40; ++k) term *= x / (2 * k) * (x / (2 * k)), sum += term;
    return sum;
  };
  const int64_t half = half_of(up, down);
  const auto rate = static_cast<double>(up > down ? up : down);
  std::vector<double> weights(static_cast<size_t>(2 * half + 1));
  double sum = 0;
  for (int64_t k = -half; k <= half; ++k) {
    const double t = static_cast<double>(k) / rate, edge = static_cast<double>(k) / static_cast<double>(half);
    const double sinc = k == 0 ? 1 : std::sin(3.14159265358979323846 * t) / (3.14159265358979323846 * t);
    const double weight = sinc * bessel(5 * std::sqrt(1 - edge * edge));
    weights[static_cast<size_t>(k + half)] = weight, sum += weight;
  }
  for (double& weight : weights) weight *= static_cast<double>(up) / sum;
  return weights;
}
inline void fill_resample(std::span<const int64_t> args, std::span<uint32_t> words) {
  const std::vector<double> weights = resample_weights(args[0], args[1]);
  for (size_t i = 0; i < weights.size(); ++i) words[i] = std::bit_cast<uint32_t>(static_cast<float>(weights[i]));
}

// Attributes: up, down, without common factors.
constexpr void resample_infer(Infer& infer) {
  Shape shape = infer.shape(0);
  if (!is_float(infer.dtype(0))) return infer.fail("takes floats, not ", name_of(infer.dtype(0)));
  if (shape.rank() < 1) return infer.fail("needs a signal of rank 1 at least");
  if (infer.attr(0) < 1 || infer.attr(1) < 1)
    return infer.fail("factors ", infer.attr(0), " and ", infer.attr(1), " must be 1 at least");
  const int last = shape.rank() - 1;
  if (shape.symbol(last) >= 0) return infer.fail("the number of samples must be known: it is a run-time extent");
  const int64_t results = (shape[last] * infer.attr(0) + infer.attr(1) - 1) / infer.attr(1);
  if (results * infer.attr(1) + 2 * half_of(infer.attr(0), infer.attr(1)) > UINT32_MAX)
    return infer.fail("too many samples for these factors");
  shape.set(last, results);
  infer.result(infer.dtype(0), shape);
}

constexpr void resample_emit(Emit& e) {
  const Shape &from = e.call().operand(0).shape, &to = e.call().result().shape;
  const int last = from.rank() - 1;
  const int64_t half = half_of(e.attr(0), e.attr(1));
  const FoldedGrid grid = fold_grid(ceil_div(to.count(), 64), e.target().max_groups);
  e.dispatch(kResampleFile)
      .number("kRows", from.count(0, last))
      .number("kSamples", from[last])
      .number("kResults", to[last])
      .number("kUp", e.attr(0))
      .number("kDown", e.attr(1))
      .number("kHalf", half)
      .input("x", e.operand(0))
      .output("y", e.result())
      .raw("weights", e.table(f32, {2 * half + 1}, {fill_resample, {e.attr(0), e.attr(1)}}))
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kResampleVariants[] = {{"plain", nullptr, resample_emit}};

inline void resample_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const int64_t up = call.attr(0), down = call.attr(1), half = half_of(up, down);
  const std::vector<double> weights = resample_weights(up, down);
  const int last = x.shape.rank() - 1;
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t t = i % y.shape[last], row = i / y.shape[last] * x.shape[last];
    for (int64_t k = 0; k < x.shape[last]; ++k) {
      const int64_t at = t * down - k * up + half;
      if (at >= 0 && at <= 2 * half) y[i] += x[row + k] * weights[static_cast<size_t>(at)];
    }
  }
}

}  // namespace signal

inline constexpr OpDef kResample = {
    .name = "resample",
    .infer = signal::resample_infer,
    .variants = signal::kResampleVariants,
    .absorbs = 1,
    .absorbs_after = true,
    .reference = signal::resample_reference,
};

// up / down times as many samples (rounded up) along the last axis, through a low-pass filter, as SciPy's
// resample_poly.
constexpr Tensor resample(Tensor x, int64_t up, int64_t down, Site site = std::source_location::current()) {
  int64_t a = up, b = down;
  while (b > 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  if (a > 1) up /= a, down /= a;
  return apply(kResample, {x}, {up, down}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::fft_convolve, core::hilbert, core::resample;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SIGNAL_FILTER_H_

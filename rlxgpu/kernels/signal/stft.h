// Spectra of short pieces: stft istft, power spectra, welch's power spectral density and its peaks.
//
//   Tensor X = stft(x, {.length = 1024, .hop = 256});      // x: (..., samples), X: (..., pieces, 513) c64
//   Tensor y = istft(X, samples, {.length = 1024, .hop = 256});   // x again
//
// Pieces are centred on samples 0, hop, 2 hop, ...; beyond its ends the signal is mirrored. Without `centre` they start
// there, and what does not fill a piece is left out.
#ifndef RLXGPU_KERNELS_SIGNAL_STFT_H_
#define RLXGPU_KERNELS_SIGNAL_STFT_H_

#include "rlxgpu/kernels/elementwise/angles.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/elementwise/complex.h"
#include "rlxgpu/kernels/elementwise/logic.h"
#include "rlxgpu/kernels/elementwise/select.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/movement/concat.h"
#include "rlxgpu/kernels/movement/expand.h"
#include "rlxgpu/kernels/movement/generate.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/pad.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/signal/frames.h"
#include "rlxgpu/kernels/signal/window.h"

namespace rlxgpu::core {

// The angle of a complex number, in (-pi, pi].
constexpr Tensor angle(Tensor z, Site site = std::source_location::current()) {
  return atan2(imag(z, site), Rhs(real(z, site), site));
}
// |z|^2.
constexpr Tensor power(Tensor z, Site site = std::source_location::current()) {
  return real(mul(z, Rhs(conj(z, site), site)), site);
}

struct StftOptions {
  int64_t length = 400, hop = 160;
  Window window = Window::hann;
  bool centre = true;
};

// Lists for pad and slice that leave all axes but the last alone.
constexpr IntList last_axis(const Tensor& x, int64_t value, int64_t others = 0) {
  IntList list;
  for (int axis = 0; axis + 1 < x.shape().rank(); ++axis) list.push_back(others);
  list.push_back(value);
  return list;
}

constexpr Tensor windowed_frames(Tensor x, const StftOptions& o, Site site) {
  if (!x.valid() || x.shape().rank() == 0) return frames(x, o.length, o.hop, site);
  if (o.centre) x = pad(x, last_axis(x, o.length / 2), last_axis(x, o.length / 2), PadMode::reflect, 0, site);
  const Tensor pieces = frames(x, o.length, o.hop, site);
  return mul(pieces, Rhs(window(x.builder(), o.window, o.length, true, site), site));
}

constexpr Tensor stft(Tensor x, const StftOptions& o = {}, Site site = std::source_location::current()) {
  return rfft(windowed_frames(x, o, site), -1, {}, site);
}

// The signal of `samples` samples whose stft is closest to X. Where no window reaches, it is zero.
constexpr Tensor istft(Tensor X, int64_t samples, const StftOptions& o = {},
                       Site site = std::source_location::current()) {
  if (!X.valid() || X.shape().rank() < 2) return apply(kOverlapAdd, {X}, {o.hop, 0, samples}, site);
  Builder& g = X.builder();
  const Tensor w = window(g, o.window, o.length, true, site);
  const Tensor pieces = mul(irfft(X, o.length, -1, {}, site), Rhs(w, site));
  const int64_t offset = o.centre ? o.length / 2 : 0, count = X.shape()[X.shape().rank() - 2];
  const Tensor squares = expand(mul(w, Rhs(w, site)), {count, o.length}, site);
  const Tensor weight = overlap_add(squares, o.hop, offset, samples, site);
  const Tensor sum = overlap_add(pieces, o.hop, offset, samples, site);
  return where(gt(weight, Rhs(1e-8, site)), Rhs(div(sum, Rhs(max(weight, Rhs(1e-8, site)), site)), site),
               Rhs(0.0, site));
}

struct WelchOptions {
  int64_t length = 256, hop = 128;
  Window window = Window::hann;
  double sample_rate = 1;
};

// Power spectral density, one-sided: the mean of |X|^2 over pieces, per unit of frequency. x: (..., samples), result:
// (..., length / 2 + 1). The mean of a piece is not taken away (SciPy: detrend=False).
constexpr Tensor welch(Tensor x, const WelchOptions& o = {}, Site site = std::source_location::current()) {
  const Tensor spectra = power(stft(x, {o.length, o.hop, o.window, false}, site), site);
  if (!spectra.valid()) return spectra;
  const int64_t bins = o.length / 2 + 1;
  double energy = 0;
  for (int64_t k = 0; k < o.length; ++k) {
    const double w = window_weight(o.window, k, o.length);
    energy += w * w;
  }
  Vec<uint32_t> words;
  for (int64_t k = 0; k < bins; ++k) {
    const bool both = k > 0 && 2 * k != o.length;  // a bin that stands for its mirror image, too
    words.push_back(word_of((both ? 2 : 1) / (energy * o.sample_rate), f32));
  }
  const Tensor scale = x.builder().constant(f32, {bins}, {words.data(), words.size()}, site);
  return mul(mean(spectra, {-2}, {}, site), Rhs(scale, site));
}

struct Peaks {
  Tensor values;   // (..., k), the greatest first; -infinity where there are not so many
  Tensor indices;  // (..., k) u32
};

inline constexpr int64_t kMostPeaks = kMaxOperands;  // they are put together by one concat

// The k greatest local maxima along the last axis: elements above the one before and not below the one after.
constexpr Peaks peaks(Tensor x, int64_t k, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  if (x.valid() && x.shape().rank() < 1) g.fail(site, "peaks: needs rank 1 at least");
  if (k < 1 || k > kMostPeaks) g.fail(site, "peaks: ", k, " is not between 1 and ", kMostPeaks);
  if (!x.valid() || !g.ok()) return {{&g, -1}, {&g, -1}};
  const double least = -static_cast<double>(__builtin_inff());
  const Tensor none = g.literal(least, f32);
  const auto beside = [&](int64_t before, int64_t after) {  // the neighbours, as if those beyond the ends were lowest
    return pad(x, last_axis(x, before), last_axis(x, after), PadMode::constant, least, site);
  };
  const Tensor is_peak = logical_and(gt(x, Rhs(beside(1, -1), site)), Rhs(ge(x, Rhs(beside(-1, 1), site)), site));
  Tensor rest = where(is_peak, Rhs(x, site), Rhs(none, site));
  const Tensor places = iota(g, i32, x.shape()[x.shape().rank() - 1], 0, 1, site);
  Tensor values[kMostPeaks], indices[kMostPeaks];
  for (int64_t i = 0; i < k; ++i) {
    const Tensor at = argmax(rest, -1, {.keep_dims = true}, site);
    values[i] = reduce_max(rest, {-1}, {.keep_dims = true}, site);
    indices[i] = at;
    rest = where(eq(cast(at, i32, site), Rhs(places, site)), Rhs(none, site), Rhs(rest, site));
  }
  const auto count = static_cast<size_t>(k);
  return {concat(std::span<const Tensor>(values, count), -1, site),
          concat(std::span<const Tensor>(indices, count), -1, site)};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Peaks, core::StftOptions, core::WelchOptions, core::angle, core::istft, core::peaks, core::power,
    core::stft, core::welch;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SIGNAL_STFT_H_

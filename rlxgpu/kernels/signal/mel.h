// Bands of frequencies as ears hear them: mel_bands of a power spectrum, and log_mel of a signal.
//
//   Tensor y = log_mel(x);      // x: (..., samples) at 16 kHz, y: (..., pieces, 80): the input of speech recognisers
//
// log_mel is three dispatches: windowed transforms that store powers; bands and their logarithms; the floor 8 below the
// greatest of a clip (the last axis of x), and (v + 4) / 4. Bands are triangles on Slaney's scale (linear to 1 kHz,
// then logarithmic), of equal area, computed in double precision when the program is loaded.
#ifndef RLXGPU_KERNELS_SIGNAL_MEL_H_
#define RLXGPU_KERNELS_SIGNAL_MEL_H_

#include <cmath>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/signal/stft.h"

namespace rlxgpu::core {

struct MelOptions {
  int64_t sample_rate = 16000, mels = 80, lowest = 0, highest = 0;  // in Hz; highest 0: half the sample rate
};

inline constexpr KernelFile kMelFile(
#include "rlxgpu/kernels/signal/mel.wgsl"
);
inline constexpr KernelFile kLogMelFinishFile(
#include "rlxgpu/kernels/signal/log_mel_finish.wgsl"
);

namespace signal {

inline double mel_of(double hz) { return hz < 1000 ? hz * 3 / 200 : 15 + 27 * std::log(hz / 1000) / std::log(6.4); }
inline double hz_of(double mel) { return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27); }

// What a band makes of a bin: a triangle over the centres of its neighbours, of area 1 (in Hz).
inline double mel_weight(int64_t band, int64_t bin, int64_t length, const MelOptions& o) {
  const double high = o.highest > 0 ? static_cast<double>(o.highest) : static_cast<double>(o.sample_rate) / 2;
  const double from = mel_of(static_cast<double>(o.lowest)),
               step = (mel_of(high) - from) / static_cast<double>(o.mels + 1);
  const double left = hz_of(from + step * static_cast<double>(band)),
               middle = hz_of(from + step * static_cast<double>(band + 1)),
               right = hz_of(from + step * static_cast<double>(band + 2));
  const double hz = static_cast<double>(bin) * static_cast<double>(o.sample_rate) / static_cast<double>(length);
  const double up = (hz - left) / (middle - left), down = (right - hz) / (right - middle);
  const double height = up < down ? up : down;
  return height > 0 ? height * 2 / (right - left) : 0;
}

// Attributes, and arguments of the table: length of the transform, sample rate, mels, lowest, highest.
inline void fill_mel(std::span<const int64_t> args, std::span<uint32_t> words) {
  const MelOptions o = {args[1], args[2], args[3], args[4]};
  const int64_t bins = args[0] / 2 + 1;
  for (int64_t band = 0; band < o.mels; ++band) {
    int64_t first = bins, last = -1;
    for (int64_t bin = 0; bin < bins; ++bin) {
      const double weight = mel_weight(band, bin, args[0], o);
      words[static_cast<size_t>(2 * o.mels + band * bins + bin)] = std::bit_cast<uint32_t>(static_cast<float>(weight));
      if (weight <= 0) continue;
      first = first < bin ? first : bin, last = bin;
    }
    words[static_cast<size_t>(2 * band)] = static_cast<uint32_t>(last < 0 ? 0 : first);
    words[static_cast<size_t>(2 * band + 1)] = static_cast<uint32_t>(last < 0 ? 0 : last - first + 1);
  }
}

constexpr void mel_infer(Infer& infer) {
  Shape shape = infer.shape(0);
  const int64_t bins = infer.attr(0) / 2 + 1;
  if (infer.dtype(0) != f32) return infer.fail("takes f32, not ", name_of(infer.dtype(0)));
  if (shape.rank() < 2 || shape[shape.rank() - 1] != bins)
    return infer.fail("needs (..., pieces, ", bins, ") for transforms of ", infer.attr(0), " points");
  if (infer.attr(1) < 1 || infer.attr(2) < 1)
    return infer.fail("the sample rate and the number of bands must be 1 at least");
  shape.set(shape.rank() - 1, infer.attr(2));
  infer.result(f32, shape);
}

// With `logs`, their greatest in each workgroup goes to `greatest`; returns the workgroups of a clip.
struct MelSizes {
  int64_t clips = 1, count = 1, groups = 1;
};
constexpr MelSizes mel_sizes(const Call& call) {
  const Shape& shape = call.result().shape;
  MelSizes sizes;
  sizes.count = shape.count(shape.rank() - 2, shape.rank());
  sizes.clips = shape.count(0, shape.rank() - 2);
  sizes.groups = ceil_div(sizes.count, 64 * 16);
  return sizes;
}
constexpr void emit_bands(Emit& e, Ref to, bool logs, Ref greatest) {
  const MelSizes sizes = mel_sizes(e.call());
  const int64_t bins = e.attr(0) / 2 + 1, mels = e.attr(2);
  const FoldedGrid grid = fold_grid(sizes.clips * sizes.groups, e.target().max_groups);
  const Table table = {fill_mel, {e.attr(0), e.attr(1), mels, e.attr(3), e.attr(4)}};
  Dispatch dispatch = e.dispatch(kMelFile);
  dispatch.number("kCount", sizes.count)
      .number("kBins", bins)
      .number("kMels", mels)
      .number("kEach", 16)
      .number("kLanes", 64)
      .number("kGroups", sizes.groups)
      .number("kAll", sizes.clips * sizes.groups)
      .input("x", e.operand(0))
      .output("y", to)
      .raw("table", e.table(u32, {2 * mels + mels * bins}, table))
      .flag("LOG", logs);
  if (logs) dispatch.raw("greatest", greatest, true);
  dispatch.grid(grid.row, grid.rows);
}

constexpr void mel_emit(Emit& e) { emit_bands(e, e.result(), false, {}); }

constexpr void log_mel_emit(Emit& e) {
  const MelSizes sizes = mel_sizes(e.call());
  const int64_t all = sizes.clips * sizes.count;
  const Ref logs = e.scratch(f32, {all}), greatest = e.scratch(f32, {sizes.clips * sizes.groups});
  emit_bands(e, logs, true, greatest);
  const FoldedGrid grid = fold_grid(ceil_div(all, 64 * 16), e.target().max_groups);
  e.dispatch(kLogMelFinishFile)
      .number("kCount", sizes.count)
      .number("kAll", all)
      .number("kGroups", sizes.groups)
      .input("x", logs)
      .raw("greatest", greatest)
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

template <bool kLog>
inline void mel_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const MelOptions o = {call.attr(1), call.attr(2), call.attr(3), call.attr(4)};
  const int64_t bins = call.attr(0) / 2 + 1, rows = x.count() / bins, pieces = x.shape[x.shape.rank() - 2];
  std::vector<double> weights(static_cast<size_t>(o.mels * bins));
  for (int64_t i = 0; i < o.mels * bins; ++i)
    weights[static_cast<size_t>(i)] = mel_weight(i / bins, i % bins, call.attr(0), o);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t band = 0; band < o.mels; ++band) {
      double sum = 0;
      for (int64_t bin = 0; bin < bins; ++bin)
        sum += x[row * bins + bin] * weights[static_cast<size_t>(band * bins + bin)];
      y[row * o.mels + band] = kLog ? std::log10(sum > 1e-10 ? sum : 1e-10) : sum;
    }
  }
  if (!kLog) return;
  const int64_t count = pieces * o.mels;
  for (int64_t clip = 0; clip * count < y.count(); ++clip) {
    double most = y[clip * count];
    for (int64_t i = 0; i < count; ++i) most = most > y[clip * count + i] ? most : y[clip * count + i];
    for (int64_t i = clip * count; i < (clip + 1) * count; ++i) y[i] = ((y[i] > most - 8 ? y[i] : most - 8) + 4) / 4;
  }
}

inline constexpr Variant kMelVariants[] = {{"bands", nullptr, mel_emit}};
inline constexpr Variant kLogMelVariants[] = {{"bands", nullptr, log_mel_emit}};

}  // namespace signal

inline constexpr OpDef kMelBands = {
    .name = "mel_bands",
    .infer = signal::mel_infer,
    .variants = signal::kMelVariants,
    .absorbs_after = true,
    .reference = signal::mel_reference<false>,
};
inline constexpr OpDef kLogMel = {
    .name = "log_mel",
    .infer = signal::mel_infer,
    .variants = signal::kLogMelVariants,
    .absorbs_after = true,
    .reference = signal::mel_reference<true>,
};

// power: (..., pieces, length / 2 + 1), of transforms of `length` points. Result: (..., pieces, mels).
constexpr Tensor mel_bands(Tensor power, int64_t length, const MelOptions& o = {},
                           Site site = std::source_location::current()) {
  return apply(kMelBands, {power}, {length, o.sample_rate, o.mels, o.lowest, o.highest}, site);
}
constexpr Tensor log_mel(Tensor x, const StftOptions& pieces = {}, const MelOptions& o = {},
                         Site site = std::source_location::current()) {
  const Tensor powers = power(stft(x, pieces, site), site);
  return apply(kLogMel, {powers}, {pieces.length, o.sample_rate, o.mels, o.lowest, o.highest}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::MelOptions, core::log_mel, core::mel_bands;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SIGNAL_MEL_H_

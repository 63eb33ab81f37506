// The tables of fft.wgsl, computed in double precision when a program is loaded and rounded once.
#ifndef RLXGPU_KERNELS_FFT_TABLES_H_
#define RLXGPU_KERNELS_FFT_TABLES_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/fft/circle.h"
#include "rlxgpu/kernels/fft/plan.h"

namespace rlxgpu::core::fourier {

inline void put_complex(std::span<uint32_t> words, int64_t i, double re, double im) {
  words[static_cast<size_t>(2 * i)] = std::bit_cast<uint32_t>(static_cast<float>(re));
  words[static_cast<size_t>(2 * i + 1)] = std::bit_cast<uint32_t>(static_cast<float>(im));
}
// Entry i is e^(-2 pi i k / n).
inline void put_root(std::span<uint32_t> words, int64_t i, int64_t k, int64_t n) {
  const Turn w = turn(k, n);
  put_complex(words, i, w.cos, -w.sin);
}

// All n-th roots of unity. Arguments: n.
inline void fill_roots(std::span<const int64_t> args, std::span<uint32_t> words) {
  for (int64_t k = 0; k < args[0]; ++k) put_root(words, k, k, args[0]);
}

// e^(-pi i k^2 / n): the square is reduced before it is an angle.
inline Turn chirp_of(int64_t k, int64_t n) {
  const Turn w = turn(k * k % (2 * n), 2 * n);
  return {w.cos, -w.sin};
}

// The transform of m points, a power of two, in place, in double precision.
inline void host_fft(std::vector<double>& re, std::vector<double>& im) {
  const auto m = static_cast<int64_t>(re.size());
  for (int64_t i = 1, j = 0; i < m; ++i) {  // places with their bits reversed
    int64_t bit = m >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      std::swap(re[static_cast<size_t>(i)], re[static_cast<size_t>(j)]);
      std::swap(im[static_cast<size_t>(i)], im[static_cast<size_t>(j)]);
    }
  }
  std::vector<Turn> roots(static_cast<size_t>(m / 2 + 1));
  for (int64_t k = 0; k <= m / 2; ++k) roots[static_cast<size_t>(k)] = turn(k, m);
  for (int64_t half = 1; half < m; half *= 2) {
    for (int64_t start = 0; start < m; start += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        const Turn w = roots[static_cast<size_t>(k * (m / (2 * half)))];
        const auto a = static_cast<size_t>(start + k), b = static_cast<size_t>(start + k + half);
        const double x = re[b] * w.cos + im[b] * w.sin, y = im[b] * w.cos - re[b] * w.sin;
        re[b] = re[a] - x, im[b] = im[a] - y;
        re[a] += x, im[a] += y;
      }
    }
  }
}

// A number whose powers modulo the prime n are all numbers from 1 to n - 1.
inline int64_t primitive_root(int64_t n) {
  const auto power = [&](int64_t base, int64_t exponent) {
    int64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = base * base % n) {
      if (exponent % 2 == 1) result = result * base % n;
    }
    return result;
  };
  for (int64_t g = 2;; ++g) {
    bool all = true;
    for (int64_t p = 2, rest = n - 1; rest > 1; ++p) {
      if (rest % p != 0) continue;
      while (rest % p == 0) rest /= p;
      all = all && power(g, (n - 1) / p) != 1;
    }
    if (all) return g;
  }
}

// Powers of the root: places of the points, and backwards those of the results.
inline std::vector<int64_t> rader_places(int64_t n, bool backwards) {
  std::vector<int64_t> places(static_cast<size_t>(n - 1), 1);
  const int64_t g = primitive_root(n);
  for (size_t i = 1; i < places.size(); ++i) places[i] = places[i - 1] * g % n;
  if (backwards) std::reverse(places.begin() + 1, places.end());
  return places;
}

// The factors of one pass (plan.h), one section after another. Arguments: which, n and m of a convolution, the order of
// the step's roots, how many of them are of low digits.
inline void fill_factors(std::span<const int64_t> args, std::span<uint32_t> words) {
  const int64_t which = args[0], n = args[1], m = args[2], order = args[3], low = args[4];
  int64_t next = 0;
  for (const int section : {kChirpBefore, kChirpAfter}) {
    if ((which & section) == 0) continue;
    for (int64_t k = 0; k < n; ++k) put_complex(words, next++, chirp_of(k, n).cos, chirp_of(k, n).sin);
  }
  if ((which & kSpectrumAfter) != 0) {
    std::vector<double> re(static_cast<size_t>(m)), im(re.size());
    for (int64_t k = 0; k < n; ++k) {
      const Turn w = chirp_of(k, n);
      for (const int64_t at : {k, (m - k) % m})
        re[static_cast<size_t>(at)] = w.cos, im[static_cast<size_t>(at)] = -w.sin;
    }
    host_fft(re, im);
    const auto scale = 1 / static_cast<double>(m);
    for (size_t k = 0; k < re.size(); ++k) put_complex(words, next++, re[k] * scale, im[k] * scale);
  }
  if ((which & kRaderSpectrum) != 0) {  // of the roots in the order of the results, term by term
    const std::vector<int64_t> places = rader_places(n, true);
    std::vector<Turn> roots(static_cast<size_t>(n - 1)), given(roots.size());
    for (int64_t k = 0; k < n - 1; ++k) {
      roots[static_cast<size_t>(k)] = turn(k, n - 1);
      given[static_cast<size_t>(k)] = turn(places[static_cast<size_t>(k)], n);
    }
    for (int64_t k = 0; k < n - 1; ++k) {
      double re = 0, im = 0;
      for (int64_t j = 0; j < n - 1; ++j) {
        const Turn a = given[static_cast<size_t>(j)], w = roots[static_cast<size_t>(j * k % (n - 1))];
        re += a.cos * w.cos - a.sin * w.sin, im -= a.cos * w.sin + a.sin * w.cos;
      }
      put_complex(words, next++, re / static_cast<double>(n - 1), im / static_cast<double>(n - 1));
    }
  }
  for (const int section : {kRaderIn, kRaderOut}) {
    if ((which & section) == 0) continue;
    for (const int64_t place : rader_places(n, section == kRaderOut)) {
      words[static_cast<size_t>(2 * next++)] = static_cast<uint32_t>(place);
    }
  }
  if ((which & kStep) != 0) {
    for (int64_t k = 0; k < low; ++k) put_root(words, next++, k, order);
    for (int64_t k = 0; k * low < order; ++k) put_root(words, next++, k * low, order);
  }
}

// Up to this order a step has a table of all its roots; beyond, a root is the product of two.
inline constexpr int64_t kMostStepRoots = 65536, kStepLow = 4096;

struct FactorLayout {
  // Starts: and one more; 0: none.
  int64_t after_at = 0, step_at = 0, step_low = 1, order_in = 0, order_out = 0, count = 0;
};
constexpr FactorLayout layout_of(const Pass& pass) {
  FactorLayout layout;
  if ((pass.factors & kChirpBefore) != 0) layout.count += pass.chirp;
  if ((pass.factors & (kChirpAfter | kSpectrumAfter | kRaderSpectrum)) != 0) layout.after_at = layout.count + 1;
  if ((pass.factors & kChirpAfter) != 0) layout.count += pass.chirp;
  if ((pass.factors & kSpectrumAfter) != 0) layout.count += pass.spectrum;
  if ((pass.factors & kRaderSpectrum) != 0) layout.count += pass.chirp - 1;
  if ((pass.factors & kRaderIn) != 0) layout.order_in = layout.count + 1, layout.count += pass.chirp - 1;
  if ((pass.factors & kRaderOut) != 0) layout.order_out = layout.count + 1, layout.count += pass.chirp - 1;
  if ((pass.factors & kStep) != 0) {
    layout.step_at = layout.count + 1;
    layout.step_low = pass.step <= kMostStepRoots ? pass.step : kStepLow;
    layout.count += layout.step_low + (pass.step + layout.step_low - 1) / layout.step_low;
  }
  return layout;
}

constexpr Table factor_table(const Pass& pass) {
  return {fill_factors, {pass.factors, pass.chirp, pass.spectrum, pass.step, layout_of(pass).step_low, 0}};
}

}  // namespace rlxgpu::core::fourier

#endif  // RLXGPU_KERNELS_FFT_TABLES_H_

// What resize, grid_sample and affine_grid mean.
#ifndef RLXGPU_KERNELS_RESIZE_REFERENCE_H_
#define RLXGPU_KERNELS_RESIZE_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

inline void resize_taps(Call& call) {
  const Array &x = call.operand(0), &first = call.operand(1), &weights = call.operand(2);
  Array& y = call.result();
  const auto axis = static_cast<int>(call.attr(0));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Index to = y.index_of(i);
    Index from = to;
    for (int64_t t = 0; t < weights.shape[0]; ++t) {
      from[axis] = std::clamp<int64_t>(static_cast<int64_t>(first[to[axis]]) + t, 0, x.shape[axis] - 1);
      y[i] += weights[t * weights.shape[1] + to[axis]] * x[x.offset_of(from)];
    }
  }
}

// Back and forth between low and high.
inline double reflected(double at, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double phase = std::fmod(std::fabs(at - low), 2 * range);
  return low + (phase > range ? 2 * range - phase : phase);
}

// Attributes: mode (0 nearest, 1 linear, 2 cubic), padding (0 zeros, 1 border, 2 reflection), align_corners.
struct GridSampler {
  const Array& x;
  int64_t mode, padding;
  bool align;

  int axes() const { return x.shape.rank() - 2; }
  int64_t extent(int d) const { return x.shape[d + 2]; }
  double low() const { return align ? 0 : -0.5; }
  double high(int d) const { return static_cast<double>(extent(d)) - (align ? 1 : 0.5); }

  double place(double normal, int d) const {
    const auto n = static_cast<double>(extent(d));
    double at = align ? (normal + 1) / 2 * (n - 1) : ((normal + 1) * n - 1) / 2;
    if (mode == 0) at = std::nearbyint(at);
    if (at >= low() && at <= high(d)) return at;
    return padding == 1 ? std::clamp(at, 0.0, n - 1) : padding == 2 ? reflected(at, low(), high(d)) : at;
  }
  double pixel(Index at) const {
    for (int d = 0; d < axes(); ++d) {
      int64_t& i = at[d + 2];
      if (i >= 0 && i < extent(d)) continue;
      if (padding == 0) return 0;
      if (padding == 2) i = static_cast<int64_t>(reflected(static_cast<double>(i), low(), high(d)));
      i = std::clamp<int64_t>(i, 0, extent(d) - 1);
    }
    return x[x.offset_of(at)];
  }
  static double cubic(double distance) {
    const double a = -0.75, t = std::fabs(distance);
    return t <= 1 ? (a + 2) * t * t * t - (a + 3) * t * t + 1 : t < 2 ? a * (t * t * t - 5 * t * t + 8 * t - 4) : 0;
  }
  // Axes [d, axes()) are interpolated, those before are chosen.
  double sample(Index at, const double* places, int d) const {
    if (d == axes()) return pixel(at);
    const double whole = std::floor(places[d]);
    if (mode == 0) {
      at[d + 2] = static_cast<int64_t>(std::nearbyint(places[d]));
      return sample(at, places, d + 1);
    }
    double sum = 0;
    for (int64_t t = mode == 1 ? 0 : -1; t <= (mode == 1 ? 1 : 2); ++t) {
      const double distance = places[d] - whole - static_cast<double>(t);
      at[d + 2] = static_cast<int64_t>(whole) + t;
      sum += (mode == 1 ? 1 - std::fabs(distance) : cubic(distance)) * sample(at, places, d + 1);
    }
    return sum;
  }
};

inline void grid_sample(Call& call) {
  const Array& grid = call.operand(1);
  const GridSampler sampler{call.operand(0), call.attr(0), call.attr(1), call.attr(2) != 0};
  Array& y = call.result();
  for (int64_t i = 0; i < y.count(); ++i) {
    Index to = y.index_of(i), at;
    at[0] = to[0], at[1] = to[1];
    Index which;
    which[0] = to[0];
    double places[3] = {};
    for (int d = 0; d < sampler.axes(); ++d) which[d + 1] = to[d + 2];
    for (int d = 0; d < sampler.axes(); ++d) {
      which[sampler.axes() + 1] = sampler.axes() - 1 - d;  // x, y, z: the last axis first
      places[d] = sampler.place(grid[grid.offset_of(which)], d);
    }
    y[i] = sampler.sample(at, places, 0);
  }
}

inline void affine_grid(Call& call) {
  const Array& theta = call.operand(0);
  Array& grid = call.result();
  const bool align = call.attr(0) != 0;
  const int axes = grid.shape.rank() - 2;
  for (int64_t i = 0; i < grid.count(); ++i) {
    const Index at = grid.index_of(i);
    const int64_t row = (at[0] * axes + at[axes + 1]) * (axes + 1);
    double sum = theta[row + axes];
    for (int d = 0; d < axes; ++d) {
      const auto n = static_cast<double>(grid.shape[d + 1]), c = static_cast<double>(at[d + 1]);
      const double place = !align ? (2 * c + 1) / n - 1 : n == 1 ? 0 : 2 * c / (n - 1) - 1;
      sum += theta[row + axes - 1 - d] * place;
    }
    grid[i] = sum;
  }
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_KERNELS_RESIZE_REFERENCE_H_

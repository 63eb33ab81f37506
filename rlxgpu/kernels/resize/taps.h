// resize_axis_taps: which elements along one axis each element of a resized axis is made of, and their weights.
//
//   Taps taps = resize_taps({.axis = 2, .size = 20}, 10, {.mode = ResizeMode::linear});
//   // element o of the result: the sum over t of weights[t * 20 + o] * x[clamp(first[o] + t, 0, 9)]
//
// Computed in double precision while the graph is built, as ONNX states it, so that ties between two elements fall as
// they should and kernels only look numbers up.
#ifndef RLXGPU_KERNELS_RESIZE_TAPS_H_
#define RLXGPU_KERNELS_RESIZE_TAPS_H_

#include <cstdint>

#include "rlxgpu/base/vec.h"

namespace rlxgpu::core {

enum class ResizeMode : int64_t { nearest, linear, cubic };
// Where a nearest element lies half way between two: and floor, ceil: in every case.
enum class ResizeRounding : int64_t { prefer_floor, prefer_ceil, floor, ceil };
// Which place of x the middle of element o of the result is, s being the factor by which the axis grows:
//   half_pixel            (o + 0.5) / s - 0.5
//   half_pixel_symmetric  the same, shifted so that both ends lose as much when the extents do not fit the factor
//   pytorch_half_pixel    the same as half_pixel, but 0 when the result has one element
//   align_corners         o (n - 1) / (size - 1)
//   asymmetric            o / s
//   crop                  align_corners of the part of x from `begin` to `end`; outside x: `extrapolation`
enum class ResizeCoordinates : int64_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  crop
};

struct ResizeOptions {
  ResizeMode mode = ResizeMode::linear;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeRounding rounding = ResizeRounding::prefer_floor;  // nearest
  double cubic = -0.75;                                    // the slope of the cubic kernel at 1
  bool exclude_outside = false;  // elements outside x have no weight; otherwise x goes on as at its edge
  bool antialias = false;        // where an axis shrinks, the kernel becomes wider
  double extrapolation = 0;      // crop
};

// One axis that changes.
struct ResizeAxis {
  int axis = 0;
  int64_t size = 0;
  double scale = 0;           // 0: size over the extent of x
  double begin = 0, end = 1;  // crop: the part of x, 0 to 1
};

struct Taps {
  int64_t count = 1;    // for each element of the result
  Vec<int64_t> first;   // may lie outside
  Vec<double> weights;  // [tap][element]
  Vec<char> inside;     // crop
};

namespace internal {

constexpr double whole_below(double v) {
  const auto whole = static_cast<double>(static_cast<int64_t>(v));
  return whole > v ? whole - 1 : whole;
}

constexpr double resize_source(const ResizeAxis& axis, int64_t extent, double scale, ResizeCoordinates mode,
                               int64_t o) {
  const auto n = static_cast<double>(extent), at = static_cast<double>(o);
  const double grown = scale * n;  // the extent that the factor asks for
  switch (mode) {
    case ResizeCoordinates::half_pixel_symmetric: {
      const double fitted = static_cast<double>(axis.size) / grown;
      return n / 2 * (1 - fitted) + (at + 0.5) / scale - 0.5;
    }
    case ResizeCoordinates::pytorch_half_pixel:
      return axis.size == 1 ? -0.5 : (at + 0.5) / scale - 0.5;
    case ResizeCoordinates::align_corners:
      return axis.size == 1 ? 0 : at * (n - 1) / (grown - 1);
    case ResizeCoordinates::asymmetric:
      return at / scale;
    case ResizeCoordinates::crop:
      if (axis.size == 1) return (axis.end - axis.begin) * (n - 1) / 2 + axis.begin * (n - 1);
      return at * (axis.end - axis.begin) * (n - 1) / (grown - 1) + axis.begin * (n - 1);
    case ResizeCoordinates::half_pixel:
      break;
  }
  return (at + 0.5) / scale - 0.5;
}

constexpr double cubic_weight(double distance, double a) {
  const double x = distance < 0 ? -distance : distance;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
constexpr double linear_weight(double distance) {
  const double x = distance < 0 ? -distance : distance;
  return x < 1 ? 1 - x : 0;
}

constexpr double resize_scale(const ResizeAxis& axis, int64_t extent) {
  return axis.scale > 0 ? axis.scale : static_cast<double>(axis.size) / static_cast<double>(extent);
}
// How much the kernel shrinks: elements of x that weigh are in inverse proportion to it.
constexpr double resize_narrow(const ResizeAxis& axis, int64_t extent, const ResizeOptions& options) {
  const double scale = resize_scale(axis, extent);
  return options.antialias && scale < 1 ? scale : 1;
}
constexpr double resize_reach(ResizeMode mode) { return mode == ResizeMode::cubic ? 2 : 1; }

// A file may ask for any place: those far outside are all the same, and an i32 holds them.
constexpr double near(double source) {
  constexpr double kFar = 1 << 30;
  return source > -kFar ? (source < kFar ? source : kFar) : -kFar;
}

}  // namespace internal

// Numbers in the longer one of the tables that resize_taps makes; at most that many are supported.
inline constexpr int64_t kMostTaps = 1 << 24;
constexpr double resize_table(const ResizeAxis& axis, int64_t extent, const ResizeOptions& options) {
  const auto size = static_cast<double>(axis.size);
  if (options.mode == ResizeMode::nearest) return size;
  return 2 * internal::resize_reach(options.mode) / internal::resize_narrow(axis, extent, options) * size;
}

constexpr Taps resize_taps(const ResizeAxis& axis, int64_t extent, const ResizeOptions& options) {
  const double scale = internal::resize_scale(axis, extent);
  const double narrow = internal::resize_narrow(axis, extent, options);
  const bool nearest = options.mode == ResizeMode::nearest;
  const double reach = internal::resize_reach(options.mode) / narrow;
  const int64_t start = nearest ? 0 : static_cast<int64_t>(internal::whole_below(-reach)) + 1;
  Taps taps;
  taps.count = nearest ? 1 : 2 - 2 * start;
  taps.weights.resize(static_cast<size_t>(taps.count * axis.size), 1.0);
  for (int64_t o = 0; o < axis.size; ++o) {
    const double source = internal::resize_source(axis, extent, scale, options.coordinates, o);
    const bool crop = options.coordinates == ResizeCoordinates::crop;
    taps.inside.push_back(!crop || (source >= 0 && source <= static_cast<double>(extent - 1)));
    const double place = internal::near(source), below = internal::whole_below(place), part = place - below;
    auto left = static_cast<int64_t>(below);
    if (nearest) {
      const bool up = options.rounding == ResizeRounding::prefer_floor ? part > 0.5
                      : options.rounding == ResizeRounding::prefer_ceil
                          ? part >= 0.5
                          : options.rounding == ResizeRounding::ceil && part > 0;
      taps.first.push_back(left + (up ? 1 : 0));
      continue;
    }
    taps.first.push_back(left + start);
    double sum = 0;
    for (int64_t t = 0; t < taps.count; ++t) {
      const double distance = (static_cast<double>(start + t) - part) * narrow;
      double weight = options.mode == ResizeMode::cubic ? internal::cubic_weight(distance, options.cubic)
                                                        : internal::linear_weight(distance);
      const int64_t i = left + start + t;
      if (options.exclude_outside && (i < 0 || i >= extent)) weight = 0;
      taps.weights[static_cast<size_t>(t * axis.size + o)] = weight;
      sum += weight;
    }
    for (int64_t t = 0; t < taps.count && sum != 0; ++t) taps.weights[static_cast<size_t>(t * axis.size + o)] /= sum;
  }
  return taps;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::ResizeAxis, core::ResizeCoordinates, core::ResizeMode, core::ResizeOptions, core::ResizeRounding;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_RESIZE_TAPS_H_

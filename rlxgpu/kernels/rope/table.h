// How fast each pair of columns turns, exactly enough for any position: turns per step as a fraction of 64 bits.
#ifndef RLXGPU_KERNELS_ROPE_TABLE_H_
#define RLXGPU_KERNELS_ROPE_TABLE_H_

#include <cstdint>

namespace rlxgpu::core::rope_internal {

// Constant expressions: the standard library's are not, in C++20. x > 0.
constexpr double natural_log(double x) {
  constexpr double kLn2 = 0.693147180559945309417;
  double sum = 0;
  while (x > 1.5) x /= 2, sum += kLn2;
  while (x < 0.75) x *= 2, sum -= kLn2;
  const double z = (x - 1) / (x + 1), square = z * z;  // log x = 2 artanh z
  double power = z;
  for (int k = 1; k < 40; k += 2, power *= square) sum += 2 * power / k;
  return sum;
}
constexpr double exponential(double x) {
  double scale = 1;
  while (x < -0.5) x += 0.693147180559945309417, scale /= 2;
  while (x > 0.5) x -= 0.693147180559945309417, scale *= 2;
  double sum = 1, term = 1;
  for (int k = 1; k < 20; ++k) sum += term *= x / k;
  return sum * scale;
}

// An angle over 2 pi, such as base^(-2 pair / columns), as the bits behind the point.
struct Turns {
  uint32_t high = 0, low = 0;
  constexpr Turns(double base, int64_t pair, int64_t columns)
      : Turns(exponential(-2.0 * static_cast<double>(pair) / static_cast<double>(columns) * natural_log(base))) {}
  constexpr explicit Turns(double angle) {
    double turns = angle / 6.28318530717958647692;
    turns -= static_cast<double>(static_cast<int64_t>(turns));
    if (turns < 0) turns += 1;
    const double scaled = turns * 4294967296.0;
    high = static_cast<uint32_t>(scaled);
    low = static_cast<uint32_t>((scaled - high) * 4294967296.0);
  }
};

}  // namespace rlxgpu::core::rope_internal

#endif  // RLXGPU_KERNELS_ROPE_TABLE_H_

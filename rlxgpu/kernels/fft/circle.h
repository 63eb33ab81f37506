// turn(k, n): cosine and sine of k / n of a full turn, in double precision, at compile time or at run time.
//
//   constexpr Turn w = turn(1, 8);      // w.cos == w.sin == 0.70710678...
//
// The fraction is reduced to an eighth of a turn exactly, in integers, so that rounded to f32 the values are those
// nearest to the true ones: twiddle factors without an error of their own. (std::cos is no constant expression in
// C++20.)
#ifndef RLXGPU_KERNELS_FFT_CIRCLE_H_
#define RLXGPU_KERNELS_FFT_CIRCLE_H_

#include <cstdint>

namespace rlxgpu::core {

struct Turn {
  double cos = 1, sin = 0;
};

constexpr Turn turn(int64_t k, int64_t n) {
  k %= n;
  if (k < 0) k += n;
  const int64_t eighth = 8 * k / n;
  int64_t rest = 8 * k - eighth * n;  // n-ths of an eighth
  if (eighth % 2 == 1) rest = n - rest;
  const double a = 0.78539816339744830962 * (static_cast<double>(rest) / static_cast<double>(n)), square = a * a;
  double c = 1, s = 1;  // Taylor series, to terms below 1e-18
  for (int i = 8; i > 0; --i) {
    c = 1 - c * square / ((2 * i) * (2 * i - 1));
    s = 1 - s * square / ((2 * i) * (2 * i + 1));
  }
  s *= a;
  switch (eighth) {
    case 0:
      return {c, s};
    case 1:
      return {s, c};
    case 2:
      return {-s, c};
    case 3:
      return {-c, s};
    case 4:
      return {-c, -s};
    case 5:
      return {-s, -c};
    case 6:
      return {s, -c};
    default:
      return {c, -s};
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_FFT_CIRCLE_H_

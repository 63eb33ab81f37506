// What each elementwise op means, for one element, in double precision.
//
// f(double) is for floats, f_integers(int64_t) for integers where doubles would round or the rule differs,
// f_complex for c64. Integer results wrap to their dtype afterwards.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_REFERENCE_H_
#define RLXGPU_KERNELS_ELEMENTWISE_REFERENCE_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "rlxgpu/kernels/elementwise/map_reference.h"

namespace rlxgpu::core::reference {

inline double neg(double x) { return -x; }
inline Complex neg_complex(Complex x) { return {-x.re, -x.im}; }
inline double abs(double x) { return std::fabs(x); }
inline double abs_complex(Complex x) { return std::hypot(x.re, x.im); }
inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline double recip(double x) { return 1 / x; }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double tan(double x) { return std::tan(x); }
inline double asin(double x) { return std::asin(x); }
inline double acos(double x) { return std::acos(x); }
inline double atan(double x) { return std::atan(x); }
inline double sinh(double x) { return std::sinh(x); }
inline double cosh(double x) { return std::cosh(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double round(double x) { return std::nearbyint(x); }  // half to even, the default mode
inline double floor(double x) { return std::floor(x); }
inline double ceil(double x) { return std::ceil(x); }
inline double trunc(double x) { return std::trunc(x); }
inline double is_nan(double x) { return std::isnan(x); }
inline double is_inf(double x) { return std::isinf(x); }
inline double logical_not(double x) { return x == 0; }
inline int64_t bit_not(int64_t x) { return ~x; }

inline Complex conj(Complex x) { return {x.re, -x.im}; }
inline double real(Complex x) { return x.re; }
inline double imag(Complex x) { return x.im; }
inline Complex complex(double re, double im) { return {re, im}; }

// Activations. Formulas that stay finite for large |x| are the definition, not an optimisation.
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
inline double log_sigmoid(double x) { return -softplus(-x); }
inline double gelu(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }
inline double gelu_tanh(double x) {
  return x * sigmoid(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
}
inline double silu(double x) { return x / (1 + std::exp(-x)); }
inline double relu(double x) { return x < 0 ? 0 : x; }
inline double selu(double x) { return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x); }
inline double mish(double x) { return x * std::tanh(softplus(x)); }
inline double hard_swish(double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }

inline double add(double a, double b) { return a + b; }
inline Complex add_complex(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline double sub(double a, double b) { return a - b; }
inline Complex sub_complex(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline double mul(double a, double b) { return a * b; }
inline int64_t mul_integers(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline Complex mul_complex(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline double div(double a, double b) { return a / b; }
inline int64_t div_integers(int64_t a, int64_t b) { return b == 0 ? a : a / b; }
inline Complex div_complex(Complex a, Complex b) {
  const double norm = b.re * b.re + b.im * b.im;
  return {(a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm};
}
inline double max(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : a > b ? a : b; }
inline double min(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : a < b ? a : b; }
inline double pow(double a, double b) { return std::pow(a, b); }
inline double mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
inline int64_t mod_integers(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
inline double atan2(double a, double b) { return std::atan2(a, b); }

inline int64_t bit_and(int64_t a, int64_t b) { return a & b; }
inline int64_t bit_or(int64_t a, int64_t b) { return a | b; }
inline int64_t bit_xor(int64_t a, int64_t b) { return a ^ b; }
inline int64_t shift_left(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 31)); }
inline int64_t shift_right(int64_t a, int64_t b) { return a >> (b & 31); }
inline double logical_and(double a, double b) { return a != 0 && b != 0; }
inline double logical_or(double a, double b) { return a != 0 || b != 0; }
inline double logical_xor(double a, double b) { return (a != 0) != (b != 0); }

inline double eq(double a, double b) { return a == b; }
inline double eq_complex(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
inline double ne(double a, double b) { return a != b; }
inline double ne_complex(Complex a, Complex b) { return a.re != b.re || a.im != b.im; }
inline double lt(double a, double b) { return a < b; }
inline double le(double a, double b) { return a <= b; }
inline double gt(double a, double b) { return a > b; }
inline double ge(double a, double b) { return a >= b; }

inline double clamp(double x, double low, double high) { return min(max(x, low), high); }
inline double fma(double a, double b, double c) { return a * b + c; }
inline int64_t fma_integers(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(c));
}

// A float becomes an integer by dropping its fraction; what does not fit becomes the nearest that does, NaN 0.
inline double saturate(double x, DType dtype) {
  const double low = dtype == i32 ? -2147483648.0 : dtype == i8 ? -128.0 : 0.0;
  const double high = dtype == i32 ? 2147483647.0 : dtype == u32 ? 4294967295.0 : dtype == i8 ? 127.0 : 255.0;
  return std::isnan(x) ? 0 : x < low ? low : x > high ? high : std::trunc(x);
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_KERNELS_ELEMENTWISE_REFERENCE_H_

// Codelet writes a Fourier transform of a few points as straight WGSL, all of it in registers.
//
//   Codelet code(out);
//   const Vec<int> y = code.dft(x);      // x, y: numbers of variables a1, a2, ... of type vec2f
//
// Composite lengths are split (Cooley-Tukey); twiddle factors are literals, rounded once from double precision. Odd
// primes are summed directly over pairs of points, which halves the products. Good for lengths to about 128.
#ifndef RLXGPU_KERNELS_FFT_CODELET_H_
#define RLXGPU_KERNELS_FFT_CODELET_H_

#include <bit>
#include <cstdint>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/kernels/fft/circle.h"

namespace rlxgpu::core {

// The nearest f32, as WGSL that loses no digit.
struct FloatLiteral {
  double value = 0;
};
constexpr Text& operator<<(Text& out, FloatLiteral literal) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(literal.value));
  if ((bits & 0x7fffffffu) == 0) return out << "0.0f";
  out << (bits >> 31 != 0 ? "-0x1." : "0x1.");
  for (int shift = 20; shift >= 0; shift -= 4) out << "0123456789abcdef"[(bits << 1) >> shift & 15];
  const int exponent = static_cast<int>(bits >> 23 & 255) - 127;
  return out << (exponent < 0 ? "p" : "p+") << exponent << 'f';
}

class Codelet {
 public:
  constexpr explicit Codelet(Text& out) : out_(out) {}

  // Names an expression.
  template <typename... Parts>
  constexpr int let(const Parts&... parts) {
    out_ << "  let a" << ++last_ << " = ";
    ((out_ << parts), ...);
    out_ << ";\n";
    return last_;
  }
  struct Var {
    int id;
    friend constexpr Text& operator<<(Text& out, Var v) { return out << 'a' << v.id; }
  };

  constexpr Vec<int> dft(const Vec<int>& x) {
    const auto n = static_cast<int>(x.size());
    if (n == 1) return x;
    if (n == 2) return {add(x[0], x[1]), sub(x[0], x[1])};
    if (n == 4) return dft4(x);
    const int r = radix_of(n);
    if (r == n) return dft_prime(x);
    const int s = n / r;  // point s n1 + n2 goes to k1 + r k2
    Vec<int> middle, y;
    middle.resize(x.size()), y.resize(x.size());
    for (int n2 = 0; n2 < s; ++n2) {
      Vec<int> part;
      for (int n1 = 0; n1 < r; ++n1) part.push_back(x[at(s * n1 + n2)]);
      part = dft(part);
      for (int k1 = 0; k1 < r; ++k1) middle[at(k1 * s + n2)] = twiddled(part[at(k1)], k1 * n2, n);
    }
    for (int k1 = 0; k1 < r; ++k1) {
      Vec<int> part;
      for (int n2 = 0; n2 < s; ++n2) part.push_back(middle[at(k1 * s + n2)]);
      part = dft(part);
      for (int k2 = 0; k2 < s; ++k2) y[at(k1 + r * k2)] = part[at(k2)];
    }
    return y;
  }

 private:
  static constexpr size_t at(int i) { return static_cast<size_t>(i); }
  constexpr int add(int a, int b) { return let(Var{a}, " + ", Var{b}); }
  constexpr int sub(int a, int b) { return let(Var{a}, " - ", Var{b}); }
  constexpr int minus_i(int a) { return let("vec2f(", Var{a}, ".y, -", Var{a}, ".x)"); }

  static constexpr int radix_of(int n) {
    if (n >= 128 && n % 16 == 0) return 16;
    if (n >= 32 && n % 8 == 0) return 8;
    for (const int r : {4, 2, 3, 5, 7, 11, 13}) {
      if (n % r == 0) return r;
    }
    return n;
  }

  // a times e^(-2 pi i k / n).
  constexpr int twiddled(int a, int k, int n) {
    k %= n;
    if (k == 0) return a;
    if (4 * k == n) return minus_i(a);
    if (2 * k == n) return let("-", Var{a});
    if (4 * k == 3 * n) return let("vec2f(-", Var{a}, ".y, ", Var{a}, ".x)");
    const Turn w = turn(k, n);
    if (8 * k == n)
      return let("vec2f(", Var{a}, ".x + ", Var{a}, ".y, ", Var{a}, ".y - ", Var{a}, ".x) * ", FloatLiteral{w.cos});
    if (8 * k == 3 * n)
      return let("vec2f(", Var{a}, ".y - ", Var{a}, ".x, -", Var{a}, ".x - ", Var{a}, ".y) * ", FloatLiteral{w.sin});
    return let(Var{a}, " * ", FloatLiteral{w.cos}, " + vec2f(", Var{a}, ".y, -", Var{a}, ".x) * ", FloatLiteral{w.sin});
  }

  constexpr Vec<int> dft4(const Vec<int>& x) {
    const int a = add(x[0], x[2]), b = sub(x[0], x[2]), c = add(x[1], x[3]), d = minus_i(sub(x[1], x[3]));
    return {add(a, c), add(b, d), sub(a, c), sub(b, d)};
  }

  constexpr Vec<int> dft_prime(const Vec<int>& x) {
    const auto n = static_cast<int>(x.size());
    Vec<int> sums, differences, y;
    for (int j = 1; 2 * j < n; ++j) {
      sums.push_back(add(x[at(j)], x[at(n - j)]));
      differences.push_back(sub(x[at(j)], x[at(n - j)]));
    }
    y.resize(x.size());
    Text text;
    text << Var{x[0]};
    for (const int sum : sums) text << " + " << Var{sum};
    y[0] = let(text);
    for (int k = 1; 2 * k < n; ++k) {
      Text even, odd;
      even << Var{x[0]};
      for (int j = 1; 2 * j < n; ++j) {
        const Turn w = turn(j * k, n);
        even << " + " << Var{sums[at(j - 1)]} << " * " << FloatLiteral{w.cos};
        odd << (j > 1 ? " + " : "") << Var{differences[at(j - 1)]} << " * " << FloatLiteral{w.sin};
      }
      const int a = let(even), b = minus_i(let(odd));
      y[at(k)] = add(a, b), y[at(n - k)] = sub(a, b);
    }
    return y;
  }

  Text& out_;
  int last_ = 0;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_FFT_CODELET_H_

// matmul_integer(a, b, a_zero, b_zero): sums of (a - a_zero) (b - b_zero) over 8-bit integers, exactly, as i32.
// quantized_matmul(a, b, quantization): the same, requantised to 8 bits: round(sum * scale) + zero, saturating.
//
//   Tensor y = quantized_matmul(x, w, {.a_zero = 3, .scale = scales, .zero = -5});     // i8; scales: (n) or a number
//
// a and b: i8 or u8, each as it likes. a_zero is a number or i32 (..., m, 1); b_zero a number or i32 (n). The product is
// taken of the integers as they are; the sums of rows of a and columns of b, which zero points need, and the
// requantisation join it.
#ifndef RLXGPU_KERNELS_MATMUL_QUANTIZED_H_
#define RLXGPU_KERNELS_MATMUL_QUANTIZED_H_

#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/elementwise/unary.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {

namespace internal {

constexpr bool is_zero(const Rhs& zero) { return zero.is_number && zero.number == 0; }
constexpr Tensor zero_tensor(const Rhs& zero, Builder& builder) {
  return zero.is_number ? builder.literal(zero.number, i32) : zero.tensor;
}
// u8 as i8: 128 less.
constexpr Tensor as_i8(Tensor x, Rhs& zero, Site site) {
  if (x.dtype() != u8) return x;
  zero = zero.is_number ? Rhs(zero.number - 128, site) : Rhs(zero.tensor - Rhs(128, site), site);
  return cast(cast(x, i32, site) - Rhs(128, site), i8, site);
}

}  // namespace internal

constexpr Tensor matmul_integer(Tensor a, Tensor b, Rhs a_zero = 0, Rhs b_zero = 0,
                                Site site = std::source_location::current()) {
  if (!a.valid() || !b.valid()) return a.valid() ? b : a;
  Builder& builder = a.builder();
  const auto is_byte = [](DType dtype) { return dtype == i8 || dtype == u8; };
  if (!is_byte(a.dtype()) || !is_byte(b.dtype()) || a.shape().rank() < 2 || b.shape().rank() < 2) {
    builder.fail(site, "matmul_integer(", name_of(a.dtype()), a.shape(), ", ", name_of(b.dtype()), b.shape(),
                 "): needs matrices of i8 or u8");
    return {&builder, -1};
  }
  const int64_t k = a.shape()[a.shape().rank() - 1];
  a = internal::as_i8(a, a_zero, site), b = internal::as_i8(b, b_zero, site);
  Tensor y = matmul(a, b, site);
  const bool of_a = !internal::is_zero(a_zero), of_b = !internal::is_zero(b_zero);
  const Tensor za = internal::zero_tensor(a_zero, builder), zb = internal::zero_tensor(b_zero, builder);
  if (of_b) y = y - Rhs(sum(cast(a, i32, site), -1, {.keep_dims = true}, site) * Rhs(zb, site), site);
  if (of_a) y = y - Rhs(sum(cast(b, i32, site), -2, {.keep_dims = true}, site) * Rhs(za, site), site);
  if (of_a && of_b) y = y + Rhs(za * Rhs(zb, site) * Rhs(static_cast<int>(k), site), site);
  return y;
}

struct Quantization {
  Rhs a_zero = 0, b_zero = 0;
  Rhs scale = 1.0f;  // of a, times that of b, over that of the result: a number, or f32 (n)
  int zero = 0;      // of the result
  DType dtype = i8;  // of the result, or u8
};

// `sums`: i32.
constexpr Tensor requantize(Tensor sums, Rhs scale, int zero, DType dtype, Site site = std::source_location::current()) {
  return cast(round(cast(sums, f32, site) * scale, site) + Rhs(zero, site), dtype, site);
}

constexpr Tensor quantized_matmul(Tensor a, Tensor b, const Quantization& q, Site site = std::source_location::current()) {
  return requantize(matmul_integer(a, b, q.a_zero, q.b_zero, site), q.scale, q.zero, q.dtype, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Quantization, core::matmul_integer, core::quantized_matmul, core::requantize;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MATMUL_QUANTIZED_H_

// Half and BFloat16: the 16-bit floats as storage, converted with round to nearest even.
//
//   Half h(1.5f);  float f = h;
//
// Arithmetic is not offered: everything is computed in f32 and rounded when stored.
#ifndef RLXGPU_BASE_HALF_H_
#define RLXGPU_BASE_HALF_H_

#include <bit>
#include <cstdint>

#include "rlxgpu/base/cpp20.h"

namespace rlxgpu::core {

constexpr uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds beyond 65504
  if (magnitude < 0x33000001u) return static_cast<uint16_t>(sign);             // half the least subnormal
  const uint32_t exponent = magnitude >> 23;
  const bool normal = exponent >= 113;
  const uint32_t mantissa = (magnitude & 0x7fffffu) | (normal ? 0 : 0x800000u);
  const uint32_t shift = normal ? 13 : 126 - exponent;
  const uint32_t base = normal ? ((exponent - 112) << 10) : 0;
  const uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
  uint32_t result = base + (mantissa >> shift);
  if (rest > half || (rest == half && (result & 1))) ++result;
  return static_cast<uint16_t>(sign | result);
}

constexpr float half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

constexpr uint16_t bfloat16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

constexpr float bfloat16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

struct Half {
  uint16_t bits = 0;
  constexpr Half() = default;
  constexpr explicit Half(float value) : bits(half_bits(value)) {}
  constexpr operator float() const { return half_value(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  constexpr BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(bfloat16_bits(value)) {}
  constexpr operator float() const { return bfloat16_value(bits); }
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::BFloat16, core::Half;
}  // namespace rlxgpu

#endif  // RLXGPU_BASE_HALF_H_

// SmallFloat: floats of 8 bits or fewer, as the OCP and ONNX name them, and what their codes mean.
//
//   small_float_value(0x38, SmallFloat::e4m3fn) == 1.0
#ifndef RLXGPU_BASE_SMALL_FLOAT_H_
#define RLXGPU_BASE_SMALL_FLOAT_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "rlxgpu/base/cpp20.h"

namespace rlxgpu::core {

// fn: finite, with NaN; uz: one zero, NaN where the other would be.
enum class SmallFloat : int64_t { e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e8m0, e2m1 };
// Of E8M0, away from what is between two powers.
enum class PowerRounding : int64_t { down, up, nearest };

struct SmallFloatFormat {
  uint32_t mantissa = 3, bias = 7;
  uint32_t sign = 128;       // the bit
  uint32_t most = 0x7e;      // the greatest number
  uint32_t infinity = 0x7f;  // where the format has none: NaN
  uint32_t nan = 0x7f;
  bool one_zero = false, four = false;
};
constexpr SmallFloatFormat format_of(SmallFloat format) {
  switch (format) {
    case SmallFloat::e4m3fnuz:
      return {3, 8, 128, 0x7f, 0x80, 0x80, true, false};
    case SmallFloat::e5m2:
      return {2, 15, 128, 0x7b, 0x7c, 0x7e, false, false};
    case SmallFloat::e5m2fnuz:
      return {2, 16, 128, 0x7f, 0x80, 0x80, true, false};
    case SmallFloat::e2m1:
      return {1, 1, 8, 7, 7, 8, false, true};
    case SmallFloat::e4m3fn:
    case SmallFloat::e8m0:
      break;
  }
  return {};
}

// 2 to this power, which must be a normal double.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// The number that a code means, exactly.
constexpr double small_float_value(uint32_t code, SmallFloat format) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (format == SmallFloat::e8m0) return code == 0xff ? kNan : power_of_two(static_cast<int>(code) - 127);
  const SmallFloatFormat f = format_of(format);
  const uint32_t magnitude = code & (f.sign - 1);
  const bool negative = (code & f.sign) != 0;
  if (!f.four && (f.one_zero ? code == f.nan : magnitude > f.most)) {
    const bool infinite = f.infinity != f.nan && magnitude == f.infinity;
    return !infinite ? kNan : (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
  }
  const uint32_t exponent = magnitude >> f.mantissa, fraction = magnitude & ((1u << f.mantissa) - 1);
  const double digits = exponent == 0 ? fraction : fraction + (1u << f.mantissa);
  const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - static_cast<int>(f.bias + f.mantissa);
  return (negative ? -1 : 1) * digits * power_of_two(power);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_BASE_SMALL_FLOAT_H_

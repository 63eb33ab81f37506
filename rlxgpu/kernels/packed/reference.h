// What codes of small floats, and bytes that hold several numbers, mean.
#ifndef RLXGPU_KERNELS_PACKED_REFERENCE_H_
#define RLXGPU_KERNELS_PACKED_REFERENCE_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "rlxgpu/base/small_float.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

// The code whose value is nearest, of two equally near ones the even one: found by looking at all of them.
inline uint32_t small_float_code(double x, SmallFloat format, bool saturate) {
  const SmallFloatFormat f = format_of(format);
  const uint32_t sign = std::signbit(x) ? f.sign : 0;
  if (std::isnan(x)) return f.nan | sign;
  const double magnitude = std::fabs(x);
  uint32_t best = 0;
  for (uint32_t code = 1; code <= f.most; ++code) {
    const double now = std::fabs(small_float_value(code, format) - magnitude),
                 before = std::fabs(small_float_value(best, format) - magnitude);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  // Half a step above the greatest number (a tie goes to the even code) begins what does not fit.
  const double most = small_float_value(f.most, format), step = most - small_float_value(f.most - 1, format);
  const bool beyond = std::isinf(x) || magnitude > most + step / 2 || (magnitude == most + step / 2 && f.most % 2 == 1);
  if (beyond) return (saturate || f.four ? f.most : f.infinity) | sign;
  return best == 0 && f.one_zero ? 0 : best | sign;
}

inline void to_small_float(Call& call) {
  const auto format = static_cast<SmallFloat>(call.attr(0));
  const bool saturate = call.attr(1) != 0;
  for (int64_t i = 0; i < call.result().count(); ++i) {
    const double x = call.operand(0)[i];
    if (format != SmallFloat::e8m0) {
      call.result()[i] = small_float_code(x, format, saturate);
      continue;
    }
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(x), &exponent);  // 0.5 to 1
    double code = 255;
    if (std::isfinite(x)) {
      const bool tiny = std::fabs(x) < 0x1p-126;  // below the least normal number: exponent 0
      code = tiny ? 0 : exponent + 126;
      const double rest = tiny ? std::fabs(x) * 0x1p126 : 2 * fraction - 1;
      const bool up = call.attr(2) == 1 ? rest > 0 : call.attr(2) == 2 && (rest > 0.5 || (rest == 0.5 && !tiny));
      if (up && !(saturate && code == 254)) ++code;
    }
    call.result()[i] = code;
  }
}

inline void from_small_float(Call& call) {
  for (int64_t i = 0; i < call.result().count(); ++i) {
    call.result()[i] =
        small_float_value(static_cast<uint32_t>(call.operand(0)[i]), static_cast<SmallFloat>(call.attr(0)));
  }
}

inline void pack_bits(Call& call) {
  const int64_t bits = call.attr(0), each = 8 / bits;
  for (int64_t i = 0; i < call.operand(0).count(); ++i) {
    const auto low = static_cast<uint32_t>(static_cast<int64_t>(call.operand(0)[i])) & ((1u << bits) - 1);
    call.result()[i / each] += static_cast<double>(low << (i % each * bits));
  }
}

inline void unpack_bits(Call& call) {
  const int64_t bits = call.attr(0), each = 8 / bits, range = int64_t{1} << bits;
  for (int64_t i = 0; i < call.result().count(); ++i) {
    const int64_t low = static_cast<int64_t>(call.operand(0)[i / each]) >> (i % each * bits) & (range - 1);
    call.result()[i] = static_cast<double>(call.result().dtype == i8 && low >= range / 2 ? low - range : low);
  }
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_KERNELS_PACKED_REFERENCE_H_

// SmallFloat: floats of 8 bits or fewer, as the OCP and ONNX name them, and what their codes mean.
#ifndef KERNELS_PACKED_SMALL_FLOAT_H_
#define KERNELS_PACKED_SMALL_FLOAT_H_

#include <cstdint>

namespace rlxgpu {

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

}  // namespace rlxgpu

#endif  // KERNELS_PACKED_SMALL_FLOAT_H_

// Numbers of 8 bits or fewer: from their carriers (host_tensor.h) to f32 and back.
#ifndef RLXGPU_LOAD_ONNX_SMALL_TYPES_H_
#define RLXGPU_LOAD_ONNX_SMALL_TYPES_H_

#include <string_view>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/packed/packed.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {

inline PowerRounding power_rounding_of(const Node& n, std::string_view mode) {
  if (mode == "up") return PowerRounding::up;
  if (mode == "down") return PowerRounding::down;
  if (mode == "nearest") return PowerRounding::nearest;
  n.invalid("round_mode is \"", mode, "\"");
}

// Numbers that a cast or an op can work with: codes become f32, everything else stays.
inline Tensor decoded(Tensor x, ElementType type) {
  return is_small_float(type) ? from_small_float(x, small_float_of(type)) : x;
}

// Integers of 2 or 4 bits are held in 8: what is left of them.
inline Tensor low_bits(Tensor x, ElementType type) {
  const int bits = bits_of(type);
  if (!is_integer(type) || bits >= 8) return x;
  if (!is_signed(x.dtype())) return bit_and(x, (1 << bits) - 1);
  return cast(shift_right(shift_left(cast(x, i32), 32 - bits), 32 - bits), i8);
}

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_SMALL_TYPES_H_

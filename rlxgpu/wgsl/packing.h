// How elements of packed types are read from and written into 32-bit words, as WGSL.
//
// load_<type>(word, i): element i of its word, in the register type. bits_<type>(value): its bits in
// the low end of a word, rounded to nearest even; integers keep their low bits.
#ifndef RLXGPU_WGSL_PACKING_H_
#define RLXGPU_WGSL_PACKING_H_

#include <string_view>

#include "rlxgpu/graph/dtype.h"

namespace rlxgpu::core {

// A function call is never a constant expression: the only way to write an infinity in WGSL.
inline constexpr std::string_view kFloatBits = "fn float_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }\n";

constexpr std::string_view load_function(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "fn load_f16(word : u32, i : u32) -> f32 {\n"
             "  let pair = unpack2x16float(word);\n"
             "  return select(pair.x, pair.y, (i & 1u) == 1u);\n}\n";
    case DType::bf16:
      return "fn load_bf16(word : u32, i : u32) -> f32 {\n"
             "  return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (i & 1u) == 1u));\n}\n";
    case DType::i8:
      return "fn load_i8(word : u32, i : u32) -> i32 { return extractBits(bitcast<i32>(word), (i & 3u) * 8u, 8u); }\n";
    case DType::u8:
      return "fn load_u8(word : u32, i : u32) -> u32 { return extractBits(word, (i & 3u) * 8u, 8u); }\n";
    case DType::boolean:
      return "fn load_bool(word : u32, i : u32) -> bool { return extractBits(word, (i & 3u) * 8u, 8u) != 0u; }\n";
    default: return "";
  }
}

// part<bits>(low, high, at): of the words of four neighbours and of the four after them, those of the four from the
// at-th on.
inline constexpr std::string_view kPart16 =
    "fn part16(low : vec2u, high : vec2u, at : u32) -> vec2u {\n"
    "  let w = select(vec3u(low, high.x), vec3u(low.y, high), (at & 2u) != 0u);\n"
    "  return select(w.xy, (w.xy >> vec2u(16u)) | (w.yz << vec2u(16u)), (at & 1u) != 0u);\n}\n";
inline constexpr std::string_view kPart8 =
    "fn part8(low : u32, high : u32, at : u32) -> u32 {\n"
    "  return select(low, (low >> (at * 8u)) | (high << ((32u - at * 8u) & 31u)), at != 0u);\n}\n";
inline constexpr std::string_view kPart32 =
    "fn part32(low : vec4u, high : vec4u, at : u32) -> vec4u {\n"
    "  let one = (at & 1u) != 0u;\n"
    "  let first = select(low, vec4u(low.yzw, high.x), one);\n"
    "  let last = select(high.xy, high.yz, one);\n"
    "  return select(first, vec4u(first.zw, last), (at & 2u) != 0u);\n}\n";

// load4_<type>(words): four neighbours.
constexpr std::string_view load4_function(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "fn load4_f16(words : vec2u) -> vec4f { return vec4f(unpack2x16float(words.x), unpack2x16float(words.y)); }\n";
    case DType::bf16:
      return "fn load4_bf16(words : vec2u) -> vec4f {\n"
             "  let low = words << vec2u(16u);\n  let high = words & vec2u(0xffff0000u);\n"
             "  return bitcast<vec4f>(vec4u(low.x, high.x, low.y, high.y));\n}\n";
    case DType::i8: return "fn load4_i8(word : u32) -> vec4i { return unpack4xI8(word); }\n";
    case DType::u8: return "fn load4_u8(word : u32) -> vec4u { return unpack4xU8(word); }\n";
    default: return "";
  }
}

constexpr std::string_view bits_function(DType dtype) {
  switch (dtype) {
    case DType::f16:  // as half_bits in base/half.h: pack2x16float may round as it likes
      return "fn bits_f16(value : f32) -> u32 {\n"
             "  let bits = bitcast<u32>(value);\n"
             "  let sign = (bits >> 16u) & 0x8000u;\n"
             "  let magnitude = bits & 0x7fffffffu;\n"
             "  if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }\n"
             "  if (magnitude >= 0x477ff000u) { return sign | 0x7c00u; }\n"
             "  if (magnitude < 0x33000001u) { return sign; }\n"
             "  let exponent = magnitude >> 23u;\n"
             "  let normal = exponent >= 113u;\n"
             "  let mantissa = (magnitude & 0x7fffffu) | select(0x800000u, 0u, normal);\n"
             "  let shift = select((126u - exponent) & 31u, 13u, normal);\n"
             "  let base = select(0u, (exponent - 112u) << 10u, normal);\n"
             "  let rest = mantissa & ((1u << shift) - 1u);\n"
             "  let half = 1u << (shift - 1u);\n"
             "  let floor = base + (mantissa >> shift);\n"
             "  return sign | (floor + select(0u, 1u, rest > half || (rest == half && (floor & 1u) == 1u)));\n}\n";
    case DType::bf16:
      return "fn bits_bf16(value : f32) -> u32 {\n"
             "  let bits = bitcast<u32>(value);\n"
             "  if ((bits & 0x7fffffffu) > 0x7f800000u) { return (bits >> 16u) | 0x40u; }\n"
             "  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;\n}\n";
    case DType::i8: return "fn bits_i8(value : i32) -> u32 { return bitcast<u32>(value) & 0xffu; }\n";
    case DType::u8: return "fn bits_u8(value : u32) -> u32 { return value & 0xffu; }\n";
    case DType::boolean: return "fn bits_bool(value : bool) -> u32 { return select(0u, 1u, value); }\n";
    default: return "";
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_PACKING_H_

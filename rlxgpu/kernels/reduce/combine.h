// Combine: the ways to make one number of many, as WGSL. Shared by reduce, scan and scatter.
//
//   e.dispatch(file).slot("identity", identity_text(Combine::max, f16)).slot("combine", combine_text(Combine::max,
//   f16))
//
// The texts define  fn identity() -> Acc  (what an empty set gives) and  fn combine(a : Acc, b : Acc) -> Acc,
// where Acc is the register type of the dtype. A NaN is the maximum and the minimum of whatever it is
// compared with, as in NumPy.
#ifndef RLXGPU_KERNELS_REDUCE_COMBINE_H_
#define RLXGPU_KERNELS_REDUCE_COMBINE_H_

#include <string_view>

#include "rlxgpu/graph/dtype.h"

namespace rlxgpu::core {

enum class Combine : uint8_t { sum, prod, max, min };

constexpr std::string_view identity_text(Combine combine, DType dtype) {
  const bool least = combine == Combine::max;
  if (combine == Combine::sum) return "fn identity() -> Acc { return Acc(0); }";
  if (combine == Combine::prod) return "fn identity() -> Acc { return Acc(1); }";
  switch (dtype) {
    case DType::i32:
      return least ? "fn identity() -> Acc { return Acc(-2147483648); }"
                   : "fn identity() -> Acc { return Acc(2147483647); }";
    case DType::u32:
      return least ? "fn identity() -> Acc { return 0u; }" : "fn identity() -> Acc { return 0xffffffffu; }";
    case DType::i8:
      return least ? "fn identity() -> Acc { return Acc(-128); }" : "fn identity() -> Acc { return Acc(127); }";
    case DType::u8:
      return least ? "fn identity() -> Acc { return 0u; }" : "fn identity() -> Acc { return 255u; }";
    default:  // infinities: only the result of a call may be one
      return least ? "fn identity() -> Acc { return combine_bits(0xff800000u); }\n"
                     "fn combine_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }"
                   : "fn identity() -> Acc { return combine_bits(0x7f800000u); }\n"
                     "fn combine_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }";
  }
}

constexpr std::string_view combine_text(Combine combine, DType dtype) {
  switch (combine) {
    case Combine::sum:
      return "fn combine(a : Acc, b : Acc) -> Acc { return a + b; }";
    case Combine::prod:
      return "fn combine(a : Acc, b : Acc) -> Acc { return a * b; }";
    case Combine::max:
      if (!is_float(dtype)) return "fn combine(a : Acc, b : Acc) -> Acc { return max(a, b); }";
      return "fn combine(a : Acc, b : Acc) -> Acc {\n"
             "  return select(select(max(a, b), b, combine_nan(b)), a, combine_nan(a));\n}\n"
             "fn combine_nan(v : f32) -> bool { return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u; }";
    case Combine::min:
      if (!is_float(dtype)) return "fn combine(a : Acc, b : Acc) -> Acc { return min(a, b); }";
      return "fn combine(a : Acc, b : Acc) -> Acc {\n"
             "  return select(select(min(a, b), b, combine_nan(b)), a, combine_nan(a));\n}\n"
             "fn combine_nan(v : f32) -> bool { return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u; }";
  }
  return "";
}

// fn finish(acc : Acc) -> Acc: 8-bit integers wrap when they are stored; what follows in the same kernel
// must see them wrapped, too.
constexpr std::string_view wrap_text(DType dtype) {
  if (dtype == i8) return "fn finish(acc : Acc) -> Acc { return extractBits(acc, 0u, 8u); }";
  if (dtype == u8) return "fn finish(acc : Acc) -> Acc { return acc & 0xffu; }";
  return "fn finish(acc : Acc) -> Acc { return acc; }";
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_COMBINE_H_

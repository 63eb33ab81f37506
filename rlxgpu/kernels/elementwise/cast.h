// cast(x, dtype): the same numbers, stored as another type.
//
//   Tensor y = cast(x, f16);      Tensor i = cast(floor(x), i32);
//
// Float to integer drops the fraction; what does not fit becomes the nearest number that does, NaN becomes 0.
// Integer to a narrower integer, or to the other sign, keeps the low bits. To bool: is not 0 (NaN is not 0). From bool:
// 0 or
// 1. To c64: the imaginary part is 0; from c64: refused, use real(x) or abs(x). To f16 or bf16: rounded to nearest
// even, in a fused chain too, so a cast down and up again loses the digits that it should.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_CAST_H_
#define RLXGPU_KERNELS_ELEMENTWISE_CAST_H_

#include <cmath>
#include <cstdint>
#include <source_location>

#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/reference.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

inline constexpr char kCastFunctions[] = R"wgsl(
fn rlx_to_i32(x : f32) -> i32 {
  let inside = clamp(x, -2147483648.0, 2147483520.0);
  let nan = (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
  return select(select(i32(inside), 2147483647, x >= 2147483648.0), 0, nan);
}
fn rlx_to_u32(x : f32) -> u32 {
  let inside = clamp(x, 0.0, 4294967040.0);
  let nan = (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
  return select(select(u32(inside), 4294967295u, x >= 4294967296.0), 0u, nan);
}
fn rlx_round_f16(x : f32) -> f32 {  // to nearest even, by bits: f16 arithmetic may be missing or round otherwise
  let bits = bitcast<u32>(x);
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return x; }
  if (magnitude >= 0x477ff000u) { return bitcast<f32>((bits & 0x80000000u) | 0x7f800000u); }
  let exponent = max(magnitude >> 23u, 113u);  // below 2^-14 the step stays 2^-24
  let step = bitcast<f32>((exponent - 10u) << 23u);
  let rounded = round(bitcast<f32>(magnitude) / step) * step;
  return bitcast<f32>(bitcast<u32>(rounded) | (bits & 0x80000000u));
}
fn rlx_round_bf16(x : f32) -> f32 {
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return x; }
  return bitcast<f32>((bits + 0x7fffu + ((bits >> 16u) & 1u)) & 0xffff0000u);
}
)wgsl";

namespace internal {

constexpr void cast_infer(Infer& infer) {
  const DType to = static_cast<DType>(infer.attr(0));
  if (infer.dtype(0) == c64 && to != c64) return infer.fail("c64 has no order to keep: use real, imag or abs first");
  infer.result(to, infer.shape(0));
}

constexpr void cast_to_float(At& at, DType from) {
  switch (register_of(from)) {
    case Register::boolean:
      fill(at, "select(0.0, 1.0, @0)");
      break;
    case Register::f32:
      fill(at, "@0");
      break;
    default:
      fill(at, "f32(@0)");
      break;
  }
}

constexpr void cast_to_integer(At& at, DType from, DType to) {
  const bool narrow = bytes_of(to) == 1;
  if (is_float(from)) {
    const std::string_view saturated = to == i8    ? "clamp(rlx_to_i32(@0), -128, 127)"
                                       : to == u8  ? "min(rlx_to_u32(@0), 255u)"
                                       : to == i32 ? "rlx_to_i32(@0)"
                                                   : "rlx_to_u32(@0)";
    return fill(at, saturated);
  }
  if (from == boolean) return fill(at, is_signed(to) ? "select(0, 1, @0)" : "select(0u, 1u, @0)");
  const bool fits = !narrow || from == to;
  if (!fits) at.result() << "extractBits(";
  fill(at, is_signed(to) ? "bitcast<i32>(@0)" : "bitcast<u32>(@0)");
  if (!fits) at.result() << ", 0u, 8u)";
}

constexpr void cast_at(At& at) {
  const DType from = at.operand_dtype(0), to = at.dtype();
  if (from == to) return fill(at, "@0");
  switch (to) {
    case DType::f32:
      return cast_to_float(at, from);
    case DType::f16:
    case DType::bf16:
      at.result() << (to == f16 ? "rlx_round_f16(" : "rlx_round_bf16(");
      cast_to_float(at, from);
      at.result() << ')';
      return;
    case DType::c64:
      at.result() << "vec2f(";
      cast_to_float(at, from);
      at.result() << ", 0.0)";
      return;
    case DType::boolean:
      return fill(at, is_float(from)    ? "((bitcast<u32>(@0) & 0x7fffffffu) != 0u)"
                      : is_signed(from) ? "(@0 != 0)"
                                        : "(@0 != 0u)");
    default:
      return cast_to_integer(at, from, to);
  }
}

// The interpreter rounds to f16 and bf16.
inline void cast_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& result = call.result();
  for (int64_t i = 0; i < result.count(); ++i) {
    if (x.dtype == c64) {
      set_element(result, i, element<reference::Complex>(x, i));
    } else if (result.dtype == c64) {
      set_element(result, i, reference::Complex{x[i], 0});
    } else if (result.dtype == boolean) {
      result[i] = x[i] != 0;
    } else if (!is_integer(result.dtype)) {
      result[i] = x[i];
    } else if (is_float(x.dtype)) {
      result[i] = reference::saturate(x[i], result.dtype);
    } else {
      result[i] = reference::wrap_integer(static_cast<int64_t>(x[i]), result.dtype);
    }
  }
}

}  // namespace internal

inline constexpr OpDef kCast = {
    .name = "cast",
    .infer = internal::cast_infer,
    .at = internal::cast_at,
    .wgsl = {kCastFunctions},
    .fold = [](Fold& fold) { return fold.operand(0); },  // to the type it has
    .reference = internal::cast_reference,
};
constexpr Tensor cast(Tensor x, DType to, Site site = std::source_location::current()) {
  return apply(kCast, {x}, {static_cast<int64_t>(to)}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::cast;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_CAST_H_

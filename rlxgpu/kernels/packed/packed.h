// Small floats and integers of 2 or 4 bits: their codes, one in each byte, and bytes that hold several.
//
//   Tensor codes = to_small_float(x, SmallFloat::e4m3fn);        // u8, rounded to nearest even
//   Tensor y = from_small_float(codes, SmallFloat::e4m3fn);      // f32, exactly
//   Tensor bytes = pack_bits(codes, 4);                          // two in a byte, the first in the low bits
//   Tensor same = unpack_bits(bytes, {n}, 4, i8);                // i8: the upper bit is a sign
//
// All are maps. A number that does not fit becomes the greatest one (saturate), else infinity where the format has it,
// else NaN. E8M0 is a power of two: of the exponent only, rounded as asked. E2M1 (4 bits) has neither infinity nor NaN:
// it always saturates.
#ifndef RLXGPU_KERNELS_PACKED_PACKED_H_
#define RLXGPU_KERNELS_PACKED_PACKED_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/base/small_float.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/packed/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

inline constexpr char kSmallFloatFunctions[] = R"wgsl(
// The magnitude's code, rounded to nearest even; beyond `most` where it does not fit.
fn rlx_small_code(magnitude : u32, mantissa : u32, bias : u32) -> u32 {
  let exponent = i32(magnitude >> 23u) - 127 + i32(bias);  // 1 is that of the least normal number
  let significand = (magnitude & 0x7fffffu) | 0x800000u;
  let drop = u32(clamp(24 - exponent, 23, 31)) - mantissa;  // bits below the last one that is kept
  let kept = select(magnitude, significand, exponent < 1) >> drop;
  let rest = select(magnitude, significand, exponent < 1) & ((1u << drop) - 1u);
  let half = 1u << (drop - 1u);
  let rounded = kept + select(0u, 1u, rest > half || (rest == half && (kept & 1u) == 1u));
  return select(rounded - select(0u, (127u - bias) << mantissa, exponent >= 1), 0u, exponent < -i32(mantissa));
}
fn rlx_to_small(x : f32, mantissa : u32, bias : u32, most : u32, beyond : u32, nan : u32, sign : u32) -> u32 {
  let bits = bitcast<u32>(x);
  let magnitude = bits & 0x7fffffffu;
  let negative = select(0u, sign, bits != magnitude);
  if (magnitude > 0x7f800000u) { return nan | negative; }
  let code = rlx_small_code(magnitude, mantissa, bias);
  return select(code, beyond, code > most) | negative;
}
fn rlx_from_small(code : u32, mantissa : u32, bias : u32, sign : u32) -> f32 {
  let magnitude = code & (sign - 1u);
  let exponent = magnitude >> mantissa;
  let fraction = magnitude & ((1u << mantissa) - 1u);
  let whole = f32(select(fraction, fraction | (1u << mantissa), exponent > 0u));
  let scale = bitcast<f32>((127u + max(exponent, 1u) - bias - mantissa) << 23u);
  return select(whole * scale, -(whole * scale), (code & sign) != 0u);
}
fn rlx_small_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }
fn rlx_to_e8m0(x : f32, rounding : u32, saturate : bool) -> u32 {
  let bits = bitcast<u32>(x);
  let exponent = (bits >> 23u) & 0xffu;
  if (exponent == 0xffu) { return 0xffu; }
  let rest = bits & 0x7fffffu;
  let up = (rounding == 1u && rest > 0u) || (rounding == 2u && (rest > 0x400000u || (rest == 0x400000u && exponent > 0u)));
  return exponent + select(0u, 1u, up && !(saturate && exponent == 0xfeu));
}
fn rlx_from_e8m0(code : u32) -> f32 {
  return rlx_small_bits(select(select(code << 23u, 0x00400000u, code == 0u), 0x7fc00000u, code == 0xffu));
}
)wgsl";

namespace internal {

// Attributes: the format, saturate, the rounding of E8M0.
constexpr void to_small_infer(Infer& infer) {
  if (!is_float(infer.dtype(0)))
    return infer.fail("takes floats, not ", name_of(infer.dtype(0)), ": cast the operand first");
  infer.result(u8, infer.shape(0));
}
constexpr void to_small_at(At& at) {
  const auto format = static_cast<SmallFloat>(at.attr(0));
  const bool saturate = at.attr(1) != 0;
  const Name x = at.operand(0);
  if (format == SmallFloat::e8m0) {
    at.result() << "rlx_to_e8m0(" << x << ", " << at.attr(2) << "u, " << (saturate ? "true" : "false") << ')';
    return;
  }
  const SmallFloatFormat f = format_of(format);
  const uint32_t beyond = saturate || f.four ? f.most : f.infinity;
  Text code;
  code << "rlx_to_small(" << x << ", " << f.mantissa << "u, " << f.bias << "u, " << f.most << "u, " << beyond << "u, "
       << f.nan << "u, " << f.sign << "u)";
  if (!f.one_zero) {
    at.result() << code;
    return;
  }
  // A negative zero would be NaN.
  const Name found = at.let(code), is_nan = at.let("(bitcast<u32>(", x, ") & 0x7fffffffu) > 0x7f800000u");
  const Name small =
      at.let("rlx_small_code(bitcast<u32>(", x, ") & 0x7fffffffu, ", f.mantissa, "u, ", f.bias, "u) == 0u");
  at.result() << "select(" << found << ", 0u, !" << is_nan << " && " << small << ')';
}

// Attributes: the format, the type wanted.
constexpr void from_small_infer(Infer& infer) {
  if (infer.dtype(0) != u8) return infer.fail("takes codes in u8, not ", name_of(infer.dtype(0)));
  if (!is_float(static_cast<DType>(infer.attr(1))))
    return infer.fail("gives floats, not ", name_of(static_cast<DType>(infer.attr(1))));
  infer.result(static_cast<DType>(infer.attr(1)), infer.shape(0));
}
constexpr void from_small_at(At& at) {
  const auto format = static_cast<SmallFloat>(at.attr(0));
  const Name code = at.operand(0);
  if (format == SmallFloat::e8m0) {
    at.result() << "rlx_from_e8m0(" << code << ')';
    return;
  }
  const SmallFloatFormat f = format_of(format);
  const Name value = at.let("rlx_from_small(", code, ", ", f.mantissa, "u, ", f.bias, "u, ", f.sign, "u)");
  if (f.four) {
    at.result() << value;
  } else if (f.one_zero) {
    at.result() << "select(" << value << ", rlx_small_bits(0x7fc00000u), " << code << " == 128u)";
  } else if (format == SmallFloat::e4m3fn) {
    at.result() << "select(" << value << ", rlx_small_bits(0x7fc00000u), (" << code << " & 127u) == 127u)";
  } else {
    const Name infinite = at.let("rlx_small_bits(0x7f800000u | ((", code, " & 128u) << 24u))");
    const Name special = at.let("select(", infinite, ", rlx_small_bits(0x7fc00000u), (", code, " & 3u) != 0u)");
    at.result() << "select(" << value << ", " << special << ", (" << code << " & 0x7cu) == 0x7cu)";
  }
}

// Attributes: bits of one.
constexpr void pack_infer(Infer& infer) {
  const int64_t bits = infer.attr(0);
  if (infer.dtype(0) != u8 && infer.dtype(0) != i8) return infer.fail("takes u8 or i8, not ", name_of(infer.dtype(0)));
  if (bits != 2 && bits != 4) return infer.fail(bits, " bits: 2 or 4 are possible");
  if (infer.shape(0).dynamic()) return infer.fail("run-time extents are not possible");
  infer.result(u8, {(infer.shape(0).count() * bits + 7) / 8});
}
constexpr void pack_at(At& at) {
  const int64_t bits = at.attr(0), each = 8 / bits, count = at.operand_shape(0).count();
  Text sum;
  for (int64_t k = 0; k < each; ++k) {
    const Name i = at.let(at.coord(0), " * ", each, "u + ", k, 'u');
    const Name v = at.operand_at_index(0, at.let("min(", i, ", ", count - 1, "u)"));
    sum << (k > 0 ? " | " : "") << "select(0u, (bitcast<u32>(" << v << ") & " << (1 << bits) - 1 << "u) << " << k * bits
        << "u, " << i << " < " << count << "u)";
  }
  at.result() << '(' << sum << ')';
}
constexpr int pack_reads(const Call& call) { return static_cast<int>(8 / call.attr(0)); }

// Attributes: bits of one, the type wanted, the extents.
constexpr void unpack_infer(Infer& infer) {
  const int64_t bits = infer.attr(0);
  const auto to = static_cast<DType>(infer.attr(1));
  if (infer.dtype(0) != u8) return infer.fail("takes bytes in u8, not ", name_of(infer.dtype(0)));
  if (bits != 2 && bits != 4) return infer.fail(bits, " bits: 2 or 4 are possible");
  if (to != u8 && to != i8) return infer.fail("gives u8 or i8, not ", name_of(to));
  Shape shape;
  for (size_t i = 2; i < infer.call().attrs.size(); ++i) shape.push_back(infer.call().attrs[i]);
  if (infer.shape(0).rank() != 1 || infer.shape(0)[0] != (shape.count() * bits + 7) / 8)
    return infer.fail(shape, " of ", bits, " bits needs ", (shape.count() * bits + 7) / 8, " bytes");
  infer.result(to, shape);
}
constexpr void unpack_at(At& at) {
  const int64_t bits = at.attr(0), each = 8 / bits;
  const Name i = at.index();
  Coords source;
  source[0] = at.let(i, " / ", each, 'u');
  const Name byte = at.operand(0, source);
  const Name shifted = at.let(byte, " >> ((", i, " % ", each, "u) * ", bits, "u)");
  if (at.dtype() == i8) {
    at.result() << "extractBits(bitcast<i32>(" << shifted << "), 0u, " << bits << "u)";
  } else {
    at.result() << '(' << shifted << " & " << (1 << bits) - 1 << "u)";
  }
}

}  // namespace internal

inline constexpr OpDef kToSmallFloat = {
    .name = "to_small_float",
    .infer = internal::to_small_infer,
    .at = internal::to_small_at,
    .wgsl = {kSmallFloatFunctions},
    .reference = reference::to_small_float,
};
constexpr Tensor to_small_float(Tensor x, SmallFloat format, bool saturate = true,
                                PowerRounding rounding = PowerRounding::up,
                                Site site = std::source_location::current()) {
  return apply(kToSmallFloat, {x}, {static_cast<int64_t>(format), saturate, static_cast<int64_t>(rounding)}, site);
}

inline constexpr OpDef kFromSmallFloat = {
    .name = "from_small_float",
    .infer = internal::from_small_infer,
    .at = internal::from_small_at,
    .wgsl = {kSmallFloatFunctions},
    .reference = reference::from_small_float,
};
constexpr Tensor from_small_float(Tensor codes, SmallFloat format, DType dtype = f32,
                                  Site site = std::source_location::current()) {
  return apply(kFromSmallFloat, {codes}, {static_cast<int64_t>(format), static_cast<int64_t>(dtype)}, site);
}

inline constexpr OpDef kPackBits = {
    .name = "pack_bits",
    .infer = internal::pack_infer,
    .at = internal::pack_at,
    .reads_elsewhere = true,
    .reads = internal::pack_reads,
    .reference = reference::pack_bits,
};
// The low bits of all elements, one after another; the last byte is filled with zeros.
constexpr Tensor pack_bits(Tensor x, int bits, Site site = std::source_location::current()) {
  return apply(kPackBits, {x}, {bits}, site);
}

inline constexpr OpDef kUnpackBits = {
    .name = "unpack_bits",
    .infer = internal::unpack_infer,
    .at = internal::unpack_at,
    .reads_elsewhere = true,
    .reference = reference::unpack_bits,
};
constexpr Tensor unpack_bits(Tensor bytes, const Shape& shape, int bits, DType dtype,
                             Site site = std::source_location::current()) {
  Vec<int64_t> attrs = {bits, static_cast<int64_t>(dtype)};
  for (int axis = 0; axis < shape.rank(); ++axis) attrs.push_back(shape[axis]);
  return apply(kUnpackBits, {bytes}, std::span<const int64_t>(attrs.data(), attrs.size()), site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::from_small_float, core::pack_bits, core::to_small_float, core::unpack_bits;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_PACKED_PACKED_H_

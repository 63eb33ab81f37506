// Bitwise ops on integers. bit_not is in unary.h.
//
//   Tensor low = bit_and(word, 0xff);      Tensor high = shift_right(word, 24);
//
// Shifts take their count modulo 32, also for i8 and u8.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_BITS_H_
#define RLXGPU_KERNELS_ELEMENTWISE_BITS_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/reference.h"

namespace rlxgpu::core {

inline constexpr OpDef kBitAnd = elementwise<Form{.integers = "(@0 & @1)"}, reference::bit_and>("bit_and");
constexpr Tensor bit_and(Tensor a, Rhs b) { return apply(kBitAnd, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kBitOr = elementwise<Form{.integers = "(@0 | @1)"}, reference::bit_or>("bit_or");
constexpr Tensor bit_or(Tensor a, Rhs b) { return apply(kBitOr, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kBitXor = elementwise<Form{.integers = "(@0 ^ @1)"}, reference::bit_xor>("bit_xor");
constexpr Tensor bit_xor(Tensor a, Rhs b) { return apply(kBitXor, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kShiftLeft =
    elementwise<Form{.integers = "(@0 << (u32(@1) & 31u))", .wraps = true}, reference::shift_left>("shift_left");
constexpr Tensor shift_left(Tensor a, Rhs b) { return apply(kShiftLeft, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kShiftRight =
    elementwise<Form{.integers = "(@0 >> (u32(@1) & 31u))"}, reference::shift_right>("shift_right");
// Signed integers keep their sign.
constexpr Tensor shift_right(Tensor a, Rhs b) { return apply(kShiftRight, {a, operand_of(b, a)}, b.site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::bit_and, core::bit_or, core::bit_xor, core::shift_left, core::shift_right;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_BITS_H_

// Comparisons (to bool) and logic on bool.
//
//   Tensor inside = logical_and(ge(x, 0.0f), lt(x, 1.0f));
//
// NaN is unequal to everything, itself included, and neither less nor greater.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_LOGIC_H_
#define RLXGPU_KERNELS_ELEMENTWISE_LOGIC_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/functions.h"
#include "rlxgpu/kernels/elementwise/reference.h"

namespace rlxgpu::core {

// & and |, not && and ||, which are branches: SwiftShader does not come to an end with some tens of them in a kernel.
inline constexpr OpDef kEq = elementwise<Form{.floats = "((@0 == @1) & !rlx_unordered(@0, @1))",
                                              .integers = "(@0 == @1)",
                                              .booleans = "(@0 == @1)",
                                              .complexes = "all(@0 == @1)",
                                              .to_boolean = true},
                                         reference::eq, reference::eq_complex>("eq", {kNanFunctions});
// Also of bool and c64.
constexpr Tensor eq(Tensor a, Rhs b) { return apply(kEq, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kNe = elementwise<Form{.floats = "((@0 != @1) | rlx_unordered(@0, @1))",
                                              .integers = "(@0 != @1)",
                                              .booleans = "(@0 != @1)",
                                              .complexes = "any(@0 != @1)",
                                              .to_boolean = true},
                                         reference::ne, reference::ne_complex>("ne", {kNanFunctions});
// Also of bool and c64.
constexpr Tensor ne(Tensor a, Rhs b) { return apply(kNe, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kLt =
    elementwise<Form{.floats = "((@0 < @1) & !rlx_unordered(@0, @1))", .integers = "(@0 < @1)", .to_boolean = true},
                reference::lt>("lt", {kNanFunctions});
constexpr Tensor lt(Tensor a, Rhs b) { return apply(kLt, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kLe =
    elementwise<Form{.floats = "((@0 <= @1) & !rlx_unordered(@0, @1))", .integers = "(@0 <= @1)", .to_boolean = true},
                reference::le>("le", {kNanFunctions});
constexpr Tensor le(Tensor a, Rhs b) { return apply(kLe, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kGt =
    elementwise<Form{.floats = "((@0 > @1) & !rlx_unordered(@0, @1))", .integers = "(@0 > @1)", .to_boolean = true},
                reference::gt>("gt", {kNanFunctions});
constexpr Tensor gt(Tensor a, Rhs b) { return apply(kGt, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kGe =
    elementwise<Form{.floats = "((@0 >= @1) & !rlx_unordered(@0, @1))", .integers = "(@0 >= @1)", .to_boolean = true},
                reference::ge>("ge", {kNanFunctions});
constexpr Tensor ge(Tensor a, Rhs b) { return apply(kGe, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kLogicalAnd = elementwise<Form{.booleans = "(@0 & @1)"}, reference::logical_and>("logical_and");
constexpr Tensor logical_and(Tensor a, Rhs b) { return apply(kLogicalAnd, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kLogicalOr = elementwise<Form{.booleans = "(@0 | @1)"}, reference::logical_or>("logical_or");
constexpr Tensor logical_or(Tensor a, Rhs b) { return apply(kLogicalOr, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kLogicalXor = elementwise<Form{.booleans = "(@0 != @1)"}, reference::logical_xor>("logical_xor");
constexpr Tensor logical_xor(Tensor a, Rhs b) { return apply(kLogicalXor, {a, operand_of(b, a)}, b.site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::eq, core::ge, core::gt, core::le, core::logical_and, core::logical_or, core::logical_xor, core::lt,
    core::ne;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_LOGIC_H_

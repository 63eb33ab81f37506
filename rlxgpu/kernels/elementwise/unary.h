// Functions of one tensor: neg, sign, exp log sqrt and their relatives, rounding, predicates.
//
//   Tensor y = exp(-x);      Tensor ok = logical_not(is_nan(y));
//
// Floats only unless said otherwise. Accuracy: table.h. What is undefined in the reals is NaN or infinite as in C
// (log(0) = -inf, sqrt(-1) = NaN); NaN gives NaN. neg of the least i32 or i8 is that number again.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_UNARY_H_
#define RLXGPU_KERNELS_ELEMENTWISE_UNARY_H_

#include <source_location>

#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/functions.h"
#include "rlxgpu/kernels/elementwise/reference.h"

namespace rlxgpu::core {

namespace internal {

constexpr bool fold_neg(Fold& fold) {
  return fold.known(0) && is_float(fold.call().result().dtype) && fold.number(-fold.at(0));
}

}  // namespace internal

inline constexpr OpDef kNeg =
    elementwise<Form{.floats = "(-@0)", .integers = "(-@0)", .complexes = "(-@0)", .signed_only = true, .wraps = true},
                reference::neg, reference::neg_complex>("neg", {}, internal::fold_neg);
// Floats, c64, i32, i8.
constexpr Tensor neg(Tensor x, Site site = std::source_location::current()) { return apply(kNeg, {x}, site); }

inline constexpr OpDef kSign =
    elementwise<Form{.floats = "rlx_sign(@0)", .integers = "sign(@0)", .signed_only = true}, reference::sign>(
        "sign", {kNanFunctions});
// -1, 0 or 1. Floats, i32, i8.
constexpr Tensor sign(Tensor x, Site site = std::source_location::current()) { return apply(kSign, {x}, site); }

inline constexpr OpDef kExp = elementwise<Form{.floats = "rlx_exp(@0)"}, reference::exp>("exp", {kExpFunctions});
constexpr Tensor exp(Tensor x, Site site = std::source_location::current()) { return apply(kExp, {x}, site); }

inline constexpr OpDef kExpm1 =
    elementwise<Form{.floats = "rlx_expm1(@0)"}, reference::expm1>("expm1", {kExpFunctions});
// exp(x) - 1, accurate near 0.
constexpr Tensor expm1(Tensor x, Site site = std::source_location::current()) { return apply(kExpm1, {x}, site); }

inline constexpr OpDef kLog = elementwise<Form{.floats = "rlx_log(@0)"}, reference::log>("log", {kLogFunctions});
constexpr Tensor log(Tensor x, Site site = std::source_location::current()) { return apply(kLog, {x}, site); }

inline constexpr OpDef kLog1p =
    elementwise<Form{.floats = "rlx_log1p(@0)"}, reference::log1p>("log1p", {kLogFunctions});
// log(1 + x), accurate near 0.
constexpr Tensor log1p(Tensor x, Site site = std::source_location::current()) { return apply(kLog1p, {x}, site); }

inline constexpr OpDef kSqrt = elementwise<Form{.floats = "sqrt(@0)"}, reference::sqrt>("sqrt");
constexpr Tensor sqrt(Tensor x, Site site = std::source_location::current()) { return apply(kSqrt, {x}, site); }

inline constexpr OpDef kRsqrt = elementwise<Form{.floats = "inverseSqrt(@0)"}, reference::rsqrt>("rsqrt");
// 1 / sqrt(x).
constexpr Tensor rsqrt(Tensor x, Site site = std::source_location::current()) { return apply(kRsqrt, {x}, site); }

inline constexpr OpDef kRecip = elementwise<Form{.floats = "(1.0 / @0)"}, reference::recip>("recip");
// 1 / x.
constexpr Tensor recip(Tensor x, Site site = std::source_location::current()) { return apply(kRecip, {x}, site); }

inline constexpr OpDef kSinh =
    elementwise<Form{.floats = "rlx_sinh(@0)"}, reference::sinh>("sinh", {kExpFunctions, kHyperbolicFunctions});
constexpr Tensor sinh(Tensor x, Site site = std::source_location::current()) { return apply(kSinh, {x}, site); }

inline constexpr OpDef kCosh =
    elementwise<Form{.floats = "rlx_cosh(@0)"}, reference::cosh>("cosh", {kExpFunctions, kHyperbolicFunctions});
constexpr Tensor cosh(Tensor x, Site site = std::source_location::current()) { return apply(kCosh, {x}, site); }

inline constexpr OpDef kTanh =
    elementwise<Form{.floats = "rlx_tanh(@0)"}, reference::tanh>("tanh", {kExpFunctions, kHyperbolicFunctions});
constexpr Tensor tanh(Tensor x, Site site = std::source_location::current()) { return apply(kTanh, {x}, site); }

inline constexpr OpDef kErf =
    elementwise<Form{.floats = "rlx_erf(@0)"}, reference::erf>("erf", {kExpFunctions, kErfFunctions});
// The one erf: gelu uses it too.
constexpr Tensor erf(Tensor x, Site site = std::source_location::current()) { return apply(kErf, {x}, site); }

inline constexpr OpDef kRound = elementwise<Form{.floats = "round(@0)"}, reference::round>("round");
// To the nearest whole number, halves to the even one.
constexpr Tensor round(Tensor x, Site site = std::source_location::current()) { return apply(kRound, {x}, site); }

inline constexpr OpDef kFloor = elementwise<Form{.floats = "floor(@0)"}, reference::floor>("floor");
constexpr Tensor floor(Tensor x, Site site = std::source_location::current()) { return apply(kFloor, {x}, site); }

inline constexpr OpDef kCeil = elementwise<Form{.floats = "ceil(@0)"}, reference::ceil>("ceil");
constexpr Tensor ceil(Tensor x, Site site = std::source_location::current()) { return apply(kCeil, {x}, site); }

inline constexpr OpDef kTrunc = elementwise<Form{.floats = "trunc(@0)"}, reference::trunc>("trunc");
constexpr Tensor trunc(Tensor x, Site site = std::source_location::current()) { return apply(kTrunc, {x}, site); }

inline constexpr OpDef kIsNan =
    elementwise<Form{.floats = "rlx_is_nan(@0)", .to_boolean = true}, reference::is_nan>("is_nan", {kNanFunctions});
// To bool.
constexpr Tensor is_nan(Tensor x, Site site = std::source_location::current()) { return apply(kIsNan, {x}, site); }

inline constexpr OpDef kIsInf =
    elementwise<Form{.floats = "rlx_is_inf(@0)", .to_boolean = true}, reference::is_inf>("is_inf", {kNanFunctions});
// Of either sign. To bool.
constexpr Tensor is_inf(Tensor x, Site site = std::source_location::current()) { return apply(kIsInf, {x}, site); }

inline constexpr OpDef kLogicalNot = elementwise<Form{.booleans = "(!@0)"}, reference::logical_not>("logical_not");
// Of bool.
constexpr Tensor logical_not(Tensor x, Site site = std::source_location::current()) {
  return apply(kLogicalNot, {x}, site);
}

inline constexpr OpDef kBitNot = elementwise<Form{.integers = "(~@0)", .wraps = true}, reference::bit_not>("bit_not");
// Of integers.
constexpr Tensor bit_not(Tensor x, Site site = std::source_location::current()) { return apply(kBitNot, {x}, site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::bit_not, core::ceil, core::cosh, core::erf, core::exp, core::expm1, core::floor, core::is_inf,
    core::is_nan, core::log, core::log1p, core::logical_not, core::neg, core::recip, core::round, core::rsqrt,
    core::sign, core::sinh, core::sqrt, core::tanh, core::trunc;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_UNARY_H_

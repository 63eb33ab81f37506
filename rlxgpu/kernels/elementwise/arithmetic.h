// add sub mul div mod, max min, pow, and the operators + - * /.
//
//   Tensor y = (x - mean) * scale + 0.5f;      Tensor z = 1.0f / (1.0f + y);
//
// Both operands have one dtype (a number takes the tensor's) and broadcast. Floats and integers, + - * / also c64;
// integers wrap. Operators report the line they stand on.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_ARITHMETIC_H_
#define RLXGPU_KERNELS_ELEMENTWISE_ARITHMETIC_H_

#include <bit>
#include <cstdint>

#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/functions.h"
#include "rlxgpu/kernels/elementwise/reference.h"
#include "rlxgpu/kernels/elementwise/unary.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

// Operands are known; the result is a number that the dtype holds without doubt.
constexpr bool fold_to(Fold& fold, double value) {
  const DType dtype = fold.call().result().dtype;
  const double most = is_float(dtype) ? 65504.0 : dtype == i8 ? 127.0 : dtype == u8 ? 255.0 : 2147483647.0;
  const double least = dtype == u8 || dtype == u32 ? 0.0 : dtype == i8 ? -128.0 : -most;
  return value <= most && value >= least && fold.number(value);
}
constexpr bool both_known(const Fold& fold) { return fold.known(0) && fold.known(1); }
constexpr bool is_zero(const Fold& fold, int k, bool negative) {
  return fold.is(k, 0.0) && (std::bit_cast<uint64_t>(fold.at(k)) >> 63 != 0) == negative;
}
// Only what holds for every x, -0 and NaN included: x + (-0) and x - (+0), but not x + 0 where x is a float.
constexpr bool fold_add(Fold& fold) {
  const bool whole = is_integer(fold.call().result().dtype);
  if (is_zero(fold, 1, true) || (whole && fold.is(1, 0.0))) return fold.operand(0);
  if (is_zero(fold, 0, true) || (whole && fold.is(0, 0.0))) return fold.operand(1);
  return both_known(fold) && fold_to(fold, fold.at(0) + fold.at(1));
}
constexpr bool fold_sub(Fold& fold) {
  if (is_zero(fold, 1, false)) return fold.operand(0);
  return both_known(fold) && fold_to(fold, fold.at(0) - fold.at(1));
}
constexpr bool fold_mul(Fold& fold) {
  if (fold.is(1, 1.0)) return fold.operand(0);
  if (fold.is(0, 1.0)) return fold.operand(1);
  return both_known(fold) && fold_to(fold, fold.at(0) * fold.at(1));
}
constexpr bool fold_div(Fold& fold) {
  if (fold.is(1, 1.0)) return fold.operand(0);
  return both_known(fold) && is_float(fold.call().result().dtype) && fold.at(1) != 0 &&
         fold_to(fold, fold.at(0) / fold.at(1));
}
constexpr bool fold_max(Fold& fold) {
  return both_known(fold) && fold_to(fold, fold.at(0) > fold.at(1) ? fold.at(0) : fold.at(1));
}
constexpr bool fold_min(Fold& fold) {
  return both_known(fold) && fold_to(fold, fold.at(0) < fold.at(1) ? fold.at(0) : fold.at(1));
}

}  // namespace internal

inline constexpr OpDef kAdd = commutative(
    elementwise<Form{.floats = "(@0 + @1)", .integers = "(@0 + @1)", .complexes = "(@0 + @1)", .wraps = true},
                reference::add, reference::add_complex>("add", {}, internal::fold_add));
constexpr Tensor add(Tensor a, Rhs b) { return apply(kAdd, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kSub =
    elementwise<Form{.floats = "(@0 - @1)", .integers = "(@0 - @1)", .complexes = "(@0 - @1)", .wraps = true},
                reference::sub, reference::sub_complex>("sub", {}, internal::fold_sub);
constexpr Tensor sub(Tensor a, Rhs b) { return apply(kSub, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kMul = commutative(
    elementwise<Form{.floats = "(@0 * @1)",
                     .integers = "(@0 * @1)",
                     .complexes = "vec2f(@0.x * @1.x - @0.y * @1.y, @0.x * @1.y + @0.y * @1.x)",
                     .wraps = true},
                reference::mul, reference::mul_integers, reference::mul_complex>("mul", {}, internal::fold_mul));
constexpr Tensor mul(Tensor a, Rhs b) { return apply(kMul, {a, operand_of(b, a)}, b.site); }

namespace internal {

// Integers of 8 bits wrap, complex operands are scaled first so that no square overflows.
constexpr void div_at(At& at) {
  if (at.dtype() != c64) return form_at<Form{.floats = "(@0 / @1)", .integers = "(@0 / @1)", .wraps = true}>(at);
  const Name a = at.operand(0), b = at.operand(1);
  const Name scale = at.let("max(abs(", b, ".x), abs(", b, ".y))");
  const Name p = at.let(a, " / ", scale), q = at.let(b, " / ", scale);
  at.result() << "(vec2f(dot(" << p << ", " << q << "), " << p << ".y * " << q << ".x - " << p << ".x * " << q
              << ".y) / dot(" << q << ", " << q << "))";
}

}  // namespace internal

inline constexpr OpDef kDiv = {
    .name = "div",
    .infer = internal::form_infer<Form{.floats = "/", .integers = "/", .complexes = "/"}>,
    .at = internal::div_at,
    .fold = internal::fold_div,
    .reference = internal::map_reference<reference::div, reference::div_integers, reference::div_complex>,
};
// Integers: rounded towards 0; x / 0 is x.
constexpr Tensor div(Tensor a, Rhs b) { return apply(kDiv, {a, operand_of(b, a)}, b.site); }

namespace internal {

// Integers: the remainder of WGSL has the sign of a.
constexpr void mod_at(At& at) {
  if (is_float(at.dtype())) return fill(at, "rlx_mod(@0, @1)");
  const Name b = at.operand(1);
  const Name rest = at.let(at.operand(0), " % ", b);
  if (!is_signed(at.dtype())) {
    at.result() << rest;
  } else {
    at.result() << "select(" << rest << ", " << rest << " + " << b << ", " << rest << " != 0 && (" << rest << " ^ " << b
                << ") < 0)";
  }
}

}  // namespace internal

inline constexpr OpDef kMod = {
    .name = "mod",
    .infer = internal::form_infer<Form{.floats = "%", .integers = "%"}>,
    .at = internal::mod_at,
    .wgsl = {kModFunctions},
    .reference = internal::map_reference<reference::mod, reference::mod_integers>,
};
// The remainder with the sign of b, as in Python: mod(-1, 3) is 2. Exact. Integers: mod(x, 0) is 0; floats: NaN.
constexpr Tensor mod(Tensor a, Rhs b) { return apply(kMod, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kMax =
    commutative(elementwise<Form{.floats = "rlx_max(@0, @1)", .integers = "max(@0, @1)"}, reference::max>(
        "max", {kNanFunctions}, internal::fold_max));
// NaN if either is NaN.
constexpr Tensor max(Tensor a, Rhs b) { return apply(kMax, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kMin =
    commutative(elementwise<Form{.floats = "rlx_min(@0, @1)", .integers = "min(@0, @1)"}, reference::min>(
        "min", {kNanFunctions}, internal::fold_min));
// NaN if either is NaN.
constexpr Tensor min(Tensor a, Rhs b) { return apply(kMin, {a, operand_of(b, a)}, b.site); }

inline constexpr OpDef kPow =
    elementwise<Form{.floats = "rlx_pow(@0, @1)"}, reference::pow>("pow", {kExpFunctions, kPowFunctions});
// Of floats, with C's special cases: x^0 and 1^y are 1 even for NaN, negative x need a whole y.
constexpr Tensor pow(Tensor a, Rhs b) {
  if (b.is_number && b.number == 2.0) return mul(a, Rhs(a, b.site));
  return apply(kPow, {a, operand_of(b, a)}, b.site);
}

constexpr Tensor operator+(Tensor a, Rhs b) { return add(a, b); }
constexpr Tensor operator-(Tensor a, Rhs b) { return sub(a, b); }
constexpr Tensor operator*(Tensor a, Rhs b) { return mul(a, b); }
constexpr Tensor operator/(Tensor a, Rhs b) { return div(a, b); }

// A number on the left: the right operand, always a tensor, knows the line.
constexpr Tensor operator+(double a, Rhs b) { return add(operand_of(Rhs(a, b.site), b.tensor), b); }
constexpr Tensor operator-(double a, Rhs b) { return sub(operand_of(Rhs(a, b.site), b.tensor), b); }
constexpr Tensor operator*(double a, Rhs b) { return mul(operand_of(Rhs(a, b.site), b.tensor), b); }
constexpr Tensor operator/(double a, Rhs b) { return div(operand_of(Rhs(a, b.site), b.tensor), b); }
constexpr Tensor operator-(Rhs x) { return neg(x.tensor, x.site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::add, core::div, core::max, core::min, core::mod, core::mul, core::pow, core::sub;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_ARITHMETIC_H_

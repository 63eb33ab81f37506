// Arithmetic, comparisons, logic and bits of ONNX: each element by itself, with broadcasting.
#include <iterator>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

template <Tensor (*kOp)(Tensor, Site)>
void unary(Node& n) {
  n.result(0, kOp(n.tensor(0), Site()));
}
template <Tensor (*kOp)(Tensor, Rhs)>
void binary(Node& n) {
  n.result(0, n.wrapped(kOp(n.tensor(0), n.tensor(1)), n.type(0)));
}
template <Tensor (*kOp)(Tensor, Rhs)>
void predicate(Node& n) {
  n.result(0, kOp(n.tensor(0), n.tensor(1)), ElementType::boolean);
}
// Any number of operands, one after the other.
template <Tensor (*kOp)(Tensor, Rhs)>
Tensor chain(Node& n) {
  Tensor all = n.tensor(0);
  for (int k = 1; k < n.count(); ++k) all = n.wrapped(kOp(all, n.tensor(k)), n.type(0));
  return all;
}
template <Tensor (*kOp)(Tensor, Rhs)>
void variadic(Node& n) {
  n.result(0, chain<kOp>(n));
}
void import_mean(Node& n) { n.result(0, chain<add>(n) * (1.0 / n.count())); }

bool is_unsigned(DType dtype) { return dtype == u32 || dtype == u8; }

void import_abs(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, is_unsigned(x.dtype()) ? x : n.wrapped(abs(x), n.type(0)));
}
void import_neg(Node& n) { n.result(0, n.wrapped(neg(n.tensor(0)), n.type(0))); }
void import_sign(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, is_unsigned(x.dtype()) ? min(x, 1) : sign(x));
}

// The remainder has the sign of the divisor, or with fmod that of the dividend.
void import_mod(Node& n) {
  const Tensor a = n.tensor(0), b = n.tensor(1);
  const bool like_c = n.flag("fmod");
  if (is_float(a.dtype()) && !like_c) n.invalid("floats need fmod = 1");
  if (!like_c || is_unsigned(a.dtype())) return n.result(0, mod(a, b));
  if (is_float(a.dtype())) {
    const Tensor rest = mod(abs(a), abs(b));
    return n.result(0, where(lt(a, 0), -rest, rest));
  }
  const Tensor size = abs(cast(b, i32)), whole = cast(a, i32), rest = mod(whole, size);
  n.result(0, cast(where(logical_and(lt(whole, 0), ne(rest, 0)), rest - size, rest), a.dtype()));
}

// Integer powers by squaring: exact, modulo 2^32. Exponents are read modulo 32, beyond which only 0, 1 and -1 matter.
Tensor integer_power(Tensor base, Tensor exponent) {
  Tensor power = base * 0 + 1;
  for (int bit = 0; bit < 5; ++bit) {
    power = where(ne(bit_and(exponent, 1 << bit), 0), power * base, power);
    if (bit < 4) base = base * base;
  }
  return power;
}

void import_pow(Node& n) {
  const Tensor a = n.tensor(0), b = n.tensor(1);
  if (is_float(a.dtype())) {
    if (n.known(1) && n.elements(1).count() == 1 && n.elements(1).number(0) == 2) return n.result(0, a * a);
    return n.result(0, pow(a, cast(b, a.dtype())));
  }
  if (!is_float(b.dtype())) {
    return n.result(0, n.wrapped(cast(integer_power(cast(a, i32), cast(b, i32)), a.dtype()), n.type(0)));
  }
  // A whole number to the power of a float: computed as floats, and a result that is whole up to rounding is whole.
  const Tensor power = pow(cast(a, f32), cast(b, f32)), whole = round(power);
  n.result(0, cast(where(le(abs(power - whole), abs(power) * 1e-6), whole, power), a.dtype()));
}

void import_bit_shift(Node& n) {
  const std::string direction = n.text("direction");
  const Tensor x = n.tensor(0), by = n.tensor(1);
  if (direction == "LEFT") return n.result(0, n.wrapped(shift_left(x, by), n.type(0)));
  if (direction != "RIGHT") n.invalid("direction \"", direction, "\" is neither LEFT nor RIGHT");
  n.result(0, shift_right(x, by));
}
void import_bit_not(Node& n) { n.result(0, n.wrapped(bit_not(n.tensor(0)), n.type(0))); }
void import_not(Node& n) { n.result(0, logical_not(n.tensor(0))); }

void import_is_inf(Node& n) {
  const Tensor x = n.tensor(0);
  const bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  Tensor found = is_inf(x);
  if (!negative) found = logical_and(found, gt(x, 0));
  if (!positive) found = logical_and(found, lt(x, 0));
  n.result(0, found, ElementType::boolean);
}
void import_is_nan(Node& n) { n.result(0, is_nan(n.tensor(0)), ElementType::boolean); }

void import_where(Node& n) { n.result(0, where(n.tensor(0), n.tensor(1), n.tensor(2)), n.type(1)); }

// A bound that no number on the device is beyond, such as the greatest of 64 bits.
bool idle_bound(const Node& n, int k, bool lower) {
  if (!n.known(k) || !is_integer(n.type(k)) || n.shape(k).count() != 1) return false;
  const double bound = n.value(k).elements().number(0);
  if (n.type(k) == ElementType::u64) return lower ? bound <= 0 : bound >= UINT32_MAX;
  return lower ? bound <= INT32_MIN : bound >= INT32_MAX && is_signed(*carrier_of(n.type(k)));
}

void import_clip(Node& n) {
  Tensor x = n.tensor(0);
  if (n.opset() < 11) {
    if (n.has("min")) x = max(x, n.number("min"));
    if (n.has("max")) x = min(x, n.number("max"));
    return n.result(0, x);
  }
  if (n.has(1) && !idle_bound(n, 1, true)) x = max(x, n.tensor(1));
  if (n.has(2) && !idle_bound(n, 2, false)) x = min(x, n.tensor(2));
  n.result(0, x);
}

// The inverse hyperbolic functions, without cancellation near 0.
void import_asinh(Node& n) {
  const Tensor x = n.tensor(0), size = abs(x), square = size * size;
  const Tensor positive = log1p(size + square / (1.0 + sqrt(square + 1.0)));
  n.result(0, where(lt(x, 0), -positive, positive));
}
void import_acosh(Node& n) {
  const Tensor above = n.tensor(0) - 1.0;
  n.result(0, log1p(above + sqrt(above * (above + 2.0))));
}
void import_atanh(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, (log1p(x) - log1p(-x)) * 0.5);
}

constexpr OpImporter kOps[] = {
    {"Abs", import_abs},
    {"Acos", unary<acos>},
    {"Acosh", import_acosh},
    {"Add", binary<add>},
    {"And", predicate<logical_and>},
    {"Asin", unary<asin>},
    {"Asinh", import_asinh},
    {"Atan", unary<atan>},
    {"Atanh", import_atanh},
    {"BitShift", import_bit_shift},
    {"BitwiseAnd", binary<bit_and>},
    {"BitwiseNot", import_bit_not},
    {"BitwiseOr", binary<bit_or>},
    {"BitwiseXor", binary<bit_xor>},
    {"Ceil", unary<ceil>},
    {"Clip", import_clip},
    {"Cos", unary<cos>},
    {"Cosh", unary<cosh>},
    {"Div", binary<div>},
    {"Equal", predicate<eq>},
    {"Erf", unary<erf>},
    {"Exp", unary<exp>},
    {"Floor", unary<floor>},
    {"Greater", predicate<gt>},
    {"GreaterOrEqual", predicate<ge>},
    {"IsInf", import_is_inf},
    {"IsNaN", import_is_nan},
    {"Less", predicate<lt>},
    {"LessOrEqual", predicate<le>},
    {"Log", unary<log>},
    {"Max", variadic<max>},
    {"Mean", import_mean},
    {"Min", variadic<min>},
    {"Mod", import_mod},
    {"Mul", binary<mul>},
    {"Neg", import_neg},
    {"Not", import_not},
    {"Or", predicate<logical_or>},
    {"Pow", import_pow},
    {"Reciprocal", unary<recip>},
    {"Round", unary<round>},
    {"Sign", import_sign},
    {"Sin", unary<sin>},
    {"Sinh", unary<sinh>},
    {"Sqrt", unary<sqrt>},
    {"Sub", binary<sub>},
    {"Sum", variadic<add>},
    {"Tan", unary<tan>},
    {"Tanh", unary<tanh>},
    {"Where", import_where},
    {"Xor", predicate<logical_xor>},
};

}  // namespace

Importers elementwise_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx

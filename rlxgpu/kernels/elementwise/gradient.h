// Gradients of elementwise ops of real numbers. What was broadcast is added up again.
//
// Where a function has a corner (relu, abs, max of equal numbers) the gradient is one that lies between those of both
// sides. Steps (round, floor, sign) pass nothing on.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_GRADIENT_H_
#define RLXGPU_KERNELS_ELEMENTWISE_GRADIENT_H_

#include "rlxgpu/gradient/rule.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/reduce/gradient.h"

namespace rlxgpu::core {

namespace internal {

// A gradient in the shape of the result, for an operand that was perhaps stretched to it.
constexpr void give_stretched(Gradient& g, int k, Tensor gradient) {
  g.give(k, sum_to(gradient, g.operand(k).shape(), g.site()));
}
constexpr Tensor where_else_zero(Tensor condition, Tensor x, Site at) {
  return where(condition, Rhs(x, at), Rhs(0.0f, at));
}

// The gradient of f(x) is the given one times f'(x), which kSlope makes of x and f(x).
template <Tensor (*kSlope)(Tensor x, Tensor y, Site at)>
constexpr void slope(Gradient& g) {
  g.give(0, g.given() * Rhs(kSlope(g.operand(0), g.result(), g.site()), g.site()));
}
constexpr void nothing(Gradient&) {}

constexpr void neg_gradient(Gradient& g) { g.give(0, neg(g.given(), g.site())); }
constexpr void cast_gradient(Gradient& g) { g.give(0, cast(g.given(), g.operand(0).dtype(), g.site())); }
constexpr void relu_gradient(Gradient& g) {
  g.give(0, where_else_zero(gt(g.operand(0), Rhs(0.0f, g.site())), g.given(), g.site()));
}

constexpr Tensor abs_slope(Tensor x, Tensor, Site at) { return sign(x, at); }
constexpr Tensor exp_slope(Tensor, Tensor y, Site) { return y; }
constexpr Tensor expm1_slope(Tensor, Tensor y, Site at) { return y + Rhs(1.0f, at); }
constexpr Tensor log_slope(Tensor x, Tensor, Site at) { return recip(x, at); }
constexpr Tensor log1p_slope(Tensor x, Tensor, Site at) { return recip(x + Rhs(1.0f, at), at); }
constexpr Tensor sqrt_slope(Tensor, Tensor y, Site at) { return 0.5 / Rhs(y, at); }
constexpr Tensor rsqrt_slope(Tensor, Tensor y, Site at) { return y * Rhs(y, at) * Rhs(y, at) * Rhs(-0.5f, at); }
constexpr Tensor recip_slope(Tensor, Tensor y, Site at) { return neg(y * Rhs(y, at), at); }
constexpr Tensor sin_slope(Tensor x, Tensor, Site at) { return cos(x, at); }
constexpr Tensor cos_slope(Tensor x, Tensor, Site at) { return neg(sin(x, at), at); }
constexpr Tensor tan_slope(Tensor, Tensor y, Site at) { return y * Rhs(y, at) + Rhs(1.0f, at); }
constexpr Tensor asin_slope(Tensor x, Tensor, Site at) { return rsqrt(1.0 - Rhs(x * Rhs(x, at), at), at); }
constexpr Tensor acos_slope(Tensor x, Tensor y, Site at) { return neg(asin_slope(x, y, at), at); }
constexpr Tensor atan_slope(Tensor x, Tensor, Site at) { return recip(x * Rhs(x, at) + Rhs(1.0f, at), at); }
constexpr Tensor sinh_slope(Tensor x, Tensor, Site at) { return cosh(x, at); }
constexpr Tensor cosh_slope(Tensor x, Tensor, Site at) { return sinh(x, at); }
constexpr Tensor tanh_slope(Tensor, Tensor y, Site at) { return 1.0 - Rhs(y * Rhs(y, at), at); }
constexpr Tensor erf_slope(Tensor x, Tensor, Site at) {
  return exp(neg(x * Rhs(x, at), at), at) * Rhs(1.1283791670955126, at);
}

constexpr Tensor sigmoid_slope(Tensor, Tensor y, Site at) { return y * Rhs(1.0 - Rhs(y, at), at); }
constexpr Tensor silu_slope(Tensor x, Tensor, Site at) {
  const Tensor s = sigmoid(x, at);
  return s * Rhs(x * Rhs(1.0 - Rhs(s, at), at) + Rhs(1.0f, at), at);
}
constexpr Tensor gelu_slope(Tensor x, Tensor, Site at) {
  const Tensor below = (erf(x * Rhs(0.70710678118654752, at), at) + Rhs(1.0f, at)) * Rhs(0.5f, at);
  const Tensor density = exp(x * Rhs(x, at) * Rhs(-0.5f, at), at) * Rhs(0.39894228040143268, at);
  return below + Rhs(x * Rhs(density, at), at);
}
constexpr Tensor gelu_tanh_slope(Tensor x, Tensor,
                                 Site at) {  // of x sigmoid(u(x)), u = 2 sqrt(2 / pi) (x + 0.044715 x^3)
  constexpr double kOne = 1.5957691216057308, kThree = 0.071354816272600245;
  const Tensor square = x * Rhs(x, at);
  const Tensor s = sigmoid(x * Rhs(square * Rhs(kThree, at) + Rhs(kOne, at), at), at);
  const Tensor inner = x * Rhs(square * Rhs(3 * kThree, at) + Rhs(kOne, at), at);
  return s + Rhs(s * Rhs(1.0 - Rhs(s, at), at) * Rhs(inner, at), at);
}
constexpr Tensor softplus_slope(Tensor x, Tensor, Site at) { return sigmoid(x, at); }
constexpr Tensor log_sigmoid_slope(Tensor x, Tensor, Site at) { return sigmoid(neg(x, at), at); }
constexpr Tensor mish_slope(Tensor x, Tensor, Site at) {
  const Tensor t = tanh(softplus(x, at), at);
  return t + Rhs(x * Rhs(sigmoid(x, at), at) * Rhs(1.0 - Rhs(t * Rhs(t, at), at), at), at);
}
constexpr Tensor negative(Tensor x, Site at) { return lt(x, Rhs(0.0f, at)); }
constexpr Tensor selu_slope(Tensor x, Tensor y, Site at) {
  return where(negative(x, at), Rhs(y + Rhs(1.7580993408473766, at), at), Rhs(1.0507009873554805, at));
}
constexpr Tensor hard_swish_slope(Tensor x, Tensor, Site at) {
  const Tensor inside =
      where_else_zero(gt(x, Rhs(-3.0f, at)), (x * Rhs(2.0f, at) + Rhs(3.0f, at)) * Rhs(1.0 / 6, at), at);
  return where(lt(x, Rhs(3.0f, at)), Rhs(inside, at), Rhs(1.0f, at));
}

constexpr void leaky_relu_gradient(Gradient& g) {
  const Tensor less = g.given() * Rhs(g.attr_float(0), g.site());
  g.give(0, where(negative(g.operand(0), g.site()), Rhs(less, g.site()), Rhs(g.given(), g.site())));
}
constexpr void elu_gradient(Gradient& g) {  // alpha exp(x) is y + alpha
  const Tensor less = g.given() * Rhs(g.result() + Rhs(g.attr_float(0), g.site()), g.site());
  g.give(0, where(negative(g.operand(0), g.site()), Rhs(less, g.site()), Rhs(g.given(), g.site())));
}
constexpr void hard_sigmoid_gradient(Gradient& g) {
  const Tensor y = g.result();
  const Tensor inside = logical_and(gt(y, Rhs(0.0f, g.site())), Rhs(lt(y, Rhs(1.0f, g.site())), g.site()));
  g.give(0, where_else_zero(inside, g.given() * Rhs(g.attr_float(0), g.site()), g.site()));
}

constexpr void add_gradient(Gradient& g) {
  for (int k = 0; k < 2; ++k) {
    if (g.wanted(k)) give_stretched(g, k, g.given());
  }
}
constexpr void sub_gradient(Gradient& g) {
  if (g.wanted(0)) give_stretched(g, 0, g.given());
  if (g.wanted(1)) give_stretched(g, 1, neg(g.given(), g.site()));
}
constexpr void mul_gradient(Gradient& g) {
  for (int k = 0; k < 2; ++k) {
    if (g.wanted(k)) give_stretched(g, k, g.given() * Rhs(g.operand(1 - k), g.site()));
  }
}
constexpr void div_gradient(Gradient& g) {
  const Tensor share = g.given() / Rhs(g.operand(1), g.site());
  if (g.wanted(0)) give_stretched(g, 0, share);
  if (g.wanted(1)) give_stretched(g, 1, neg(share * Rhs(g.result(), g.site()), g.site()));
}
// Equal operands of max and min: each has half.
constexpr void extreme_of_two_gradient(Gradient& g) {
  const Site at = g.site();
  const Tensor a = g.operand(0), b = g.operand(1), half = g.given() * Rhs(0.5f, at);
  const Tensor of_first =
      where(eq(a, Rhs(b, at)), Rhs(half, at), Rhs(where_else_zero(eq(a, Rhs(g.result(), at)), g.given(), at), at));
  if (g.wanted(0)) give_stretched(g, 0, of_first);
  if (g.wanted(1)) give_stretched(g, 1, g.given() - Rhs(of_first, at));
}
constexpr void pow_gradient(Gradient& g) {
  const Site at = g.site();
  const Tensor x = g.operand(0), y = g.operand(1);
  if (g.wanted(0)) give_stretched(g, 0, g.given() * Rhs(y * Rhs(pow(x, Rhs(y - Rhs(1.0f, at), at)), at), at));
  if (g.wanted(1)) {  // 0^y stays 0 as y changes
    const Tensor slope = where_else_zero(gt(x, Rhs(0.0f, at)), g.result() * Rhs(log(x, at), at), at);
    give_stretched(g, 1, g.given() * Rhs(slope, at));
  }
}
constexpr void mod_gradient(Gradient& g) {  // a - floor(a / b) b
  const Site at = g.site();
  if (g.wanted(0)) give_stretched(g, 0, g.given());
  if (g.wanted(1)) give_stretched(g, 1, neg(g.given() * Rhs(floor(g.operand(0) / Rhs(g.operand(1), at), at), at), at));
}
constexpr void atan2_gradient(Gradient& g) {
  const Site at = g.site();
  const Tensor a = g.operand(0), b = g.operand(1);
  const Tensor share = g.given() / Rhs(a * Rhs(a, at) + Rhs(b * Rhs(b, at), at), at);
  if (g.wanted(0)) give_stretched(g, 0, share * Rhs(b, at));
  if (g.wanted(1)) give_stretched(g, 1, neg(share * Rhs(a, at), at));
}
constexpr void where_gradient(Gradient& g) {
  const Site at = g.site();
  if (g.wanted(1)) give_stretched(g, 1, where_else_zero(g.operand(0), g.given(), at));
  if (g.wanted(2)) give_stretched(g, 2, where_else_zero(logical_not(g.operand(0), at), g.given(), at));
}
constexpr void clamp_gradient(Gradient& g) {  // high wins where low is above it
  const Site at = g.site();
  const Tensor x = g.operand(0), low = g.operand(1), high = g.operand(2);
  const Tensor above = gt(max(x, Rhs(low, at)), Rhs(high, at)),
               below = logical_and(logical_not(above, at), Rhs(lt(x, Rhs(low, at)), at));
  if (g.wanted(0)) give_stretched(g, 0, where(logical_or(above, Rhs(below, at)), Rhs(0.0f, at), Rhs(g.given(), at)));
  if (g.wanted(1)) give_stretched(g, 1, where_else_zero(below, g.given(), at));
  if (g.wanted(2)) give_stretched(g, 2, where_else_zero(above, g.given(), at));
}
constexpr void fma_gradient(Gradient& g) {
  for (int k = 0; k < 2; ++k) {
    if (g.wanted(k)) give_stretched(g, k, g.given() * Rhs(g.operand(1 - k), g.site()));
  }
  if (g.wanted(2)) give_stretched(g, 2, g.given());
}

}  // namespace internal

inline constexpr GradientRule kElementwiseGradients[] = {
    {&kAdd, internal::add_gradient},
    {&kMul, internal::mul_gradient},
    {&kSub, internal::sub_gradient},
    {&kDiv, internal::div_gradient},
    {&kNeg, internal::neg_gradient},
    {&kRelu, internal::relu_gradient},
    {&kCast, internal::cast_gradient},
    {&kWhere, internal::where_gradient},
    {&kExp, internal::slope<internal::exp_slope>},
    {&kLog, internal::slope<internal::log_slope>},
    {&kGelu, internal::slope<internal::gelu_slope>},
    {&kSilu, internal::slope<internal::silu_slope>},
    {&kSigmoid, internal::slope<internal::sigmoid_slope>},
    {&kTanh, internal::slope<internal::tanh_slope>},
    {&kSqrt, internal::slope<internal::sqrt_slope>},
    {&kRsqrt, internal::slope<internal::rsqrt_slope>},
    {&kRecip, internal::slope<internal::recip_slope>},
    {&kAbs, internal::slope<internal::abs_slope>},
    {&kExpm1, internal::slope<internal::expm1_slope>},
    {&kLog1p, internal::slope<internal::log1p_slope>},
    {&kSin, internal::slope<internal::sin_slope>},
    {&kCos, internal::slope<internal::cos_slope>},
    {&kTan, internal::slope<internal::tan_slope>},
    {&kAsin, internal::slope<internal::asin_slope>},
    {&kAcos, internal::slope<internal::acos_slope>},
    {&kAtan, internal::slope<internal::atan_slope>},
    {&kSinh, internal::slope<internal::sinh_slope>},
    {&kCosh, internal::slope<internal::cosh_slope>},
    {&kErf, internal::slope<internal::erf_slope>},
    {&kGeluTanh, internal::slope<internal::gelu_tanh_slope>},
    {&kSoftplus, internal::slope<internal::softplus_slope>},
    {&kLogSigmoid, internal::slope<internal::log_sigmoid_slope>},
    {&kMish, internal::slope<internal::mish_slope>},
    {&kSelu, internal::slope<internal::selu_slope>},
    {&kHardSwish, internal::slope<internal::hard_swish_slope>},
    {&kLeakyRelu, internal::leaky_relu_gradient},
    {&kElu, internal::elu_gradient},
    {&kHardSigmoid, internal::hard_sigmoid_gradient},
    {&kMax, internal::extreme_of_two_gradient},
    {&kMin, internal::extreme_of_two_gradient},
    {&kPow, internal::pow_gradient},
    {&kMod, internal::mod_gradient},
    {&kAtan2, internal::atan2_gradient},
    {&kClamp, internal::clamp_gradient},
    {&kFma, internal::fma_gradient},
    {&kSign, internal::nothing},
    {&kRound, internal::nothing},
    {&kFloor, internal::nothing},
    {&kCeil, internal::nothing},
    {&kTrunc, internal::nothing},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ELEMENTWISE_GRADIENT_H_

// How activations look when they are written out.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_WRITTEN_OUT_H_
#define RLXGPU_KERNELS_ELEMENTWISE_WRITTEN_OUT_H_

#include "rlxgpu/graph/written_out.h"
#include "rlxgpu/kernels/elementwise/activation.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/select.h"
#include "rlxgpu/kernels/elementwise/unary.h"

namespace rlxgpu::core {

namespace written_out {

// x times a number, or divided by its inverse.
constexpr Tensor times(GraphPattern& p, Tensor x, double factor) { return p.either(x * factor, x / (1 / factor)); }
constexpr Tensor square(GraphPattern& p, Tensor x) { return p.either(x * x, pow(x, p.literal(2))); }
constexpr Tensor cube(GraphPattern& p, Tensor x) {
  return p.either(p.either(x * x * x, x * square(p, x)), pow(x, p.literal(3)));
}
// 1 / sqrt(x).
constexpr Tensor inverse_root(GraphPattern& p, Tensor x) {
  return p.either(p.either(rsqrt(x), pow(x, p.literal(-0.5))), p.either(recip(sqrt(x)), 1 / sqrt(x)));
}
constexpr Tensor root(GraphPattern& p, Tensor x) { return p.either(sqrt(x), pow(x, p.literal(0.5))); }

constexpr Tensor sigmoid_by_quotient(GraphPattern& p) {
  const Tensor x = p.any("x");
  return 1 / (1 + exp(-x));
}
constexpr Tensor sigmoid_by_inverse(GraphPattern& p) {
  const Tensor x = p.any("x");
  return recip(1 + exp(-x));
}
constexpr Tensor to_sigmoid(Match& m) { return sigmoid(m["x"]); }

constexpr Tensor silu_by_sigmoid(GraphPattern& p) {
  const Tensor x = p.any("x");
  return x * sigmoid(x);
}
constexpr Tensor silu_by_quotient(GraphPattern& p) {
  const Tensor x = p.any("x");
  return x / (1 + exp(-x));
}
constexpr Tensor to_silu(Match& m) { return silu(m["x"]); }

constexpr Tensor softplus_by_log(GraphPattern& p) {
  const Tensor x = p.any("x");
  return log(1 + exp(x));
}
constexpr Tensor softplus_by_log1p(GraphPattern& p) { return log1p(exp(p.any("x"))); }
constexpr Tensor to_softplus(Match& m) { return softplus(m["x"]); }

constexpr Tensor mish_by_tanh(GraphPattern& p) {
  const Tensor x = p.any("x");
  return x * tanh(softplus(x));
}
constexpr Tensor to_mish(Match& m) { return mish(m["x"]); }

// x clamp(x + 3, 0, 6) / 6 in its orders.
constexpr Tensor six(GraphPattern& p, Tensor x) {
  const Tensor moved = x + 3;
  return p.either(clamp(moved, 0, 6), p.either(min(max(moved, 0), 6), min(relu(moved), 6)));
}
constexpr Tensor hard_swish_by_product(GraphPattern& p) {
  const Tensor x = p.any("x");
  const Tensor whole = times(p, x * six(p, x), 1.0 / 6), part = x * times(p, six(p, x), 1.0 / 6);
  return p.either(whole, p.either(part, x * hard_sigmoid(x, 1.0f / 6, 0.5f)));
}
constexpr Tensor to_hard_swish(Match& m) { return hard_swish(m["x"]); }

// x (1 + t) / 2 in all orders of its factors.
constexpr Tensor half_of_one_more(GraphPattern& p, Tensor x, Tensor t) {
  const Tensor one_more = 1 + t;
  return p.either(times(p, x, 0.5) * one_more, p.either(x * times(p, one_more, 0.5), times(p, x * one_more, 0.5)));
}
constexpr Tensor gelu_by_erf(GraphPattern& p) {
  const Tensor x = p.any("x");
  return half_of_one_more(p, x, erf(times(p, x, 0.70710678118654752)));
}
constexpr Tensor to_gelu(Match& m) { return gelu(m["x"]); }

constexpr Tensor gelu_by_tanh(GraphPattern& p) {
  constexpr double kFactor = 0.79788456080286536, kCubic = 0.044715;  // sqrt(2 / pi)
  const Tensor x = p.any("x");
  const Tensor cubic = p.either(cube(p, x) * kCubic, p.either(x * kCubic * x * x, x * kCubic * square(p, x)));
  const Tensor sum = times(p, x + cubic, kFactor);
  const Tensor product = p.either(x * kFactor * (1 + x * kCubic * x), x * kFactor * (1 + square(p, x) * kCubic));
  return half_of_one_more(p, x, tanh(p.either(sum, product)));
}
constexpr Tensor to_gelu_tanh(Match& m) { return gelu_tanh(m["x"]); }

}  // namespace written_out

inline constexpr WrittenOut kElementwiseForms[] = {
    {"sigmoid", &kDiv, written_out::sigmoid_by_quotient, written_out::to_sigmoid},
    {"sigmoid", &kRecip, written_out::sigmoid_by_inverse, written_out::to_sigmoid},
    {"silu", &kMul, written_out::silu_by_sigmoid, written_out::to_silu},
    {"silu", &kDiv, written_out::silu_by_quotient, written_out::to_silu},
    {"softplus", &kLog, written_out::softplus_by_log, written_out::to_softplus},
    {"softplus", &kLog1p, written_out::softplus_by_log1p, written_out::to_softplus},
    {"mish", &kMul, written_out::mish_by_tanh, written_out::to_mish},
    {"hard_swish", &kMul, written_out::hard_swish_by_product, written_out::to_hard_swish},
    {"hard_swish", &kDiv, written_out::hard_swish_by_product, written_out::to_hard_swish},
    {"gelu", &kMul, written_out::gelu_by_erf, written_out::to_gelu},
    {"gelu", &kDiv, written_out::gelu_by_erf, written_out::to_gelu},
    {"gelu_tanh", &kMul, written_out::gelu_by_tanh, written_out::to_gelu_tanh},
    {"gelu_tanh", &kDiv, written_out::gelu_by_tanh, written_out::to_gelu_tanh},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ELEMENTWISE_WRITTEN_OUT_H_

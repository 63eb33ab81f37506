// When a norm and the products behind it are one dispatch (normed_linear): the planner's choice, by target and rows.
//
// On a GPU, for as many rows as do not fill it with products alone; on a CPU for a few only, since the kernels of many
// rows reuse more of what they load when the norm is apart (lavapipe, a BERT-base layer of 128 tokens: 383 ms with it,
// 48 without).
#ifndef RLXGPU_KERNELS_NORM_NORMED_PRODUCT_H_
#define RLXGPU_KERNELS_NORM_NORMED_PRODUCT_H_

#include "rlxgpu/graph/written_out.h"
#include "rlxgpu/kernels/elementwise/activation.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"

namespace rlxgpu::core {

namespace written_out {

constexpr int64_t kMostNormedRows = 512, kMostGatedRows = 32, kMostNormedRowsOnCpu = 8;

constexpr bool prefers_normed_linear(const Shape& x, const Target& target, bool gated) {
  const int64_t width = x[x.rank() - 1];
  const int64_t most = target.adapter_class == AdapterClass::software ? kMostNormedRowsOnCpu
                       : gated                                        ? kMostGatedRows
                                                                      : kMostNormedRows;
  return width > 0 && x.count() / width <= most;
}

// `normal` is read by the root alone, or first: then the product keeps it for those behind.
constexpr Tensor with_norm(Match& m, Tensor normal, Tensor w, Tensor up, Activation activation) {
  if (!m.is(normal, kLayerNorm) && !m.is(normal, kRmsNorm)) return {};
  const NormAttrs norm(m.call(normal).attrs);
  const Tensor x = m.operand(normal, 0);
  const int rank = x.shape().rank();
  if (norm.keep || rank < 2 || norm.first != rank - 1 || norm.last != rank || w.shape().rank() != 2) return {};
  if (!prefers_normed_linear(x.shape(), m.target(), up.given())) return {};
  const bool keep = m.uses(normal) > 1;
  if (keep && m.uses_so_far(normal) > 1) return {};
  const Tensor weight = norm.has_weight ? m.operand(normal, 1) : Tensor();
  const Tensor bias = norm.has_bias ? m.operand(normal, 1 + norm.has_weight) : Tensor();
  const NormedLinear made =
      normed_linear(x, w,
                    {.norm = {.weight = weight, .bias = bias, .epsilon = norm.epsilon, .centred = norm.centred},
                     .up = up,
                     .activation = activation,
                     .keep = keep},
                    m.site());
  if (keep) m.replace(normal, made.normal);
  return made.y;
}

constexpr Tensor any_product(GraphPattern& p) { return matmul(p.any("x"), p.any("w")); }
constexpr Tensor to_normed_product(Match& m) { return with_norm(m, m["x"], m["w"], {}, Activation::none); }

template <Activation kActivation>
constexpr Tensor any_gated_product(GraphPattern& p) {
  return gated_matmul(p.any("x", 2), p.any("w", 2), p.any("up", 2), kActivation);
}
template <Activation kActivation>
constexpr Tensor to_normed_gated_product(Match& m) {
  return with_norm(m, m["x"], m["w"], m["up"], kActivation);
}

// What follows joins it here where maps cannot: the kernel stores the norm besides.
constexpr Tensor joined(Match& m, Tensor product, Tensor bias, Activation activation) {
  const NormedLinearAttrs attrs(m.call(product).attrs);
  if (!attrs.keep || attrs.up >= 0 || attrs.activation != Activation::none || m.uses(product) > 1) return {};
  if (bias.given() && (attrs.bias >= 0 || bias.shape().rank() != 1)) return {};
  const Tensor normal = result_of(product, 1);
  if (m.uses_so_far(normal) > 0) return {};
  const auto operand = [&](int k) { return k >= 0 ? m.operand(product, k) : Tensor(); };
  const NormedLinear made = normed_linear(operand(0), operand(1),
                                          {.norm = {.weight = operand(attrs.scale),
                                                    .bias = operand(attrs.shift),
                                                    .epsilon = attrs.epsilon,
                                                    .centred = attrs.centred},
                                           .bias = bias.given() ? bias : operand(attrs.bias),
                                           .activation = activation,
                                           .keep = true},
                                          m.site());
  m.replace(normal, made.normal);
  return made.y;
}
constexpr Tensor any_sum(GraphPattern& p) { return p.any("a") + p.any("b"); }
constexpr Tensor with_product_bias(Match& m) {
  for (int k = 0; k < 2; ++k) {
    const Tensor product = m.operand(m.root(), k), bias = m.operand(m.root(), 1 - k);
    if (!m.is(product, kNormedLinear)) continue;
    const Tensor y = joined(m, product, bias, Activation::none);
    if (y.given()) return y;
  }
  return {};
}
constexpr Tensor any_gelu(GraphPattern& p) { return gelu(p.any("x")); }
constexpr Tensor any_silu(GraphPattern& p) { return silu(p.any("x")); }
template <Activation kActivation>
constexpr Tensor with_activation(Match& m) {
  return m.is(m["x"], kNormedLinear) ? joined(m, m["x"], {}, kActivation) : Tensor();
}

}  // namespace written_out

inline constexpr WrittenOut kNormedProducts[] = {
    {"normed_linear", &kMatmul, written_out::any_product, written_out::to_normed_product},
    {"normed_linear with a gate", &kGatedMatmul, written_out::any_gated_product<Activation::silu>,
     written_out::to_normed_gated_product<Activation::silu>},
    {"normed_linear with a gate", &kGatedMatmul, written_out::any_gated_product<Activation::gelu>,
     written_out::to_normed_gated_product<Activation::gelu>},
    {"normed_linear with a bias", &kAdd, written_out::any_sum, written_out::with_product_bias},
    {"normed_linear with gelu", &kGelu, written_out::any_gelu, written_out::with_activation<Activation::gelu>},
    {"normed_linear with silu", &kSilu, written_out::any_silu, written_out::with_activation<Activation::silu>},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_NORM_NORMED_PRODUCT_H_

// How norms look when they are written out: first without weight and bias, which join them one after the other.
#ifndef RLXGPU_KERNELS_NORM_WRITTEN_OUT_H_
#define RLXGPU_KERNELS_NORM_WRITTEN_OUT_H_

#include "rlxgpu/graph/written_out.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/unary.h"
#include "rlxgpu/kernels/elementwise/written_out.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {

namespace written_out {

// The mean over one axis, or over all from there on.
constexpr Tensor mean_over(GraphPattern& p, Tensor x, bool to_the_end) {
  Axes axes(p.axis());
  if (to_the_end) axes.count = 0;
  for (int axis = p.axis(); to_the_end && axis < p.rank(); ++axis) axes.axis[axes.count++] = axis;
  return mean(x, axes, {.keep_dims = true});
}
// y / sqrt(variance + epsilon).
constexpr Tensor over_deviation(GraphPattern& p, Tensor y, Tensor variance) {
  const Tensor sum = variance + p.number("epsilon");
  return p.either(y * inverse_root(p, sum), y / root(p, sum));
}

template <bool kToTheEnd>
constexpr Tensor layer_norm_by_mean(GraphPattern& p) {
  if (kToTheEnd && p.axis() + 1 == p.rank()) return {};  // one axis: the other form
  const Tensor x = p.any("x"), middle = mean_over(p, x, kToTheEnd), centred = x - middle;
  const Tensor by_squares = mean_over(p, square(p, centred), kToTheEnd);
  const Tensor by_moments = mean_over(p, square(p, x), kToTheEnd) - square(p, middle);
  return over_deviation(p, centred, p.either(by_squares, by_moments));
}
template <bool kToTheEnd>
constexpr Tensor rms_norm_by_mean(GraphPattern& p) {
  if (kToTheEnd && p.axis() + 1 == p.rank()) return {};
  const Tensor x = p.any("x");
  return over_deviation(p, x, mean_over(p, square(p, x), kToTheEnd));
}
template <bool kToTheEnd, const OpDef& kOp>
constexpr Tensor to_norm(Match& m) {
  const Tensor x = m["x"];
  return internal::norm(kOp, x, {}, {}, m.axis(), kToTheEnd ? x.shape().rank() : m.axis() + 1,
                        static_cast<float>(m.number("epsilon")), m.site());
}

// A weight or bias as norms want it: of the normalised axes' extents, with or without axes of 1 before (and behind)
// them; else Tensor().
constexpr Tensor of_normalised(Tensor row, const Shape& x, const NormAttrs& norm, Site site) {
  const Shape shape = row.shape();
  Shape wanted;
  for (int axis = norm.first; axis < norm.last; ++axis) wanted.push_back(x.dim(axis));
  if (wanted.dynamic()) return {};
  const int missing = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t extent = axis < missing ? 1 : shape[axis - missing];
    const bool inside = axis >= norm.first && axis < norm.last;
    if (missing < 0 || extent != (inside ? x[axis] : 1)) return {};
  }
  return shape == wanted ? row : reshape(row, wanted, site);
}

// norm(x) times a weight; norm(x) plus a bias.
constexpr Tensor norm_of(Match& m, Tensor normal, Tensor row, bool is_weight) {
  const Call call = m.call(normal);
  const NormAttrs norm(call.attrs);
  const bool centred = norm.centred;
  if (norm.keep || norm.has_bias || (is_weight && norm.has_weight) || m.uses(normal) > 1) return {};
  if (!is_weight && !centred) return {};
  const float epsilon = norm.epsilon;
  const int first = norm.first, last = norm.last;
  const Tensor x = m.operand(normal, 0), weight = norm.has_weight ? m.operand(normal, 1) : Tensor();
  const Tensor given = of_normalised(row, x.shape(), norm, m.site());
  if (!given.given() || !given.valid() || !is_float(given.dtype())) return {};
  return internal::norm(centred ? kLayerNorm : kRmsNorm, x, is_weight ? given : weight, is_weight ? Tensor() : given,
                        first, last, epsilon, m.site());
}
// One of the root's operands is a norm: m["normal"] and the other, in whatever order.
template <bool kWeight>
constexpr Tensor with_row(Match& m) {
  for (int k = 0; k < 2; ++k) {
    const Tensor normal = m.operand(m.root(), k), row = m.operand(m.root(), 1 - k);
    if (!m.is(normal, kLayerNorm) && !m.is(normal, kRmsNorm)) continue;
    const Tensor y = norm_of(m, normal, row, kWeight);
    if (y.given()) return y;
  }
  return {};
}
constexpr Tensor product_of_two(GraphPattern& p) { return p.any("a") * p.any("b"); }
constexpr Tensor sum_of_two(GraphPattern& p) { return p.any("a") + p.any("b"); }

// x f + (bias - mean f) with f = weight / sqrt(variance + epsilon), as TensorFlow writes it.
constexpr Tensor layer_norm_by_factor(GraphPattern& p) {
  const Tensor x = p.any("x"), middle = mean_over(p, x, false), centred = x - middle;
  const Tensor variance = mean_over(p, square(p, centred), false);
  const Tensor factor = inverse_root(p, variance + p.number("epsilon")) * p.any("weight");
  return x * factor + (p.any("bias") - middle * factor);
}
constexpr Tensor to_layer_norm_of_rows(Match& m) {
  const Tensor x = m["x"];
  const int64_t attrs[] = {m.axis(), m.axis() + 1, 1, 1, 1, 0, 0};
  const NormAttrs norm(attrs);
  const Shape shape = x.shape();
  const Tensor weight = of_normalised(m["weight"], shape, norm, m.site());
  const Tensor bias = of_normalised(m["bias"], shape, norm, m.site());
  if (!weight.given() || !bias.given()) return {};
  return internal::norm(kLayerNorm, x, weight, bias, m.axis(), m.axis() + 1, static_cast<float>(m.number("epsilon")),
                        m.site());
}

}  // namespace written_out

inline constexpr WrittenOut kNormForms[] = {
    {"layer_norm", &kMul, written_out::layer_norm_by_mean<false>, written_out::to_norm<false, kLayerNorm>, true},
    {"layer_norm", &kMul, written_out::layer_norm_by_mean<true>, written_out::to_norm<true, kLayerNorm>, true},
    {"layer_norm", &kDiv, written_out::layer_norm_by_mean<false>, written_out::to_norm<false, kLayerNorm>, true},
    {"layer_norm", &kDiv, written_out::layer_norm_by_mean<true>, written_out::to_norm<true, kLayerNorm>, true},
    {"layer_norm", &kAdd, written_out::layer_norm_by_factor, written_out::to_layer_norm_of_rows, true},
    {"rms_norm", &kMul, written_out::rms_norm_by_mean<false>, written_out::to_norm<false, kRmsNorm>, true},
    {"rms_norm", &kMul, written_out::rms_norm_by_mean<true>, written_out::to_norm<true, kRmsNorm>, true},
    {"rms_norm", &kDiv, written_out::rms_norm_by_mean<false>, written_out::to_norm<false, kRmsNorm>, true},
    {"rms_norm", &kDiv, written_out::rms_norm_by_mean<true>, written_out::to_norm<true, kRmsNorm>, true},
    {"norm with a weight", &kMul, written_out::product_of_two, written_out::with_row<true>},
    {"norm with a bias", &kAdd, written_out::sum_of_two, written_out::with_row<false>},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_NORM_WRITTEN_OUT_H_

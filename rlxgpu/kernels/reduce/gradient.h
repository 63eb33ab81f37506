// Gradients of reductions, and sum_to: the other way of a broadcast, which the rules of many ops need.
//
//   sum_to(gradient, bias.shape())      // over the axes that were stretched
//
// reduce_max and reduce_min share a gradient equally among equal elements.
#ifndef RLXGPU_KERNELS_REDUCE_GRADIENT_H_
#define RLXGPU_KERNELS_REDUCE_GRADIENT_H_

#include "rlxgpu/gradient/rule.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/expand.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {

// The elements of x that a tensor of this shape was stretched to, added up.
constexpr Tensor sum_to(Tensor x, const Shape& shape, Site site) {
  const Shape from = x.shape();
  if (from == shape) return x;
  const int shift = from.rank() - shape.rank();
  Axes axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool stretched = axis < shift || !(shape.dim(axis - shift) == from.dim(axis));
    if (stretched) axes.axis[axes.count++] = axis;
  }
  if (axes.count > 0) x = sum(x, axes, {}, site);
  return reshape(x, shape, site);
}

namespace internal {

// A value of the reduced shape (axes dropped or kept) beside the elements that it came from.
constexpr Tensor beside_elements(const Gradient& g, Tensor reduced) {
  const Shape from = g.operand(0).shape();
  return reshape(reduced, reduced_shape(from, g.attrs().subspan(1), true), g.site());
}
constexpr Tensor spread(const Gradient& g, Tensor reduced) {
  return expand(beside_elements(g, reduced), g.operand(0).shape(), g.site());
}
constexpr void sum_gradient(Gradient& g) { g.give(0, spread(g, g.given())); }

constexpr void mean_gradient(Gradient& g) {
  const Shape from = g.operand(0).shape();
  const ReducedAxes reduced(g.attrs().subspan(1), from.rank());
  double count = 1;
  Tensor share = g.given();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (!reduced[axis]) continue;
    if (from.symbol(axis) < 0) {
      count *= static_cast<double>(from[axis]);
    } else {
      share = share / Rhs(cast(g.builder().extent_value(from.dim(axis)), share.dtype(), g.site()), g.site());
    }
  }
  g.give(0, spread(g, share * Rhs(1 / count, g.site())));
}

constexpr void extreme_gradient(Gradient& g) {
  const Tensor x = g.operand(0);
  const Tensor chosen = cast(eq(x, Rhs(beside_elements(g, g.result()), g.site())), x.dtype(), g.site());
  Axes axes;
  for (const int64_t axis : g.attrs().subspan(1)) axes.axis[axes.count++] = axis;
  const Tensor ties = axes.count == 0 ? chosen : sum(chosen, axes, {.keep_dims = true}, g.site());
  g.give(0, beside_elements(g, g.given()) / Rhs(ties, g.site()) * Rhs(chosen, g.site()));
}

constexpr void l1_gradient(Gradient& g) {
  g.give(0, spread(g, g.given()) * Rhs(sign(g.operand(0), g.site()), g.site()));
}
constexpr void l2_gradient(Gradient& g) {
  g.give(0, g.operand(0) * Rhs(beside_elements(g, g.given() / Rhs(g.result(), g.site())), g.site()));
}
constexpr void sum_square_gradient(Gradient& g) {
  g.give(0, g.operand(0) * Rhs(beside_elements(g, g.given() * Rhs(2.0f, g.site())), g.site()));
}
constexpr void log_sum_exp_gradient(Gradient& g) {
  const Tensor share = exp(g.operand(0) - Rhs(beside_elements(g, g.result()), g.site()), g.site());
  g.give(0, share * Rhs(beside_elements(g, g.given()), g.site()));
}

}  // namespace internal

inline constexpr GradientRule kReduceGradients[] = {
    {&kSum, internal::sum_gradient},
    {&kMean, internal::mean_gradient},
    {&kReduceMax, internal::extreme_gradient},
    {&kReduceMin, internal::extreme_gradient},
    {&kL1, internal::l1_gradient},
    {&kL2, internal::l2_gradient},
    {&kSumSquare, internal::sum_square_gradient},
    {&kLogSumExp, internal::log_sum_exp_gradient},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_GRADIENT_H_

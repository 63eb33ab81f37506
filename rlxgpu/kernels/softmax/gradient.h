// Gradients of softmax and log_softmax, from their results.
#ifndef RLXGPU_KERNELS_SOFTMAX_GRADIENT_H_
#define RLXGPU_KERNELS_SOFTMAX_GRADIENT_H_

#include "rlxgpu/gradient/rule.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"

namespace rlxgpu::core {

namespace internal {

constexpr void softmax_gradient(Gradient& g) {
  const Site at = g.site();
  const Tensor weighted = g.given() * Rhs(g.result(), at);
  const Tensor all = sum(weighted, static_cast<int>(g.attr(0)), {.keep_dims = true}, at);
  g.give(0, weighted - Rhs(g.result() * Rhs(all, at), at));
}
constexpr void log_softmax_gradient(Gradient& g) {
  const Site at = g.site();
  const Tensor all = sum(g.given(), static_cast<int>(g.attr(0)), {.keep_dims = true}, at);
  g.give(0, g.given() - Rhs(exp(g.result(), at) * Rhs(all, at), at));
}

}  // namespace internal

inline constexpr GradientRule kSoftmaxGradients[] = {
    {&kSoftmax, internal::softmax_gradient},
    {&kLogSoftmax, internal::log_softmax_gradient},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SOFTMAX_GRADIENT_H_

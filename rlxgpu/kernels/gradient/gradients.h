// gradients(y, {x...}): how y changes with each x, as ordinary nodes of the same graph; stop_gradient(x).
//
//   Tensor loss = mean(square);
//   Vec<Tensor> d = gradients(loss, {w, b});                      // d[0] has the shape and type of w
//   Tensor curvature = gradients(sum(d[0] * v), {w})[0];          // of gradients: a Hessian times v
//   gradients(loss, {w}, {.rules = kMyGradients});                // with the rules of ops of your own
//
// y is a float; where it has several elements the gradient is that of their sum. A gradient to what y does not depend
// on is zero. Rules exist for the elementwise ops of real numbers, data movement, reductions (but prod), matmul,
// softmax and log_softmax; any other op on the way is an error that names it. Inputs, params, states and results of ops
// may be x.
#ifndef RLXGPU_KERNELS_GRADIENT_GRADIENTS_H_
#define RLXGPU_KERNELS_GRADIENT_GRADIENTS_H_

#include <initializer_list>
#include <source_location>
#include <span>

#include "rlxgpu/gradient/walk.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/gradient.h"
#include "rlxgpu/kernels/matmul/gradient.h"
#include "rlxgpu/kernels/movement/gradient.h"
#include "rlxgpu/kernels/reduce/gradient.h"
#include "rlxgpu/kernels/softmax/gradient.h"

namespace rlxgpu::core {

struct GradientOptions {
  GradientRules rules = {};  // looked at before those of rlxgpu
};

inline constexpr OpDef kStopGradient = {
    .name = "stop_gradient",
    .infer = [](Infer& infer) { infer.result(infer.dtype(0), infer.shape(0)); },
    .at = [](At& at) { at.result() << at.operand(0); },
    .fold = internal::fold_same_type,
    .reference = [](reference::Call& call) { call.result().data = call.operand(0).data; },
    .accuracy = {0},
};
// x, as a constant to gradients. Costs nothing.
constexpr Tensor stop_gradient(Tensor x, Site site = std::source_location::current()) {
  return apply(kStopGradient, {x}, site);
}

inline constexpr GradientRule kStopGradientRule[] = {{&kStopGradient, internal::nothing}};

constexpr Vec<Tensor> gradients(Tensor y, std::span<const Tensor> targets, GradientOptions options = {},
                                Site site = std::source_location::current()) {
  Builder& builder = y.builder();
  Vec<Tensor> found;
  if (y.valid() && !is_float(y.dtype()))
    builder.fail(site, "gradients: of a float, not of ", name_of(y.dtype()), y.shape());
  for (const Tensor& x : targets) {
    if (x.valid() && (&x.builder() != &builder || !is_float(x.dtype()))) {
      builder.fail(site, "gradients: to floats of the same graph, not to ", name_of(x.dtype()), x.shape());
    }
    found.push_back({&builder, -1});
    if (!x.valid()) return found.resize(targets.size(), Tensor(&builder, -1)), found;
  }
  if (!y.valid() || !builder.ok()) return found;
  const GradientRules tables[] = {options.rules,    kElementwiseGradients, kMovementGradients, kMatmulGradients,
                                  kReduceGradients, kSoftmaxGradients,     kStopGradientRule};
  const auto add_parts = [](Tensor a, Tensor b, Site at) { return a + Rhs(b, at); };
  const Tensor seed = filled(builder, 1, y.dtype(), y.shape(), site);
  found = GradientWalk(y, seed, targets, tables, add_parts, site).run();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!found[i].given()) found[i] = filled(builder, 0, targets[i].dtype(), targets[i].shape(), site);
  }
  return found;
}
constexpr Vec<Tensor> gradients(Tensor y, std::initializer_list<Tensor> targets, GradientOptions options = {},
                                Site site = std::source_location::current()) {
  return gradients(y, std::span<const Tensor>(targets.begin(), targets.size()), options, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::GradientOptions, core::gradients, core::stop_gradient;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_GRADIENT_GRADIENTS_H_

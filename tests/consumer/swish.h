// swish(x, beta) = x * sigmoid(beta * x): a map op of a user's own. It has no kernel: it joins those around it.
#ifndef CONSUMER_SWISH_H_
#define CONSUMER_SWISH_H_

#include <cmath>

#include "rlxgpu/rlxgpu.h"

namespace consumer {

using rlxgpu::Tensor;

constexpr void swish_infer(rlxgpu::core::Infer& infer) {
  if (infer.dtype(0) != rlxgpu::f32) return infer.fail("takes f32, not ", rlxgpu::core::name_of(infer.dtype(0)));
  infer.result(rlxgpu::f32, infer.shape(0));
}

constexpr void swish_at(rlxgpu::core::At& at) {
  at.result() << "swish(" << at.operand(0) << ", bitcast<f32>(" << rlxgpu::core::Hex{static_cast<uint32_t>(at.attr(0))}
              << "u))";
}

inline constexpr std::string_view kSwishFunction =
    "fn swish(x : f32, beta : f32) -> f32 { return x / (1.0 + exp(-beta * x)); }\n";

inline void swish_reference(rlxgpu::core::reference::Call& call) {
  for (int64_t i = 0; i < call.result().count(); ++i) {
    const double x = call.operand(0)[i];
    call.result()[i] = x / (1 + std::exp(-call.attr_float(0) * x));
  }
}

inline constexpr rlxgpu::core::OpDef kSwish = {
    .name = "swish",
    .infer = swish_infer,
    .at = swish_at,
    .wgsl = {kSwishFunction},
    .reference = swish_reference,
};

constexpr Tensor swish(Tensor x, float beta, rlxgpu::core::Site site = std::source_location::current()) {
  return apply(kSwish, {x}, {rlxgpu::core::attr_of(beta)}, site);
}

}  // namespace consumer

#endif  // CONSUMER_SWISH_H_

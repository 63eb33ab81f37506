// Activation: one of the activations that a kernel file applies in a slot of its own, before it multiplies by a gate.
//
//   dispatch.slot("act", act_text(Activation::silu));      // fn act(v : f32) -> f32
//
// (What only follows an op needs none of this: maps are fused.)
#ifndef RLXGPU_KERNELS_ELEMENTWISE_ACTIVATION_SLOT_H_
#define RLXGPU_KERNELS_ELEMENTWISE_ACTIVATION_SLOT_H_

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/functions.h"

namespace rlxgpu::core {

enum class Activation : uint8_t { none, gelu, silu, gelu_tanh };

constexpr std::string_view act_text(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "fn act(v : f32) -> f32 { return rlx_gelu(v); }";
    case Activation::gelu_tanh:
      return "fn act(v : f32) -> f32 {\n"
             "  return v / (1.0f + rlx_exp(v * (-1.59576912f - 0.0713548163f * (v * v))));\n}";
    case Activation::silu:
      return "fn act(v : f32) -> f32 { return v / (1.0f + rlx_exp(-v)); }";
    default:
      return {};
  }
}

// Functions that it calls.
constexpr Functions act_functions(Activation activation) {
  if (activation == Activation::none) return {};
  return {kExpFunctions, activation == Activation::gelu ? std::string_view(kErfFunctions) : std::string_view()};
}

// What it means.
inline double activated(Activation activation, double v) {
  if (activation == Activation::gelu) return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  if (activation == Activation::gelu_tanh)
    return v / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
  return activation == Activation::silu ? v / (1 + std::exp(-v)) : v;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Activation;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_ACTIVATION_SLOT_H_

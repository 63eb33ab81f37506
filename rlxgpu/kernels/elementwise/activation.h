// Activations: functions of one tensor that neural networks put between products.
//
//   Tensor y = gelu(matmul(x, w) + b);      // joins the product's kernel
//
// Floats only unless said otherwise. None gives NaN for a finite argument, however large; NaN gives NaN.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_ACTIVATION_H_
#define RLXGPU_KERNELS_ELEMENTWISE_ACTIVATION_H_

#include <cmath>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/functions.h"
#include "rlxgpu/kernels/elementwise/reference.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline constexpr OpDef kRelu =
    elementwise<Form{.floats = "select(@0, 0.0, @0 < 0.0)", .integers = "max(@0, 0)", .signed_only = true},
                reference::relu>("relu");
// max(x, 0). Floats, i32, i8.
constexpr Tensor relu(Tensor x, Site site = std::source_location::current()) { return apply(kRelu, {x}, site); }

inline constexpr OpDef kSigmoid =
    elementwise<Form{.floats = "(1.0 / (1.0 + rlx_exp(-@0)))"}, reference::sigmoid>("sigmoid", {kExpFunctions});
constexpr Tensor sigmoid(Tensor x, Site site = std::source_location::current()) { return apply(kSigmoid, {x}, site); }

inline constexpr OpDef kSilu =
    elementwise<Form{.floats = "(@0 / (1.0 + rlx_exp(-@0)))"}, reference::silu>("silu", {kExpFunctions});
// x sigmoid(x), also called swish.
constexpr Tensor silu(Tensor x, Site site = std::source_location::current()) { return apply(kSilu, {x}, site); }

inline constexpr OpDef kGelu = with_accuracy(
    elementwise<Form{.floats = "rlx_gelu(@0)"}, reference::gelu>("gelu", {kExpFunctions, kErfFunctions}), {8, 0x1p-24});
// x (1 + erf(x / sqrt(2))) / 2.
constexpr Tensor gelu(Tensor x, Site site = std::source_location::current()) { return apply(kGelu, {x}, site); }

inline constexpr OpDef kGeluTanh = with_accuracy(
    elementwise<Form{.floats = "(@0 / (1.0 + rlx_exp(@0 * (-1.59576912 - 0.0713548163 * (@0 * @0)))))"},
                reference::gelu_tanh>("gelu_tanh", {kExpFunctions}),
    {8, 0x1p-26});
// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which is x sigmoid(twice that argument).
constexpr Tensor gelu_tanh(Tensor x, Site site = std::source_location::current()) {
  return apply(kGeluTanh, {x}, site);
}

inline constexpr OpDef kSoftplus = elementwise<Form{.floats = "rlx_softplus(@0)"}, reference::softplus>(
    "softplus", {kExpFunctions, kLogFunctions, kSoftplusFunctions});
// log(1 + exp(x)).
constexpr Tensor softplus(Tensor x, Site site = std::source_location::current()) { return apply(kSoftplus, {x}, site); }

inline constexpr OpDef kLogSigmoid = elementwise<Form{.floats = "(-rlx_softplus(-@0))"}, reference::log_sigmoid>(
    "log_sigmoid", {kExpFunctions, kLogFunctions, kSoftplusFunctions});
constexpr Tensor log_sigmoid(Tensor x, Site site = std::source_location::current()) {
  return apply(kLogSigmoid, {x}, site);
}

inline constexpr OpDef kMish =
    elementwise<Form{.floats = "rlx_mish(@0)"}, reference::mish>("mish", {kExpFunctions, kMishFunctions});
// x tanh(softplus(x)).
constexpr Tensor mish(Tensor x, Site site = std::source_location::current()) { return apply(kMish, {x}, site); }

inline constexpr OpDef kSelu =
    elementwise<Form{.floats = "(1.05070099 * select(@0, 1.67326324 * rlx_expm1(@0), @0 < 0.0))"}, reference::selu>(
        "selu", {kExpFunctions});
constexpr Tensor selu(Tensor x, Site site = std::source_location::current()) { return apply(kSelu, {x}, site); }

inline constexpr OpDef kHardSwish =
    elementwise<Form{.floats = "(@0 * clamp((@0 + 3.0) * 0.166666667, 0.0, 1.0))"}, reference::hard_swish>(
        "hard_swish");
// x clamp((x + 3) / 6, 0, 1).
constexpr Tensor hard_swish(Tensor x, Site site = std::source_location::current()) {
  return apply(kHardSwish, {x}, site);
}

// With parameters, which are f32 whatever the tensor is.
namespace internal {

inline void leaky_relu_reference(reference::Call& call) {
  const double slope = call.attr_float(0);
  for (int64_t i = 0; i < call.result().count(); ++i) {
    const double x = call.operand(0)[i];
    call.result()[i] = x < 0 ? slope * x : x;
  }
}
inline void elu_reference(reference::Call& call) {
  const double alpha = call.attr_float(0);
  for (int64_t i = 0; i < call.result().count(); ++i) {
    const double x = call.operand(0)[i];
    call.result()[i] = x < 0 ? alpha * std::expm1(x) : x;
  }
}
inline void hard_sigmoid_reference(reference::Call& call) {
  const double alpha = call.attr_float(0), beta = call.attr_float(1);
  for (int64_t i = 0; i < call.result().count(); ++i) {
    call.result()[i] = reference::clamp(alpha * call.operand(0)[i] + beta, 0, 1);
  }
}

template <Form kForm, void (*kReference)(reference::Call&)>
constexpr OpDef with_reference(std::string_view name, Functions wgsl = {}) {
  OpDef op = elementwise<kForm>(name, wgsl);
  op.reference = kReference;
  return op;
}

}  // namespace internal

inline constexpr OpDef kLeakyRelu =
    internal::with_reference<Form{.floats = "select(@0, #0 * @0, @0 < 0.0)"}, internal::leaky_relu_reference>(
        "leaky_relu");
// x, or slope x where x < 0.
constexpr Tensor leaky_relu(Tensor x, float slope = 0.01f, Site site = std::source_location::current()) {
  return apply(kLeakyRelu, {x}, {attr_of(slope)}, site);
}

inline constexpr OpDef kElu =
    internal::with_reference<Form{.floats = "select(@0, #0 * rlx_expm1(@0), @0 < 0.0)"}, internal::elu_reference>(
        "elu", {kExpFunctions});
// x, or alpha (exp(x) - 1) where x < 0.
constexpr Tensor elu(Tensor x, float alpha = 1.0f, Site site = std::source_location::current()) {
  return apply(kElu, {x}, {attr_of(alpha)}, site);
}

inline constexpr OpDef kHardSigmoid = with_accuracy(
    internal::with_reference<Form{.floats = "rlx_clamp(#0 * @0 + #1, 0.0, 1.0)"}, internal::hard_sigmoid_reference>(
        "hard_sigmoid", {kNanFunctions, kClampFunctions}),
    {8, 0x1p-23});
// clamp(alpha x + beta, 0, 1); the defaults are ONNX's.
constexpr Tensor hard_sigmoid(Tensor x, float alpha = 0.2f, float beta = 0.5f,
                              Site site = std::source_location::current()) {
  return apply(kHardSigmoid, {x}, {attr_of(alpha), attr_of(beta)}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::elu, core::gelu, core::gelu_tanh, core::hard_sigmoid, core::hard_swish, core::leaky_relu,
    core::log_sigmoid, core::mish, core::relu, core::selu, core::sigmoid, core::silu, core::softplus;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_ACTIVATION_H_

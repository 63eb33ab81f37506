// Activation functions, and the softmax family.
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

template <Tensor (*kOp)(Tensor, Site)>
void plain(Node& n) {
  n.result(0, kOp(n.tensor(0), Site()));
}

void import_relu(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, is_float(x.dtype()) || is_signed(x.dtype()) ? relu(x) : x);
}
void import_leaky_relu(Node& n) { n.result(0, leaky_relu(n.tensor(0), n.number("alpha", 0.01f))); }
void import_elu(Node& n) { n.result(0, elu(n.tensor(0), n.number("alpha", 1.0f))); }
void import_hard_sigmoid(Node& n) {
  n.result(0, hard_sigmoid(n.tensor(0), n.number("alpha", 0.2f), n.number("beta", 0.5f)));
}
void import_selu(Node& n) {
  const float alpha = n.number("alpha", 1.67326319f), gamma = n.number("gamma", 1.05070102f);
  n.result(0, elu(n.tensor(0), alpha) * gamma);
}
void import_celu(Node& n) {
  const float alpha = n.number("alpha", 1.0f);
  if (alpha == 0) n.invalid("alpha is 0");
  const Tensor x = n.tensor(0);
  n.result(0, where(lt(x, 0), expm1(x * (1.0 / alpha)) * alpha, x));
}
void import_gelu(Node& n) {
  const std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") n.invalid("approximate is \"", approximate, "\"");
  n.result(0, approximate == "none" ? gelu(n.tensor(0)) : gelu_tanh(n.tensor(0)));
}
void import_swish(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, x * sigmoid(x * n.number("alpha", 1.0f)));
}
void import_softsign(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, x / (abs(x) + 1.0));
}
void import_thresholded_relu(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, where(gt(x, n.number("alpha", 1.0f)), x, 0.0));
}
void import_shrink(Node& n) {
  const Tensor x = n.tensor(0);
  const double lambda = n.number("lambd", 0.5f), bias = n.number("bias", 0.0f);
  if (!is_float(x.dtype())) n.unsupported("integers are not supported");
  n.result(0, where(lt(x, -lambda), x + bias, where(gt(x, lambda), x - bias, 0.0)));
}
void import_prelu(Node& n) {
  const Tensor x = n.tensor(0);
  const Tensor scaled = n.wrapped(x * n.tensor(1), n.type(0));
  const bool has_sign = is_float(x.dtype()) || is_signed(x.dtype());
  n.result(0, has_sign ? where(lt(x, 0), scaled, x) : expand(x, scaled.shape()));
}

// Before opset 13 the axes from `axis` on were taken as one.
template <typename Op>
void along_axis(Node& n, Op op) {
  const Tensor x = n.tensor(0);
  const int rank = x.shape().rank();
  if (n.opset() >= 13) return n.result(0, op(x, n.axis(n.integer("axis", -1), rank)));
  const int64_t axis = n.integer("axis", 1);
  const Tensor flat = flatten(x, axis == rank ? rank : n.axis(axis, rank));
  n.result(0, reshape(op(flat, 1), x.shape()));
}
void import_softmax(Node& n) {
  along_axis(n, [](Tensor x, int axis) { return softmax(x, axis); });
}
void import_log_softmax(Node& n) {
  along_axis(n, [](Tensor x, int axis) { return log_softmax(x, axis); });
}
void import_hardmax(Node& n) {
  along_axis(n, [](Tensor x, int axis) { return one_hot(argmax(x, axis), x.shape()[axis], axis, x.dtype()); });
}

constexpr OpImporter kOps[] = {
    {"Celu", import_celu},
    {"Elu", import_elu},
    {"Gelu", import_gelu},
    {"HardSigmoid", import_hard_sigmoid},
    {"HardSwish", plain<hard_swish>},
    {"Hardmax", import_hardmax},
    {"LeakyRelu", import_leaky_relu},
    {"LogSoftmax", import_log_softmax},
    {"Mish", plain<mish>},
    {"PRelu", import_prelu},
    {"Relu", import_relu},
    {"Selu", import_selu},
    {"Shrink", import_shrink},
    {"Sigmoid", plain<sigmoid>},
    {"Softmax", import_softmax},
    {"Softplus", plain<softplus>},
    {"Softsign", import_softsign},
    {"Swish", import_swish},
    {"ThresholdedRelu", import_thresholded_relu},
};

}  // namespace

Importers activation_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx

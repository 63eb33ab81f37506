// LSTM, GRU, RNN.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/recurrent/recurrent.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

struct NamedActivation {
  std::string_view name;
  CellActivation defaults;
  int numbers = 0;  // alpha, then beta
};
constexpr NamedActivation kActivations[] = {
    {"affine", {CellActivationKind::affine, 1, 0}, 2},
    {"elu", {CellActivationKind::elu, 1, 0}, 1},
    {"hardsigmoid", {CellActivationKind::hard_sigmoid, 0.2f, 0.5f}, 2},
    {"leakyrelu", {CellActivationKind::leaky_relu, 0.01f, 0}, 1},
    {"relu", {CellActivationKind::relu}, 0},
    {"scaledtanh", {CellActivationKind::scaled_tanh, 1, 1}, 2},
    {"sigmoid", {CellActivationKind::sigmoid}, 0},
    {"softplus", {CellActivationKind::softplus}, 0},
    {"softsign", {CellActivationKind::softsign}, 0},
    {"tanh", {CellActivationKind::tanh}, 0},
    {"thresholdedrelu", {CellActivationKind::thresholded_relu, 1, 0}, 1},
};

std::vector<CellActivation> activations_of(Node& n) {
  const std::vector<float> alphas = n.numbers("activation_alpha"), betas = n.numbers("activation_beta");
  size_t alpha = 0, beta = 0;  // handed out in order to those that take one
  std::vector<CellActivation> all;
  for (std::string name : n.texts("activations")) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const NamedActivation& a) { return a.name == name; });
    if (found == std::end(kActivations)) n.unsupported("activation \"", name, "\"");
    CellActivation one = found->defaults;
    if (found->numbers > 0 && alpha < alphas.size()) one.alpha = alphas[alpha++];
    if (found->numbers > 1 && beta < betas.size()) one.beta = betas[beta++];
    all.push_back(one);
  }
  return all;
}

using Cell = Recurrent (*)(Tensor, const RecurrentWeights&, const RecurrentOptions&, Site);

void import_cell(Node& n, Cell cell, bool has_cell_state) {
  const std::string direction = n.text("direction", "forward");
  const bool batch_first = n.integer("layout", 0) != 0;
  RecurrentOptions options;
  if (direction == "reverse") {
    options.direction = Direction::reverse;
  } else if (direction == "bidirectional") {
    options.direction = Direction::both;
  } else if (direction != "forward") {
    n.invalid("direction is \"", direction, "\"");
  }
  options.clip = n.number("clip", 0.0f);
  options.linear_before_reset = n.flag("linear_before_reset");
  options.coupled = n.flag("input_forget");
  const std::vector<CellActivation> activations = activations_of(n);
  options.activations = activations;
  n.ignore({"hidden_size", "output_sequence"});  // the weights say it; opset 7 gave what is asked for anyway
  const auto turned = [&](Tensor x) { return batch_first && x.given() ? transpose(x, {1, 0, 2}) : x; };
  RecurrentWeights weights{.w = n.tensor(1), .r = n.tensor(2)};
  weights.bias = n.tensor_or_none(3);
  weights.lengths = n.tensor_or_none(4);
  weights.initial_h = turned(n.tensor_or_none(5));
  if (has_cell_state) weights.initial_c = turned(n.tensor_or_none(6)), weights.peepholes = n.tensor_or_none(7);
  const Recurrent made = cell(turned(n.tensor(0)), weights, options, {});
  n.check();
  n.result(0, batch_first ? transpose(made.y, {2, 0, 1, 3}) : made.y);
  n.result(1, turned(made.h));
  if (has_cell_state) n.result(2, turned(made.c));
}

void import_lstm(Node& n) { import_cell(n, lstm, true); }
void import_gru(Node& n) { import_cell(n, gru, false); }
void import_rnn(Node& n) { import_cell(n, rnn, false); }

constexpr OpImporter kOps[] = {
    {"GRU", import_gru},
    {"LSTM", import_lstm},
    {"RNN", import_rnn},
};

}  // namespace

Importers recurrent_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx

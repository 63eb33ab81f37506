// Mixtures of experts: a router gives each token a few, whose results are added up.
#include <limits>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/kernels/sort/sort.h"
#include "rlxgpu/models/net.h"

namespace rlxgpu::core::models {
namespace {

// gpt-oss: g = min(gate, 7), u = clamp(up, -7, 7): g sigmoid(1.702 g) (u + 1).
Tensor clamped_gate(Tensor gate, Tensor up) {
  const Tensor low = min(gate, 7.0f);
  return low * sigmoid(low * 1.702f) * (clamp(up, -7.0f, 7.0f) + 1.0f);
}

Tensor expert_results(const Layer& l, Tensor x, Tensor expert, const MixtureParts& parts) {
  Tensor gate, up;
  if (l.has("ffn_gate_up_exps")) {
    const Tensor both = l.expert_linear(x, "ffn_gate_up_exps", expert);
    if (!both.valid()) return both;
    const int64_t hidden = both.shape()[1] / 2;
    gate = narrow(both, 1, 0, hidden), up = narrow(both, 1, hidden, hidden);
  } else {
    up = l.expert_linear(x, "ffn_up_exps", expert);
    if (l.has("ffn_gate_exps")) gate = l.expert_linear(x, "ffn_gate_exps", expert);
  }
  if (!up.valid()) return up;
  const Tensor hidden = parts.clamped  ? clamped_gate(gate, up)
                        : gate.given() ? internal::activated(gate, parts.gate) * up
                                       : internal::activated(up, parts.gate);
  return l.expert_linear(hidden, "ffn_down_exps", expert);
}

// Scores of experts that are in no group of the best are -infinity.
Tensor within_best_groups(Tensor scores, int64_t groups, int64_t used) {
  const Shape shape = scores.shape();
  const Tensor members = reshape(scores, {shape.dim(0), Dim(groups), Dim(shape[1] / groups)});
  const Tensor best = topk(sum(topk(members, 2, -1).values, -1), used, -1).indices;
  const Tensor kept = sum(one_hot(best, groups), -2);
  return reshape(where(gt(unsqueeze(kept, {-1}), 0.5f), members, -std::numeric_limits<float>::infinity()), shape);
}

}  // namespace

Tensor Layer::mixture(Tensor x, const MixtureParts& parts) const {
  using Choice = MixtureParts::Choice;
  const int64_t used = meta().integer("expert_used_count");
  const Tensor logits = linear(x, "ffn_gate_inp");
  if (!logits.valid()) return logits;
  const Tensor scores = parts.choice == Choice::softmax   ? softmax(logits, -1)
                        : parts.choice == Choice::sigmoid ? sigmoid(logits)
                                                          : logits;
  Tensor wanted = has("exp_probs_b.bias") ? scores + weight("exp_probs_b.bias") : scores;
  if (parts.groups > 1) wanted = within_best_groups(wanted, parts.groups, parts.groups_used);
  const Tensor experts = topk(wanted, used, -1).indices;  // (token, choice)
  Tensor weights = gather_elements(scores, experts, -1);
  if (parts.choice == Choice::chosen_softmax) weights = softmax(weights, -1);
  if (parts.normalised) weights = weights / max(sum(weights, -1, {.keep_dims = true}), 6.103515625e-5f);
  if (parts.scale != 0 && parts.scale != 1) weights = weights * parts.scale;

  const Shape shape = x.shape();
  if (shape.dynamic()) {  // rows may not be multiplied: one choice after the other
    Tensor y;
    for (int64_t c = 0; c < used; ++c) {
      const Tensor expert = squeeze(narrow(experts, 1, c, 1), {1});
      const Tensor part = expert_results(*this, x, expert, parts) * narrow(weights, 1, c, 1);
      y = c == 0 ? part : y + part;
    }
    return y;
  }
  const Tensor rows = reshape(expand(unsqueeze(x, {1}), {shape[0], used, shape[1]}), {shape[0] * used, shape[1]});
  const Tensor y = expert_results(*this, rows, reshape(experts, {shape[0] * used}), parts);
  if (!y.valid()) return y;
  return sum(reshape(y, {shape[0], used, shape[1]}) * unsqueeze(weights, {-1}), 1);
}

}  // namespace rlxgpu::core::models

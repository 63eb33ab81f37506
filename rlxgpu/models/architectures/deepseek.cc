// DeepSeek V1 to V3. From V2 on, a token's keys and values are remembered as one short vector c and a turned key that
// all heads share (multi-head latent attention): queries are brought into c's space instead of c into theirs.
#include <algorithm>
#include <cmath>

#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {
namespace {

// x: (text, token, head, a) by w: (head, b, a): (text, token, head, b)
Tensor by_head(Tensor x, Tensor w) {
  if (w.valid() && w.shape().rank() == 2) w = unsqueeze(w, {0});  // of one head
  const Tensor y = matmul(transpose(x, {0, 2, 1, 3}), transpose(w, {0, 2, 1}));
  return transpose(y, {0, 2, 1, 3});
}

Tensor latent_attention(const Layer& l, Tensor x) {
  Net& n = l.net();
  const Metadata& meta = n.meta();
  const int64_t heads = meta.integer("attention.head_count"), rank = meta.integer("attention.kv_lora_rank");
  const int64_t turned = meta.integer("rope.dimension_count"), size = meta.integer("attention.key_length_mla");
  if (!l.has("attn_k_b")) {
    n.g().fail(std::source_location::current(),
               "the file has attn_kv_b, but not attn_k_b and attn_v_b: convert it again");
    return {&n.g(), -1};
  }
  const AttentionParts rope = {.rope = Rope::neighbours};
  const Tensor latent = l.has("attn_q_a") ? l.linear(l.rms_norm(l.linear(x, "attn_q_a"), "attn_q_a_norm"), "attn_q_b")
                                          : l.linear(x, "attn_q");
  const Tensor q = n.heads(latent, heads, size);
  const Tensor own = by_head(narrow(q, 3, 0, size - turned), l.weight("attn_k_b"));
  const Tensor queries = concat({own, l.turned(narrow(q, 3, size - turned, turned), rope)}, 3);

  const Tensor kv = l.linear(x, "attn_kv_a_mqa");
  const Tensor c = n.heads(l.rms_norm(narrow(kv, 1, 0, rank), "attn_kv_a_norm"), 1, rank);
  const Tensor keys = concat({c, l.turned(n.heads(narrow(kv, 1, rank, turned), 1, turned), rope)}, 3);

  // YaRN's magnitude is in the scale of the scores, twice.
  const double multiplier = meta.number("rope.scaling.yarn_log_multiplier") / 0.1,
               factor = meta.number("rope.scaling.factor");
  const double magnitude = multiplier != 0 && factor > 1 ? 1 + 0.1 * multiplier * std::log(factor) : 1;
  const Tensor mixed =
      l.attend(queries, keys, c, {.scale = magnitude * magnitude / std::sqrt(static_cast<double>(size))});
  return l.linear(n.flat(by_head(mixed, l.weight("attn_v_b"))), "attn_output");
}

void stack_of(Net& n, bool latent) {
  const Metadata& meta = n.meta();
  const bool sigmoid = meta.integer("expert_gating_func") == 2;
  const MixtureParts mixture = {.choice = sigmoid ? MixtureParts::Choice::sigmoid : MixtureParts::Choice::softmax,
                                .normalised = meta.flag("expert_weights_norm"),
                                .scale = meta.number("expert_weights_scale"),
                                .groups = std::max<int64_t>(1, meta.integer("expert_group_count")),
                                .groups_used = std::max<int64_t>(1, meta.integer("expert_group_used_count"))};
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Tensor normal = l.rms_norm(x, "attn_norm");
    x = x + (latent ? latent_attention(l, normal) : l.attention(normal, {.rope = Rope::neighbours}));
    const Tensor second = l.rms_norm(x, "ffn_norm");
    x = x + (l.has("ffn_gate_inp") ? l.mixture(second, mixture) + l.gated(second, Gate::silu, "_shexp")
                                   : l.gated(second, Gate::silu));
  }
  n.finish(x, Norm::rms);
}

}  // namespace

void deepseek(Net& n) { stack_of(n, false); }
void deepseek2(Net& n) { stack_of(n, n.meta().integer("attention.kv_lora_rank") > 0); }

}  // namespace rlxgpu::core::models

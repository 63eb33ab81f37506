// Granite 3, dense and with experts: Llama with four multipliers. Granite 4 has Mamba 2 in most layers.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {

namespace {

void scaled(Net& n, Rope rope) {
  const auto factor = [&](std::string_view key) {
    const double value = n.meta().number(key);
    return value == 0 ? 1 : value;
  };
  const double residual = factor("residual_scale");
  Tensor x = n.embedded() * factor("embedding_scale");
  for (const Layer& l : n.layers()) {
    const AttentionParts parts = {.rope = rope, .scale = n.meta().number("attention.scale")};
    const Tensor first = l.rms_norm(x, "attn_norm");
    x = x + (l.has("ssm_in") ? recurrent_mixer(l, first) : l.attention(first, parts)) * residual;
    const Tensor normal = l.rms_norm(x, "ffn_norm");
    Tensor y = l.has("ffn_gate_inp") ? l.mixture(normal, {}) : l.gated(normal, Gate::silu);
    if (l.has("ffn_up_shexp")) y = y + l.gated(normal, Gate::silu, "_shexp");
    x = x + y * residual;
  }
  n.finish(x, Norm::rms, {.scale = 1 / factor("logit_scale")});
}

}  // namespace

void granite(Net& n) { scaled(n, n.meta().flag("rope.scaling.finetuned", true) ? Rope::neighbours : Rope::none); }
void granitemoe(Net& n) { scaled(n, Rope::neighbours); }

}  // namespace rlxgpu::core::models

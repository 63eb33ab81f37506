// Llama 1 to 3, Mistral, TinyLlama, SmolLM; with experts Mixtral. Pre-norm, rotary positions, gated units.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {

void llama(Net& n) {
  const double scale = n.meta().number("attention.scale");
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = Rope::neighbours, .scale = scale});
    const Tensor normal = l.rms_norm(x, "ffn_norm");
    x = x + (l.has("ffn_gate_inp") ? l.mixture(normal, {}) : l.gated(normal, Gate::silu));
  }
  n.finish(x, Norm::rms);
}

}  // namespace rlxgpu::core::models

// StableLM: layer norms, rotary positions of a part of the columns, gated units; the 12B model has one norm a layer.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {

void stablelm(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Tensor normal = l.layer_norm(x, "attn_norm");
    x = x + l.attention(normal, {.rope = Rope::halves, .norm = Norm::layer});
    x = x + l.gated(l.has("ffn_norm") ? l.layer_norm(x, "ffn_norm") : normal, Gate::silu);
  }
  n.finish(x, Norm::layer);
}

}  // namespace rlxgpu::core::models

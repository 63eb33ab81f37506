// Phi 2, whose attention and units read the same norm; Phi 3 and 4, whose gate and up are one matrix; PhiMoE.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {

void phi2(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Tensor normal = l.layer_norm(x, "attn_norm");
    x = x + l.attention(normal, {.rope = Rope::halves}) + l.gated(normal, Gate::gelu);
  }
  n.finish(x, Norm::layer);
}

void phi3(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = Rope::halves});
    x = x + l.gated(l.rms_norm(x, "ffn_norm"), Gate::silu);
  }
  n.finish(x, Norm::rms);
}

}  // namespace rlxgpu::core::models

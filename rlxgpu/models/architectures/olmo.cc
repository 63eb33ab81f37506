// OLMo 2 and OLMoE: norms of whole rows of queries and keys; OLMo 2 has its norms behind both halves of a layer, and
// none before them.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {

void olmo2(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const int64_t window = l.window(0);
    x = x + l.rms_norm(l.attention(x, {.rope = Rope::halves, .window = window, .rope_scaled = window == 0}),
                       "post_attention_norm");
    x = x + l.rms_norm(l.gated(x, Gate::silu), "post_ffw_norm");
  }
  n.finish(x, Norm::rms);
}

void olmoe(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = Rope::halves});
    x = x + l.mixture(l.rms_norm(x, "ffn_norm"), {.normalised = false});
  }
  n.finish(x, Norm::rms);
}

}  // namespace rlxgpu::core::models

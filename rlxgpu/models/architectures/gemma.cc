// Gemma 1 to 3: embeddings times the root of their width, gated gelu; from 2 on norms also behind both halves of a
// layer, and windows on most layers.
#include <cmath>

#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {
namespace {

Tensor scaled_embedding(Net& n) { return n.embedded() * std::sqrt(static_cast<double>(n.width())); }

// The largest models divide by the root of another width.
double score_scale(const Net& n, int64_t layers_of_the_largest) {
  if (n.meta().integer("block_count") != layers_of_the_largest) return 0;
  return std::sqrt(static_cast<double>(n.meta().integer("attention.head_count")) / static_cast<double>(n.width()));
}

Tensor sandwiched(const Layer& l, Tensor x, const AttentionParts& parts) {
  x = x + l.rms_norm(l.attention(l.rms_norm(x, "attn_norm"), parts), "post_attention_norm");
  return x + l.rms_norm(l.gated(l.rms_norm(x, "ffn_norm"), Gate::gelu), "post_ffw_norm");
}

}  // namespace

void gemma(Net& n) {
  Tensor x = scaled_embedding(n);
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = Rope::halves});
    x = x + l.gated(l.rms_norm(x, "ffn_norm"), Gate::gelu);
  }
  n.finish(x, Norm::rms);
}

void gemma2(Net& n) {
  Tensor x = scaled_embedding(n);
  for (const Layer& l : n.layers()) {
    x = sandwiched(l, x,
                   {.rope = Rope::halves,
                    .scale = score_scale(n, 46),
                    .softcap = n.meta().number("attn_logit_softcapping", 50),
                    .window = l.window(2)});
  }
  n.finish(x, Norm::rms, {.softcap = n.meta().number("final_logit_softcapping", 30)});
}

void gemma3(Net& n) {
  Tensor x = scaled_embedding(n);
  for (const Layer& l : n.layers()) {
    const int64_t window = l.window(6);
    x = sandwiched(l, x,
                   {.rope = Rope::halves,
                    .scale = score_scale(n, 62),
                    .window = window,
                    .rope_base = window > 0 ? n.meta().number("rope.freq_base_swa", 10000) : 0,
                    .rope_scaled = window == 0});
  }
  n.finish(x, Norm::rms, {.softcap = n.meta().number("final_logit_softcapping")});
}

}  // namespace rlxgpu::core::models

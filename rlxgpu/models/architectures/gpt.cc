// GPT-2, StarCoder 1 and 2, GPT-NeoX, Falcon, CodeShell, Bloom, MPT: layer norms and plain units with gelu. Positions
// are learned, rotary, or a bias that grows with the distance.
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {
namespace {

void sequential(Net& n, Tensor x, const AttentionParts& parts) {
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.layer_norm(x, "attn_norm"), parts);
    x = x + l.gated(l.layer_norm(x, "ffn_norm"), Gate::gelu);
  }
  n.finish(x, Norm::layer);
}

}  // namespace

void gpt2(Net& n) { sequential(n, n.embedded() + n.learned_places(), {}); }

void starcoder2(Net& n) { sequential(n, n.embedded(), {.rope = Rope::halves}); }

void mpt(Net& n) {
  const Tensor x = n.has("position_embd") ? n.embedded() + n.learned_places() : n.embedded();
  sequential(n, x, {.norm = Norm::layer, .alibi = n.meta().number("attention.max_alibi_bias")});
}

void bloom(Net& n) { sequential(n, n.layer_norm(n.embedded(), "token_embd_norm"), {.alibi = 8}); }

void gptneox(Net& n) {
  const bool parallel = n.meta().flag("use_parallel_residual", true);
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Tensor attended = x + l.attention(l.layer_norm(x, "attn_norm"), {.rope = Rope::halves});
    x = attended + l.gated(l.layer_norm(parallel ? x : attended, "ffn_norm"), Gate::gelu);
  }
  n.finish(x, Norm::layer);
}

// Both halves of a layer read a norm of the same x; the largest model has one for each.
void falcon(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Tensor normal = l.layer_norm(x, "attn_norm");
    const Tensor first = l.has("attn_norm_2") ? l.layer_norm(x, "attn_norm_2") : normal;
    x = x + l.attention(first, {.rope = Rope::halves}) + l.gated(normal, Gate::gelu);
  }
  n.finish(x, Norm::layer);
}

}  // namespace rlxgpu::core::models

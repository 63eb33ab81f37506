// Architectures that are Llama but for one or two things.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {
namespace {

struct Unlike {
  AttentionParts attention = {};
  Norm norm = Norm::rms;
  Gate gate = Gate::silu;
  std::string_view second_norm = "ffn_norm";
};

void like_llama(Net& n, const Unlike& unlike) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.norm(x, "attn_norm", unlike.norm), unlike.attention);
    x = x + l.gated(l.norm(x, unlike.second_norm, unlike.norm), unlike.gate);
  }
  n.finish(x, unlike.norm);
}

}  // namespace

void arcee(Net& n) { like_llama(n, {.attention = {.rope = Rope::neighbours}, .gate = Gate::relu_squared}); }
void exaone(Net& n) { like_llama(n, {.attention = {.rope = Rope::halves}}); }
void hunyuan_dense(Net& n) { like_llama(n, {.attention = {.rope = Rope::halves, .norm_after_rope = true}}); }
void nemotron(Net& n) {
  like_llama(n, {.attention = {.rope = Rope::halves}, .norm = Norm::layer, .gate = Gate::relu_squared});
}
void orion(Net& n) { like_llama(n, {.attention = {.rope = Rope::halves}, .norm = Norm::layer}); }
void seed_oss(Net& n) { like_llama(n, {.attention = {.rope = Rope::halves}, .second_norm = "post_attention_norm"}); }

// Every fourth layer knows no positions.
void smollm3(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Rope rope = (l.index() + 1) % 4 != 0 ? Rope::neighbours : Rope::none;
    x = x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = rope});
    x = x + l.gated(l.rms_norm(x, "ffn_norm"), Gate::silu);
  }
  n.finish(x, Norm::rms);
}

void phimoe(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.norm(x, "attn_norm", Norm::rms), {.rope = Rope::halves});
    x = x + l.mixture(l.norm(x, "ffn_norm", Norm::rms), {});
  }
  n.finish(x, Norm::rms);
}

void dbrx(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.layer_norm(x, "attn_norm"), {.rope = Rope::halves});
    x = x + l.mixture(l.layer_norm(x, "attn_output_norm"), {});
  }
  n.finish(x, Norm::layer);
}

}  // namespace rlxgpu::core::models

// GPT-OSS: sinks that take part of the attention, windows on every other layer, experts with biases and a clamped gate.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {

void gpt_oss(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = Rope::halves, .window = l.window(2)});
    x = x + l.mixture(l.rms_norm(x, "post_attention_norm"),
                      {.choice = MixtureParts::Choice::chosen_softmax, .normalised = false, .clamped = true});
  }
  n.finish(x, Norm::rms);
}

}  // namespace rlxgpu::core::models

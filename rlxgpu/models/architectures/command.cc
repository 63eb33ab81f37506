// Command R and Cohere 2: layer norms without biases, attention and units side by side, scaled logits. Cohere 2 turns
// only the layers with a window.
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {
namespace {

void side_by_side(Net& n, bool windows) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const int64_t window = windows ? l.window(4) : 0;
    const Rope rope = !windows || window > 0 ? Rope::neighbours : Rope::none;
    const Tensor normal = l.layer_norm(x, "attn_norm");
    x = x + l.attention(normal, {.rope = rope, .norm = Norm::layer, .window = window}) + l.gated(normal, Gate::silu);
  }
  const double scale = n.meta().number("logit_scale", 1);
  n.finish(x, Norm::layer, {.scale = scale == 0 ? 1 : scale});
}

}  // namespace

void command_r(Net& n) { side_by_side(n, false); }
void cohere2(Net& n) { side_by_side(n, true); }

}  // namespace rlxgpu::core::models

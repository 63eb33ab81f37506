// Qwen 2 and 3, dense and with experts. Qwen 2 has biases of queries, keys and values; Qwen 3 norms of their heads.
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {
namespace {

Tensor attended(const Layer& l, Tensor x) {
  return x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = Rope::halves});
}

// The expert that takes every token, as far as a gate of its own lets it.
Tensor shared_expert(const Layer& l, Tensor x) {
  const Tensor gate = sum(x * l.weight("ffn_gate_inp_shexp"), -1, {.keep_dims = true});
  return l.gated(x, Gate::silu, "_shexp") * sigmoid(gate);
}

}  // namespace

void qwen2(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = attended(l, x);
    x = x + l.gated(l.rms_norm(x, "ffn_norm"), Gate::silu);
  }
  n.finish(x, Norm::rms);
}

void qwen2moe(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = attended(l, x);
    const Tensor normal = l.rms_norm(x, "ffn_norm");
    x = x + l.mixture(normal, {.normalised = false}) + shared_expert(l, normal);
  }
  n.finish(x, Norm::rms);
}

void qwen3moe(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    x = attended(l, x);
    x = x + l.mixture(l.rms_norm(x, "ffn_norm"), {});
  }
  n.finish(x, Norm::rms);
}

}  // namespace rlxgpu::core::models

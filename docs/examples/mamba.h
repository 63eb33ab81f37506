// Mamba: a decoder without attention. What it knows of the tokens before is a state of fixed size, so that every token
// costs the same, however many there were.
//
//   Weights weights(device);  States states(device);
//   Executable<examples::Mamba<kSize, 64>> prefill(device, {.weights = weights, .states = states});
//   Executable<examples::Mamba<kSize, 1>> decode(device, {.weights = weights, .states = states});
//   prefill.set<"tokens">(prompt);  prefill.run();
//   auto next = prefill.get<"next">();                // the likeliest token after each
//   states.clear();                                   // another text begins
//
// A layer has two states: the inputs that its convolution still reaches, and that of the scan. It is ten dispatches.
#ifndef DOCS_EXAMPLES_MAMBA_H_
#define DOCS_EXAMPLES_MAMBA_H_

#include "docs/examples/decoder_parts.h"
#include "docs/examples/layer_weights.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/kv_cache/kv_append.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/state_space/state_space.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct MambaSize {
  int layers = 4;
  int width = 256;
  int inner = 512;
  int state = 16;  // numbers for each channel
  int rank = 16;   // of the product that makes the steps
  int kernel = 4;  // tokens that the convolution sees
  int vocabulary = 4096;
  int few_tokens = 32;
};

// silu of sums over each channel's last tokens, those of the run before included.
constexpr Tensor causal_convolution(const LayerWeights& w, Builder& g, Tensor x, int tokens, const MambaSize& size) {
  const int reach = size.kernel - 1;
  const Tensor before = w.state("window", {reach, size.inner}), taps = w("conv", {size.kernel, size.inner});
  const Tensor window = concat({before, x}, 0);
  Tensor y = w("bconv", {size.inner});
  for (int k = 0; k < size.kernel; ++k) y = y + narrow(window, 0, k, tokens) * narrow(taps, 0, k, 1);
  y = silu(y);  // before the window moves on
  kv_append(before, narrow(window, 0, tokens, reach), g.literal(0, u32), 0);
  return y;
}

constexpr Tensor mamba_layer(Builder& g, int index, Tensor x, int tokens, const MambaSize& size) {
  const LayerWeights w(g, index);
  const int d = size.width, inner = size.inner, n = size.state, rank = size.rank;
  const bool few = tokens <= size.few_tokens;
  const Tensor both = normed_product(x, w("g", {d}), w("win", {d, 2 * inner}), few);  // (token, channels and gates)
  const Tensor channels = causal_convolution(w, g, narrow(both, 1, 0, inner), tokens, size);
  const Tensor found = matmul(channels, w("wx", {inner, rank + 2 * n}));  // (token, steps b c)
  const Tensor delta = softplus(matmul(narrow(found, 1, 0, rank), w("wdelta", {rank, inner})) + w("bdelta", {inner}));
  const auto batch = [](Tensor t) { return unsqueeze(t, {0}); };
  const Tensor y = selective_scan(batch(channels), batch(delta), -exp(w("a", {inner, n})),
                                  batch(narrow(found, 1, rank, n)), batch(narrow(found, 1, rank + n, n)),
                                  {.skip = w("skip", {inner}), .state = w.state("h", {1, inner, n})});
  const Tensor gated = reshape(y, {tokens, inner}) * silu(narrow(both, 1, inner, inner));
  return x + matmul(gated, w("wout", {inner, d}));
}

template <MambaSize kSize, int kTokens>
struct Mamba {
  static constexpr void build(Builder& g) {
    const Tensor tokens = g.input("tokens", u32, {kTokens});
    Tensor x = embedding(g.param("words", f32, {kSize.vocabulary, kSize.width}), tokens);
    for (int i = 0; i < kSize.layers; ++i) x = mamba_layer(g, i, x, kTokens, kSize);
    const Tensor last = rms_norm(x, g.param("g", f32, {kSize.width}));
    const Tensor logits = matmul(last, g.param("out", f32, {kSize.width, kSize.vocabulary}));
    g.output("logits", logits);
    g.output("next", argmax(logits));
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_MAMBA_H_

// Llama: a pre-norm decoder with rotary positions, shared heads of keys, gated units and a cache, as two programs.
//
//   Weights weights(device);  States cache(device);
//   Executable<examples::Llama<kSize, 64>> prefill(device, {.weights = weights, .states = cache});   // 64 tokens at
//   once Executable<examples::Llama<kSize, 1>> decode(device, {.weights = weights, .states = cache});     // one at a
//   time prefill.set<"tokens">(prompt);  prefill.set<"position">(0u);  prefill.run(); auto next =
//   prefill.get<"next">();           // the likeliest token after each decode.set<"tokens">(std::array{next->back()});
//   decode.set<"position">(64u);  decode.run();
//
// The cache of a layer is one state for keys and values, so that one dispatch appends both, with rope on the keys; rope
// on the queries joins attention. A layer is nine dispatches.
#ifndef DOCS_EXAMPLES_LLAMA_H_
#define DOCS_EXAMPLES_LLAMA_H_

#include "docs/examples/layer_weights.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/embedding/embedding.h"
#include "kernels/glu/glu.h"
#include "kernels/kv_cache/kv_append.h"
#include "kernels/matmul/matmul.h"
#include "kernels/movement/movement.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/normed_linear.h"
#include "kernels/reduce/arg.h"
#include "kernels/rope/rope.h"
#include "rlxgpu/graph/builder.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct LlamaSize {
  int layers = 6;
  int width = 512;
  int heads = 8;
  int kv_heads = 2;
  int head = 64;
  int hidden = 1408;
  int vocabulary = 4096;
  int context = 512;
  int few_tokens = 32;
};

constexpr RopeOptions kLlamaRope = {.base = 10000.0f, .sequence_first = true};

// `position` is the number of tokens before these.
constexpr Tensor llama_layer(Builder& g, int index, Tensor x, Tensor position, int tokens, const LlamaSize& size) {
  const LayerWeights w(g, index);
  const int d = size.width, q_size = size.heads * size.head, kv_size = size.kv_heads * size.head;
  const bool few = tokens <= size.few_tokens;
  const Tensor g1 = w("g1", {d}), wqkv = w("wqkv", {d, q_size + 2 * kv_size});
  const Tensor qkv = few ? normed_linear(x, wqkv, {.norm = {.weight = g1, .centred = false}}).y
                         : matmul(rms_norm(x, g1), wqkv);  // (token, q k v)
  const Tensor q = reshape(narrow(qkv, 1, 0, q_size), {1, tokens, size.heads, size.head});
  const Tensor k = reshape(narrow(qkv, 1, q_size, kv_size), {1, tokens, size.kv_heads, size.head});
  const Tensor v = reshape(narrow(qkv, 1, q_size + kv_size, kv_size), {1, tokens, size.kv_heads, size.head});
  const Tensor places = iota(g, u32, tokens) + position;
  const Shape cached = {1, size.context, size.kv_heads, size.head};
  const Tensor before = w.state("kv", {2, 1, size.context, size.kv_heads, size.head});
  const Tensor kv = kv_append(before, stack({rope(k, places, kLlamaRope), v}, 0), position, 2);
  const Tensor mixed =
      attention(rope(q, places, kLlamaRope), reshape(narrow(kv, 0, 0, 1), cached), reshape(narrow(kv, 0, 1, 1), cached),
                {.causal = true, .length = position + tokens, .sequence_first = true});
  x = x + matmul(reshape(mixed, {tokens, q_size}), w("wo", {q_size, d}));
  const Tensor g2 = w("g2", {d}), gate = w("wgate", {d, size.hidden}), up = w("wup", {d, size.hidden});
  Tensor hidden;
  if (few) {
    hidden =
        normed_linear(x, gate, {.norm = {.weight = g2, .centred = false}, .up = up, .activation = Activation::silu}).y;
  } else {
    const Tensor y = rms_norm(x, g2);
    hidden = swiglu(matmul(y, gate), matmul(y, up));
  }
  return x + matmul(hidden, w("wdown", {size.hidden, d}));
}

template <LlamaSize kSize, int kTokens>
struct Llama {
  static constexpr void build(Builder& g) {
    const Tensor tokens = g.input("tokens", u32, {kTokens}), position = g.scalar("position", u32);
    Tensor x = embedding(g.param("words", f32, {kSize.vocabulary, kSize.width}), tokens);
    for (int i = 0; i < kSize.layers; ++i) x = llama_layer(g, i, x, position, kTokens, kSize);
    const Tensor last = rms_norm(x, g.param("g", f32, {kSize.width}));
    const Tensor logits = matmul(last, g.param("out", f32, {kSize.width, kSize.vocabulary}));
    g.output("logits", logits);
    g.output("next", argmax(logits));
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_LLAMA_H_

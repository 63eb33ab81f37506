// Llama: a pre-norm decoder with rotary positions, shared heads of keys, gated units, a cache and sampling.
//
//   Weights weights(device);
//   States cache(device);                    // two programs share both: many tokens at once, and one at a time
//   Executable<examples::Llama<kSize, 64>> prefill(device, {.weights = weights, .states = cache});
//   Executable<examples::Llama<kSize, 1>> decode(device, {.weights = weights, .states = cache});
//   prefill.set<"tokens">(prompt);
//   prefill.set<"position">(0u);
//   prefill.run();
//   auto next = prefill.get<"next">();       // the likeliest after each; if kSize.sampled one, drawn after the last
//   decode.set<"tokens">(std::array{static_cast<uint32_t>(next->back())});
//   decode.set<"position">(64u);
//   decode.run();
//
// The cache of a layer is one state for keys and values, so that one dispatch appends both, with rope on the keys; rope
// on the queries joins attention. A layer is six dispatches (one more if a long cache is split), of many tokens eight:
// then norms are by themselves, and products are those of matmul, whose kernels reuse more.
#ifndef DOCS_EXAMPLES_LLAMA_H_
#define DOCS_EXAMPLES_LLAMA_H_

#include "docs/examples/decoder_parts.h"
#include "docs/examples/layer_weights.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/kv_cache/kv_append.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/rope/rope.h"
#include "rlxgpu/kernels/sample/sample.h"

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
  int few_tokens = 32;  // so many at once have norms in their products; on a GPU more may be better
  bool sampled = false;
};

constexpr RopeOptions kLlamaRope = {.base = 10000.0f, .sequence_first = true};
constexpr SampleOptions kLlamaSampling = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f};

// `position` is the number of tokens before these, which may be a run-time extent.
constexpr Tensor llama_layer(Builder& g, int index, Tensor x, Tensor position, Dim tokens, const LlamaSize& size) {
  const LayerWeights w(g, index);
  const int d = size.width, q_size = size.heads * size.head, kv_size = size.kv_heads * size.head;
  const bool few = tokens.extent <= size.few_tokens;
  const Tensor qkv = normed_product(x, w("g1", {d}), w("wqkv", {d, q_size + 2 * kv_size}), few);  // (token, q k v)
  const Tensor q = reshape(narrow(qkv, 1, 0, q_size), {1, tokens, size.heads, size.head});
  const Tensor k = reshape(narrow(qkv, 1, q_size, kv_size), {1, tokens, size.kv_heads, size.head});
  const Tensor v = reshape(narrow(qkv, 1, q_size + kv_size, kv_size), {1, tokens, size.kv_heads, size.head});
  const Tensor places = iota(g, u32, tokens) + position;
  const Shape cached = {1, size.context, size.kv_heads, size.head};
  const Tensor before = w.state("kv", {2, 1, size.context, size.kv_heads, size.head});
  const Tensor kv = kv_append(before, stack({rope(k, places, kLlamaRope), v}, 0), position, 2);
  const Tensor mixed =
      attention(rope(q, places, kLlamaRope), reshape(narrow(kv, 0, 0, 1), cached), reshape(narrow(kv, 0, 1, 1), cached),
                {.causal = true, .length = position + g.extent_value(tokens), .sequence_first = true});
  x = x + matmul(reshape(mixed, {tokens, q_size}), w("wo", {q_size, d}));
  const Tensor g2 = w("g2", {d}), gate = w("wgate", {d, size.hidden}), up = w("wup", {d, size.hidden});
  Tensor hidden;
  if (few) {
    hidden =
        normed_linear(x, gate, {.norm = {.weight = g2, .centred = false}, .up = up, .activation = Activation::silu}).y;
  } else {
    hidden = gated_matmul(rms_norm(x, g2), gate, up, Activation::silu);
  }
  return x + matmul(hidden, w("wdown", {size.hidden, d}));
}

constexpr void llama(Builder& g, Dim count, const LlamaSize& size) {
  const Tensor tokens = g.input("tokens", u32, {count}), position = g.scalar("position", u32);
  Tensor x = embedding(g.param("words", f32, {size.vocabulary, size.width}), tokens);
  for (int i = 0; i < size.layers; ++i) x = llama_layer(g, i, x, position, count, size);
  const Tensor last = rms_norm(x, g.param("g", f32, {size.width}));
  const Tensor logits = matmul(last, g.param("out", f32, {size.width, size.vocabulary}));
  g.output("logits", logits);
  if (!size.sampled) return g.output("next", argmax(logits));
  // Only the last is drawn. The same seed for a whole text: every position has numbers of its own.
  const Tensor end = g.extent_value(count) - 1, last_only = eq(unsqueeze(iota(g, u32, count), {-1}), end);
  const bool one = count.symbol < 0 && count.extent == 1;
  const Tensor row = one ? logits : sum(where(last_only, logits, 0.0f), 0, {.keep_dims = true});
  g.output("next", sample(row, g.scalar("seed", u32) + position + end, kLlamaSampling));
}

template <LlamaSize kSize, int kTokens>
struct Llama {
  static constexpr void build(Builder& g) { llama(g, kTokens, kSize); }
};

// As many tokens as "count" says, up to kMost: one program for prompts of every length.
template <LlamaSize kSize, int kMost>
struct LlamaPrompt {
  static constexpr void build(Builder& g) { llama(g, g.extent("count", kMost), kSize); }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_LLAMA_H_

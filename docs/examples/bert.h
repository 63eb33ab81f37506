// Bert: a post-norm transformer encoder, from tokens to one vector for each.
//
//   Executable<examples::Bert<{.layers = 12}>> bert(device);
//   bert.set<"tokens">(tokens);  bert.set<"types">(types);  bert.set<"mask">(mask);
//   bert.run();
//   auto y = bert.get<"y">();
//
// A layer is seven dispatches: one product for queries, keys and values; attention; product, bias and residual; norm;
// product and gelu; product, bias and residual; norm.
#ifndef DOCS_EXAMPLES_BERT_H_
#define DOCS_EXAMPLES_BERT_H_

#include "docs/examples/layer_weights.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/embedding/embedding.h"
#include "kernels/matmul/matmul.h"
#include "kernels/movement/movement.h"
#include "kernels/norm/norm.h"
#include "rlxgpu/graph/builder.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct BertSize {
  int layers = 12;
  int rows = 128;  // tokens
  int width = 768;
  int heads = 12;
  int hidden = 3072;
  int vocabulary = 30522;
  int positions = 512;
};

constexpr NormOptions kBertNorm = {.epsilon = 1e-12f};

constexpr Tensor bert_layer(Builder& g, int index, Tensor x, Tensor mask, const BertSize& size) {
  const LayerWeights w(g, index);
  const int d = size.width, h = size.hidden, head = d / size.heads;
  const Tensor qkv = matmul(x, w("wqkv", {d, 3 * d})) + w("bqkv", {3 * d});  // (row, q k v)
  const auto part = [&](int i) { return reshape(narrow(qkv, 1, i * d, d), {1, size.rows, size.heads, head}); };
  const Tensor mixed = attention(part(0), part(1), part(2), {.mask = mask, .sequence_first = true});
  const Tensor attended = matmul(reshape(mixed, {size.rows, d}), w("wo", {d, d})) + w("bo", {d});
  x = layer_norm(x + attended, w("g1", {d}), w("s1", {d}), kBertNorm);
  const Tensor hidden = gelu(matmul(x, w("w1", {d, h})) + w("b1", {h}));
  return layer_norm(x + (matmul(hidden, w("w2", {h, d})) + w("b2", {d})), w("g2", {d}), w("s2", {d}), kBertNorm);
}

template <BertSize kSize>
struct Bert {
  static constexpr void build(Builder& g) {
    const int d = kSize.width;
    const Tensor tokens = g.input("tokens", u32, {kSize.rows}), types = g.input("types", u32, {kSize.rows});
    const Tensor mask = g.input("mask", boolean, {kSize.rows});  // false: padding, which nobody sees
    const Tensor words = embedding(g.param("words", f32, {kSize.vocabulary, d}), tokens);
    const Tensor places = narrow(g.param("places", f32, {kSize.positions, d}), 0, 0, kSize.rows);
    const Tensor kinds = embedding(g.param("kinds", f32, {2, d}), types);
    Tensor x = layer_norm(words + places + kinds, g.param("g0", f32, {d}), g.param("s0", f32, {d}), kBertNorm);
    for (int i = 0; i < kSize.layers; ++i) x = bert_layer(g, i, x, mask, kSize);
    g.output("y", x);
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_BERT_H_

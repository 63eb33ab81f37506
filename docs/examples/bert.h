// Bert: a post-norm transformer encoder, from tokens to one vector for each.
//
//   Executable<examples::Bert<{.layers = 12}>> bert(device);
//   bert.set<"tokens">(tokens);  bert.set<"types">(types);  bert.set<"mask">(mask);
//   bert.run();
//   auto y = bert.get<"y">();
//
// A layer is five dispatches: norm, product for queries, keys and values; attention; product, bias and residual; norm,
// product and gelu; product, bias and residual. Norms belong to the products that follow them; without .fused_norms
// (faster on CPUs) they are two more.
#ifndef DOCS_EXAMPLES_BERT_H_
#define DOCS_EXAMPLES_BERT_H_

#include "docs/examples/encoder_parts.h"
#include "docs/examples/layer_weights.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"

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
  bool fused_norms = true;
};

constexpr Unnormed bert_layer(Builder& g, int index, const Unnormed& x, Tensor mask, const BertSize& size) {
  const LayerWeights w(g, index);
  const int d = size.width, h = size.hidden;
  const auto [qkv, in] = linear(x, w("wqkv", {d, 3 * d}), w("bqkv", {3 * d}), Activation::none, true, size.fused_norms);
  const Tensor attended = matmul(attend(qkv, size.heads, mask), w("wo", {d, d})) + w("bo", {d});
  const Unnormed middle = {in + attended, w("g1", {d}), w("s1", {d}), x.epsilon};
  const auto [hidden, normal] = linear(middle, w("w1", {d, h}), w("b1", {h}), Activation::gelu, true, size.fused_norms);
  return {normal + (matmul(hidden, w("w2", {h, d})) + w("b2", {d})), w("g2", {d}), w("s2", {d}), x.epsilon};
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
    Unnormed x = {words + places + kinds, g.param("g0", f32, {d}), g.param("s0", f32, {d}), 1e-12f};
    for (int i = 0; i < kSize.layers; ++i) x = bert_layer(g, i, x, mask, kSize);
    g.output("y", x.normal());
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_BERT_H_

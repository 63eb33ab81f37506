// Mixture: a feed-forward layer of many experts, of which every token takes a few.
//
//   Executable<examples::Mixture<{.tokens = 16}>> layer(device);
//   layer.set<"x">(tokens);                           // (token, width)
//   layer.run();
//   auto y = layer.get<"y">();
//
// The choice is made on the device: experts are in groups, and only the best groups' experts are looked at.
#ifndef DOCS_EXAMPLES_MIXTURE_H_
#define DOCS_EXAMPLES_MIXTURE_H_

#include "docs/examples/layer_weights.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/gate/gate.h"
#include "rlxgpu/kernels/glu/glu.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct MixtureSize {
  int tokens = 16;
  int width = 256;
  int hidden = 512;
  int experts = 32;
  int groups = 4;
  int top_groups = 2;
  int top_k = 4;
};

// x: (token, width). Every token once for each of its experts, weighted and added up.
constexpr Tensor mixture(Builder& g, int index, Tensor x, const MixtureSize& size) {
  const LayerWeights w(g, index);
  const int d = size.width, h = size.hidden, k = size.top_k, n = size.experts;
  const auto [weights, experts] =
      group_limited_gate(sigmoid(matmul(x, w("choice", {d, n}))),
                         {.groups = size.groups, .top_groups = size.top_groups, .top_k = k});  // (token, k)
  const Tensor rows = reshape(expand(unsqueeze(x, {1}), {size.tokens, k, d}), {size.tokens * k, d});
  const Tensor expert = reshape(experts, {size.tokens * k});
  const Tensor hidden =
      swiglu(grouped_matmul(rows, w("wgate", {n, d, h}), expert), grouped_matmul(rows, w("wup", {n, d, h}), expert));
  const Tensor y = reshape(grouped_matmul(hidden, w("wdown", {n, h, d}), expert), {size.tokens, k, d});
  return sum(y * unsqueeze(weights, {-1}), 1);
}

template <MixtureSize kSize>
struct Mixture {
  static constexpr void build(Builder& g) {
    g.output("y", mixture(g, 0, g.input("x", f32, {kSize.tokens, kSize.width}), kSize));
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_MIXTURE_H_

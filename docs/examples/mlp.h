// Mlp: two layers, the smallest graph that shows what fusion does.
//
//   Executable<examples::Mlp> mlp(device);      // 3 steps: matmul+add+gelu, matmul, softmax+add
//   mlp.set<"w1">(w1);  ...  mlp.set<"x">(x);  mlp.run();
//   auto y = mlp.get<"y">();                    // 32 rows of 10 probabilities
#ifndef DOCS_EXAMPLES_MLP_H_
#define DOCS_EXAMPLES_MLP_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/softmax/softmax.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct Mlp {
  static constexpr void build(Builder& g) {
    const Tensor x = g.input("x", f32, {32, 64});
    const Tensor w1 = g.param("w1", f32, {64, 128}), b1 = g.param("b1", f32, {128});
    const Tensor w2 = g.param("w2", f32, {128, 10}), b2 = g.param("b2", f32, {10});
    const Tensor hidden = gelu(matmul(x, w1) + b1);   // (32, 128)
    g.output("y", softmax(matmul(hidden, w2) + b2));  // (32, 10)
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_MLP_H_

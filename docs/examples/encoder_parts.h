// What the layers of encoders (bert.h, vit.h) have in common: norms that products take over, and attention over one
// product.
#ifndef DOCS_EXAMPLES_ENCODER_PARTS_H_
#define DOCS_EXAMPLES_ENCODER_PARTS_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

// A sum, and the norm that is still to be taken of it.
struct Unnormed {
  Tensor sum, weight, bias;
  float epsilon = 1e-5f;
  constexpr Tensor normal() const { return layer_norm(sum, weight, bias, {.epsilon = epsilon}); }
};

// act(norm(x) w + b), and norm(x) if it is wanted: in one dispatch if `fused`, else in two, which is faster on CPUs.
constexpr NormedLinear linear(const Unnormed& x, Tensor w, Tensor b, Activation activation, bool keep, bool fused) {
  if (fused) {
    return normed_linear(x.sum, w,
                         {.norm = {.weight = x.weight, .bias = x.bias, .epsilon = x.epsilon},
                          .bias = b,
                          .activation = activation,
                          .keep = keep});
  }
  const Tensor normal = x.normal(), y = matmul(normal, w) + b;
  return {activation == Activation::gelu ? gelu(y) : y, normal};
}

// qkv: (row, queries keys values), each of all heads. The result: (row, all heads).
constexpr Tensor attend(Tensor qkv, int heads, Tensor mask = {}) {
  const int64_t rows = qkv.shape()[0], width = qkv.shape()[1] / 3;
  const auto part = [&](int i) { return reshape(narrow(qkv, 1, i * width, width), {1, rows, heads, width / heads}); };
  const Tensor mixed = attention(part(0), part(1), part(2), {.mask = mask, .sequence_first = true});
  return reshape(mixed, {rows, width});
}

}  // namespace examples

#endif  // DOCS_EXAMPLES_ENCODER_PARTS_H_

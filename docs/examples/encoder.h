// Encoder: a pre-norm transformer encoder, as ordinary functions and loops over Tensors.
//
//   Executable<Encoder<{.layers = 2, .rows = 32, .width = 64, .heads = 4}>> encoder(device);
//
// Everything here runs inside the compiler; the program it becomes is a constant.
#ifndef DOCS_EXAMPLES_ENCODER_H_
#define DOCS_EXAMPLES_ENCODER_H_

#include <string_view>

#include "rlxgpu/base/math.h"
#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct EncoderSize {
  int layers = 12;
  int rows = 128;  // tokens
  int width = 768;
  int heads = 12;
};

// The weights of one layer are named "3.wq", "3.bq", ...
class Layer {
 public:
  constexpr Layer(Builder& g, int index) : g_(g), index_(index) {}
  constexpr Tensor weight(std::string_view name, const Shape& shape) const {
    core::Text full;
    full << index_ << '.' << name;
    return g_.param(full.view(), f32, shape);
  }

 private:
  Builder& g_;
  int index_;
};

constexpr Tensor normalise(Tensor x, Tensor scale, Tensor shift) {
  const Tensor centred = x - mean(x, {-1}, {.keep_dims = true});
  const Tensor variance = mean(centred * centred, {-1}, {.keep_dims = true});
  return centred * rsqrt(variance + 1e-5) * scale + shift;
}

constexpr Tensor attention(const Layer& layer, Tensor x, const EncoderSize& size) {
  const int head = size.width / size.heads;
  const auto project = [&](std::string_view weight, std::string_view bias) {
    const Tensor y = matmul(x, layer.weight(weight, {size.width, size.width})) + layer.weight(bias, {size.width});
    return transpose(reshape(y, {size.rows, size.heads, head}), {1, 0, 2});  // (head, row, column)
  };
  const Tensor q = project("wq", "bq"), k = project("wk", "bk"), v = project("wv", "bv");
  const Tensor scores = matmul(q, transpose(k, {0, 2, 1})) * (1 / square_root(head));  // (head, row, row)
  const Tensor mixed = reshape(transpose(matmul(softmax(scores), v), {1, 0, 2}), {size.rows, size.width});
  return matmul(mixed, layer.weight("wo", {size.width, size.width})) + layer.weight("bo", {size.width});
}

constexpr Tensor encoder_layer(Builder& g, int index, Tensor x, const EncoderSize& size) {
  const Layer layer(g, index);
  const int d = size.width;
  x = x + attention(layer, normalise(x, layer.weight("g1", {d}), layer.weight("s1", {d})), size);
  const Tensor y = normalise(x, layer.weight("g2", {d}), layer.weight("s2", {d}));
  const Tensor hidden = gelu(matmul(y, layer.weight("w1", {d, 4 * d})) + layer.weight("b1", {4 * d}));
  return x + (matmul(hidden, layer.weight("w2", {4 * d, d})) + layer.weight("b2", {d}));
}

template <EncoderSize kSize>
struct Encoder {
  static constexpr void build(Builder& g) {
    Tensor x = g.input("x", f32, {kSize.rows, kSize.width});
    for (int i = 0; i < kSize.layers; ++i) x = encoder_layer(g, i, x, kSize);
    g.output("y", x);
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_ENCODER_H_

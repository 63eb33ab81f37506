// Vit: a vision transformer. An image is cut into patches; a pre-norm encoder sees them and one token of its own, which
// becomes the classes' logits.
//
//   Executable<examples::Vit<{.layers = 12}>> vit(device);
//   vit.set<"image">(pixels);                         // (channel, row, column)
//   vit.run();
//   auto logits = vit.get<"logits">();
//
// A layer is five dispatches, as Bert's; patches are two more, the token and the places of the patches one.
#ifndef DOCS_EXAMPLES_VIT_H_
#define DOCS_EXAMPLES_VIT_H_

#include "docs/examples/encoder_parts.h"
#include "docs/examples/layer_weights.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"

namespace examples {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix

struct VitSize {
  int layers = 12;
  int image = 224;  // rows and columns of pixels
  int patch = 16;
  int channels = 3;
  int width = 768;
  int heads = 12;
  int hidden = 3072;
  int classes = 1000;
  bool fused_norms = true;

  constexpr int patches() const { return (image / patch) * (image / patch); }
};

inline constexpr float kVitEpsilon = 1e-6f;

// (channel, row, column) -> (patch, all its pixels): a convolution whose windows do not overlap is a product.
constexpr Tensor cut(Tensor image, const VitSize& size) {
  const int across = size.image / size.patch, p = size.patch;
  const Tensor grid = reshape(image, {size.channels, across, p, across, p});
  return reshape(transpose(grid, {1, 3, 0, 2, 4}), {size.patches(), size.channels * p * p});
}

constexpr Tensor vit_layer(Builder& g, int index, Tensor x, const VitSize& size) {
  const LayerWeights w(g, index);
  const int d = size.width, h = size.hidden;
  const auto normed = [&](Tensor sum, std::string_view weight, std::string_view bias) {
    return Unnormed{sum, w(weight, {d}), w(bias, {d}), kVitEpsilon};
  };
  const Tensor qkv = linear(normed(x, "g1", "s1"), w("wqkv", {d, 3 * d}), w("bqkv", {3 * d}), Activation::none, false,
                            size.fused_norms)
                         .y;
  x = x + (matmul(attend(qkv, size.heads), w("wo", {d, d})) + w("bo", {d}));
  const Tensor hidden =
      linear(normed(x, "g2", "s2"), w("w1", {d, h}), w("b1", {h}), Activation::gelu, false, size.fused_norms).y;
  return x + (matmul(hidden, w("w2", {h, d})) + w("b2", {d}));
}

template <VitSize kSize>
struct Vit {
  static constexpr void build(Builder& g) {
    const int d = kSize.width, pixels = kSize.channels * kSize.patch * kSize.patch;
    const Tensor image = g.input("image", f32, {kSize.channels, kSize.image, kSize.image});
    const Tensor patches = matmul(cut(image, kSize), g.param("wpatch", f32, {pixels, d})) + g.param("bpatch", f32, {d});
    Tensor x = concat({g.param("token", f32, {1, d}), patches}, 0) + g.param("places", f32, {kSize.patches() + 1, d});
    for (int i = 0; i < kSize.layers; ++i) x = vit_layer(g, i, x, kSize);
    const Unnormed last = {narrow(x, 0, 0, 1), g.param("g", f32, {d}), g.param("s", f32, {d}), kVitEpsilon};
    g.output("logits", linear(last, g.param("head", f32, {d, kSize.classes}), g.param("bhead", f32, {kSize.classes}),
                              Activation::none, false, kSize.fused_norms)
                           .y);
  }
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_VIT_H_

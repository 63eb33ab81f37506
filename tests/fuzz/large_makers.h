// Makers of layers in the sizes that real networks have: products and convolutions of tens of channels over images of
// 7 x 7 to 56 x 56, gated, grouped and normed products, attention; with the bias, reshape, residual and activation
// behind them that a kernel stores together with its product.
//
// The reference takes its time for such layers: each asks for its multiply-adds first (Generator::afford). The image is
// drawn first, so that the largest come as often as any other, then channels until they are few enough; a maker gives
// no tensor when there is not enough work left for any.
#ifndef RLXGPU_TESTS_FUZZ_LARGE_MAKERS_H_
#define RLXGPU_TESTS_FUZZ_LARGE_MAKERS_H_

#include <cstdint>

#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "tests/fuzz/compute_makers.h"
#include "tests/fuzz/generator.h"

namespace rlxgpu::core::fuzz {

struct Image {
  int64_t height, width;
  int64_t pixels() const { return height * width; }
};
inline Image large_image(Generator& f) {
  static constexpr Image kImages[] = {{7, 7},   {8, 8},   {9, 9},   {10, 10}, {12, 12}, {14, 14}, {14, 14}, {13, 17},
                                      {13, 15}, {11, 19}, {16, 16}, {10, 25}, {17, 21}, {20, 20}, {27, 29}, {28, 28},
                                      {32, 32}, {29, 37}, {40, 40}, {41, 43}, {53, 59}, {56, 56}};
  return f.random.pick(kImages);
}
inline int64_t large_rows(Generator& f) {
  return f.random.chance(0.5) ? f.random.between(33, 100) : f.random.pick({36, 40, 42, 48, 56, 64, 72, 80, 96, 100});
}
inline int64_t large_depth(Generator& f) {
  return f.random.chance(0.3) ? f.random.between(64, 512)
                              : f.random.pick({64, 72, 96, 120, 128, 144, 192, 240, 256, 288, 320, 384, 512});
}

// Draws sizes until there is work left for them.
template <typename Draw>
bool draw_affordable(Generator& f, const Draw& draw) {
  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (f.afford(draw())) return true;
  }
  return false;
}

inline DType large_type(Generator& f) { return f.random.chance(0.85) ? f32 : f.float_type(); }

// The same elements in another shape, as networks go to and fro between images, tokens and heads.
inline Tensor reshaped_layer(Generator& f, Tensor y, const Image& image) {
  const Shape from = y.shape();
  Shape to;
  if (from.rank() < 3 && f.random.chance(0.3)) to.push_back(1);
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int64_t extent = from[axis], heads = f.random.pick({2, 4, 7, 8});
    if (extent == image.pixels()) {
      to.push_back(image.height), to.push_back(image.width);
    } else if (extent % heads == 0 && from.rank() < 4 && f.random.chance(0.3)) {
      to.push_back(heads), to.push_back(extent / heads);
    } else if (extent != 1 || f.random.chance(0.7)) {
      to.push_back(extent);
    }
  }
  return reshape(y, to);
}

// What broadcasts with y: mostly one number for each row or column, a number for each element, or along some of its
// axes.
inline Tensor beside_layer(Generator& f, Tensor y) {
  const int rank = y.shape().rank();
  const int64_t kind = f.random.below(8);
  const int one = rank > 2 && f.random.chance(0.5) ? 1 : static_cast<int>(f.random.below(rank));
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    const bool along = kind < 5 ? axis == one : kind == 5 || f.random.chance(0.5);
    if (along || shape.rank() > 0 || f.random.chance(0.2)) shape.push_back(along ? y.shape().dim(axis) : Dim(1));
  }
  return f.source(y.dtype(), shape, 0.6);
}

inline Tensor with_residual(Generator& f, Tensor y) {
  const Tensor x = f.source(y.dtype(), y.shape());
  return f.random.chance(0.7) ? y + x : x - y;
}

// Up to four of: bias, residual, activation, a factor, another shape; in any order.
inline Tensor finish_by_chance(Generator& f, Tensor y, const Image& image) {
  bool same_shape = true;
  for (int64_t steps = f.random.between(0, 4); steps > 0; --steps) {
    switch (f.random.below(6)) {
      case 0:
      case 1:
        y = y + beside_layer(f, y);
        break;
      case 2:
        y = with_residual(f, y);
        break;
      case 3:
        y = activate(f, y);
        break;
      case 4:
        y = f.random.chance(0.5) ? y * f.random.pick({0.125, 0.0625}) : y * beside_layer(f, y);
        break;
      default:
        if (same_shape) y = reshaped_layer(f, y, image);
        same_shape = false;
    }
  }
  return y;
}

// Mostly what networks have: a bias, seen as an image or not, alone or with a residual, an activation or both.
inline Tensor finish_layer(Generator& f, Tensor y, const Image& image) {
  if (f.random.chance(0.35)) return finish_by_chance(f, y, image);
  if (f.random.chance(0.4)) y = reshaped_layer(f, y, image);
  y = y + beside_layer(f, y);
  const int64_t more = f.random.below(6);
  if (more == 0 || more == 1) y = with_residual(f, y);
  return more == 1 || more == 2 ? activate(f, y) : y;
}

// Weights times pixels, as a convolution of one element is computed; or tokens times weights.
inline Tensor make_large_product(Generator& f) {
  Random& r = f.random;
  const Image image = large_image(f);
  const int64_t n = image.pixels();
  int64_t m = 0, k = 0, images = 1;
  const auto draw = [&] {
    m = large_rows(f), k = large_depth(f), images = r.pick({1, 1, 1, 2});
    return images * m * k * n;
  };
  if (!draw_affordable(f, draw)) return {};
  const DType dtype = large_type(f);
  const auto weights = [&](int64_t rows, int64_t cols) {
    const bool turned = r.chance(0.3);
    const Tensor w = f.source(dtype, turned ? Shape{cols, rows} : Shape{rows, cols}, 0.7);
    return turned ? transpose(w) : w;
  };
  if (r.chance(0.6)) {
    const Tensor w = weights(m, k), x = f.source(dtype, {images, k, image.height, image.width});
    const Tensor y = matmul(w, reshape(x, {images, k, n}));
    return finish_layer(f, r.chance(0.5) ? reshape(y, {images, m, image.height, image.width}) : y, image);
  }
  const Tensor x = images == 1 && r.chance(0.5) ? f.source(dtype, {m, k}) : f.source(dtype, {images, m, k});
  return finish_layer(f, matmul(x, weights(k, n)), image);
}

inline Tensor make_large_conv(Generator& f) {
  Random& r = f.random;
  const Image image = large_image(f);
  const bool by_channel = r.chance(0.25);
  const int64_t stride = r.pick({1, 1, 2});
  int64_t groups = 1, channels = 1, out = 1, height = 1, width = 1;
  const auto draw = [&] {
    const int64_t m = large_rows(f);
    groups = by_channel ? m : r.pick({1, 1, 1, 2, 4}), channels = by_channel ? 1 : r.pick({3, 8, 16, 24, 32, 40, 48});
    out = ceil_div(m, groups) * groups;
    height = r.pick({1, 3, 3, 3, 5}), width = r.chance(0.8) ? height : r.pick({1, 3});
    return out * channels * height * width * image.pixels() / (stride * stride);
  };
  if (!draw_affordable(f, draw)) return {};
  const DType dtype = large_type(f);
  const Tensor x = f.source(dtype, {1, groups * channels, image.height, image.width}),
               w = f.source(dtype, {out, channels, height, width}, 0.7);
  const IntList pad = {r.chance(0.7) ? height / 2 : 0, r.chance(0.7) ? width / 2 : 0};
  const ConvOptions options = {
      .strides = {stride, stride}, .dilations = {1, 1}, .before = pad, .after = pad, .groups = groups};
  const Tensor y = r.chance(0.5) ? conv(x, w, f.source(dtype, {out}, 0.7), options) : conv(x, w, options);
  return finish_layer(f, y, image);
}

inline Tensor make_large_gated(Generator& f) {
  Random& r = f.random;
  const Image image = large_image(f);
  const int64_t n = image.pixels();
  int64_t m = 0, k = 0;
  const auto draw = [&] {
    m = large_rows(f), k = large_depth(f);
    return 2 * m * k * n;
  };
  if (!draw_affordable(f, draw)) return {};
  const DType dtype = large_type(f);
  const Tensor x = f.source(dtype, {m, k}), gate = f.source(dtype, {k, n}, 0.7);
  const Activation activation = r.pick({Activation::none, Activation::gelu, Activation::silu});
  const auto some = [&](int64_t extent) { return r.chance(0.5) ? f.source(f32, {extent}, 0.7) : Tensor(); };
  NormedLinearOptions options;
  options.activation = activation;
  switch (r.below(3)) {
    case 0:
      return finish_layer(f, gated_matmul(x, gate, f.source(dtype, {k, n}, 0.7), activation), image);
    case 1:
      options.up = f.source(dtype, {k, n}, 0.7);
      break;
    default:
      options.bias = some(n);
  }
  options.norm.weight = some(k);
  options.norm.centred = r.chance(0.5);
  if (options.norm.centred) options.norm.bias = some(k);
  return finish_layer(f, normed_linear(x, gate, options).y, image);
}

inline Tensor make_large_grouped(Generator& f) {
  Random& r = f.random;
  const Image image = large_image(f);
  const int64_t n = image.pixels();
  int64_t m = 0, k = 0;
  const auto draw = [&] {
    m = large_rows(f), k = r.pick({64, 72, 96, 128});
    return m * k * n;
  };
  if (!draw_affordable(f, draw)) return {};
  const DType dtype = large_type(f);
  const Tensor x = f.source(dtype, {m, k}), w = f.source(dtype, {r.pick({2, 4, 8}), k, n}, 0.7);
  return finish_layer(f, grouped_matmul(x, w, f.source(r.pick({i32, u32}), {m})), image);
}

inline Tensor make_large_attention(Generator& f) {
  Random& r = f.random;
  const int64_t heads = r.pick({2, 3, 4}), queries = large_rows(f), keys = r.pick({queries, int64_t{49}, int64_t{196}}),
                size = r.pick({16, 24, 32, 64});
  if (!f.afford(2 * heads * queries * keys * size)) return {};
  const DType dtype = large_type(f);
  AttentionOptions options;
  options.sequence_first = r.chance(0.5);
  options.causal = r.chance(0.3);
  const auto tensor = [&](int64_t rows) {
    return f.source(dtype, options.sequence_first ? Shape{1, rows, heads, size} : Shape{1, heads, rows, size});
  };
  const Tensor q = tensor(queries), k = tensor(keys), v = tensor(keys);
  return finish_layer(f, attention(q, k, v, options), {.height = 1, .width = 1});
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_LARGE_MAKERS_H_

// A graph of ROUNDS times 28 nodes of many kinds, and of a loop of LOOPS times 4 nodes, made ready to run.
#include "rlxgpu/base/text.h"
#include "rlxgpu/rlxgpu.h"

using namespace rlxgpu;

struct Mixed {
  static constexpr Tensor round(Builder& g, int i, Tensor x) {
    core::Text name;
    name << 'w' << i;
    const Tensor w = g.param(name.view(), f32, {64, 64});
    const Tensor y = softmax(matmul(x, w) * 0.125f, -1);
    const Tensor z = reshape(transpose(reshape(y, {32, 8, 8}), {1, 0, 2}), {32, 64});
    const Tensor spread = z - mean(z, {-1}, {.keep_dims = true});
    const Tensor near = where(gt(spread, 0.0f), sqrt(abs(spread)), exp(spread));
    const Tensor both = concat({slice(near, {0, 0}, {32, 32}), slice(spread, {0, 32}, {32, 64})}, 1);
    const Tensor half = cast(cast(tanh(both), f16), f32);
    return x + clamp(half + reduce_max(z, {0}, {.keep_dims = true}), -4.0f, 4.0f);
  }
  static constexpr void build(Builder& g) {
    Tensor x = g.input("x", f32, {32, 64});
    for (int i = 0; i < ROUNDS; ++i) x = round(g, i, x);
    for (int i = 0; i < LOOPS; ++i) x = x * 0.99f + 0.01f;
    g.output("y", x);
  }
};

rlxgpu::Run run(const rlxgpu::Device& device) {
  Executable<Mixed> mixed(device);
  return mixed.run();
}

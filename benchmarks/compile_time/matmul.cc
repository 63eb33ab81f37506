// One product, made ready to run.
#include "rlxgpu/rlxgpu.h"

struct Product {
  static constexpr void build(rlxgpu::Builder& g) {
    g.output("y", matmul(g.input("a", rlxgpu::f32, {128, 256}), g.input("b", rlxgpu::f32, {256, 64})));
  }
};

rlxgpu::Run run(const rlxgpu::Device& device) {
  rlxgpu::Executable<Product> product(device);
  return product.run();
}

// The shaders whose text is kept in this folder: one graph each, which becomes one kernel.
#ifndef TESTS_GOLDEN_SHADERS_H_
#define TESTS_GOLDEN_SHADERS_H_

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/compile.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::core::golden {

struct Shader {
  std::string_view file;
  void (*build)(Builder&);
};

inline constexpr Shader kShaders[] = {
    {"map_f32.wgsl",  // a chain of maps with a broadcast operand and a number
     [](Builder& g) {
       const Tensor x = g.input("x", f32, {4, 6}), bias = g.input("bias", f32, {6});
       g.output("y", relu(x + bias) * 0.5f);
     }},
    {"map_f16.wgsl",  // packed storage: two elements in each word
     [](Builder& g) {
       const Tensor x = g.input("x", f16, {4, 6}), y = g.input("y", f16, {4, 6});
       g.output("z", x * y);
     }},
    {"map_transposed.wgsl",  // a view is an address, not a kernel
     [](Builder& g) { g.output("y", exp(transpose(g.input("x", f32, {4, 6})))); }},
    {"map_extent.wgsl",  // a run-time number and a run-time extent
     [](Builder& g) {
       const Tensor x = g.input("x", f32, {g.extent("n", 16), 4});
       g.output("y", x * g.scalar("scale", f32));
     }},
    {"reduce_fused.wgsl",  // maps before it are computed on the fly, maps after it before the store
     [](Builder& g) {
       const Tensor x = g.input("x", f32, {8, 32});
       g.output("y", rsqrt(mean(x * x, {-1}) + 1e-5f));
     }},
    {"matmul_epilogue.wgsl",
     [](Builder& g) {
       const Tensor x = g.input("x", f32, {33, 64}), w = g.input("w", f32, {64, 20}), b = g.input("b", f32, {20});
       g.output("y", relu(matmul(x, w) + b));
     }},
    {"softmax.wgsl", [](Builder& g) { g.output("y", softmax(g.input("x", f32, {8, 32}))); }},
};

// The text of the one kernel that a shader's graph becomes, for the portable target.
inline std::string text_of(const Shader& shader) {
  Builder builder;
  shader.build(builder);
  const Program program = compile(builder.graph(), kPortable);
  if (!program.error.empty()) throw std::runtime_error(std::string(program.error.view()));
  if (program.kernels.specs.size() != 1)
    throw std::runtime_error(std::string(shader.file) + ": the graph is not one kernel");
  Text text;
  render_kernel(view_of(program, kPortable).kernels, 0, text);
  return std::string(text.view());
}

}  // namespace rlxgpu::core::golden

#endif  // TESTS_GOLDEN_SHADERS_H_

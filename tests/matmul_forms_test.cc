// What is built on matmul: products written in other layouts, attention's three at once, and so on.
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/qkv.h"
#include "kernels/movement/movement.h"
#include "kernels/reduce/reduce.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::testing {
namespace {

const std::vector<const char*> kVariants = {"rows", "gemv", "packed", "packed_split", "tiled", "tiled_8x8", "plain"};

std::string steps_of(const Build& build) {
  DynamicGraph graph;
  build(*graph);
  REQUIRE(std::string(graph.graph().error.view()) == "");
  const Program program = compile(graph.graph(), kPortable);
  std::string steps;
  for (const Step& step : program.steps) {
    steps += (steps.empty() ? "" : " ") + std::string(view_of(program, kPortable).name(step.label));
  }
  return steps;
}

TEST_CASE("qkv: one product, three tensors, in either layout", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const char* variant = GENERATE(from_range(kVariants));
  // A head size of 8 keeps vectors whole, one of 5 does not.
  const auto [dtype, by_head, seq, dim] =
      GENERATE(table<DType, bool, int64_t, int64_t>({{f32, true, 11, 8}, {f16, true, 3, 5}, {bf16, false, 11, 8}}));
  CAPTURE(variant, name_of(dtype), by_head, seq, dim);
  const auto build = [&, dtype = dtype, by_head = by_head, seq = seq, dim = dim](Builder& g) {
    const Tensor x = g.input("x", dtype, {2, seq, 20});
    const auto [q, k, v] = qkv(x, g.param("w", dtype, {20, (4 + 2 * 2) * dim}),
                               {.heads = 4, .kv_heads = 2, .dim = dim, .by_head = by_head},
                               g.param("bias", dtype, {8 * dim}));
    g.output("q", q), g.output("k", k), g.output("v", v);
  };
  CHECK(steps_of(build).find(' ') == std::string::npos);
  // The reference rounds the product before it adds the bias: numbers below 64.
  check_agrees(device, build,
               {.bound = dot_bound(dtype, 20, 4.0) + Bound{2 * 64 * epsilon_of(dtype), 0},
                .choices = {{"matmul", variant}}});
}

TEST_CASE("qkv: what is wrong is said", "[matmul]") {
  Builder g;
  qkv(g.input("x", f32, {5, 8}), g.param("w", f32, {8, 30}), {.heads = 4, .dim = 4});
  const std::string error(g.graph().error.view());
  CHECK(error.substr(error.find(": ") + 2) ==
        "qkv([5,8], [8,30]): needs a matrix x and a w of 48 columns for 4 + 2 * 4 heads of 4");
}

TEST_CASE("a product is written in the layouts that its users want", "[matmul][gpu]") {
  const Device device = device_or_skip();
  struct Row {
    const char* why;
    void (*build)(Builder&);
    const char* steps;
  };
  const auto product = [](Builder& g) { return matmul(g.input("a", f32, {12, 7}), g.input("b", f32, {7, 20})); };
  static const auto make = product;
  const Row row = GENERATE(values<Row>({
      {"transposed", [](Builder& g) { g.output("y", transpose(make(g))); }, "matmul+transpose/f32/tiled"},
      {"maps on both sides of the views",
       [](Builder& g) {
         const Tensor y = relu(make(g) + g.input("bias", f32, {20}));
         g.output("y", transpose(reshape(y, {3, 4, 20}), {2, 0, 1}) * g.input("scale", f32, {20, 1, 4}));
       },
       "matmul+add+relu+reshape+2/f32/tiled"},
      {"every other column, and the rest reversed in another kernel",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("even", slice(y, {0, 0}, {12, 20}, {1, 2}));
         g.output("odd", slice(y, {0, 1}, {12, 20}, {1, 2}) + 1.0);
       },
       "matmul+slice+slice+add/f32/tiled"},
      {"all of it for two groups", [](Builder& g) {
         const Tensor y = make(g);
         g.output("relu", relu(y));
         g.output("part", sigmoid(slice(y, {3, 2}, {9, 11})));
       }, "matmul+relu+slice+sigmoid/f32/tiled"},
      {"reversed: not", [](Builder& g) { g.output("y", reverse(make(g), {0})); }, "matmul/f32/tiled copy/f32/map"},
      {"an element twice: not",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("y", slice(y, {0, 0}, {12, 10}) * slice(y, {0, 10}, {12, 20}));
       },
       "matmul/f32/tiled mul/f32/map"},
      {"stretched: not",
       [](Builder& g) { g.output("y", expand(reshape(make(g), {12, 1, 20}), {12, 3, 20}) + 1.0); },
       "matmul/f32/tiled add/f32/map"},
      {"needed by a kernel, too: not",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("y", transpose(y));
         g.output("sum", sum(y, 1));
       },
       "matmul/f32/tiled copy/f32/map sum/f32/rows"},
      {"an output itself: not",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("y", y);
         g.output("z", transpose(y));
       },
       "matmul/f32/tiled copy/f32/map"},
      {"what a part is added to comes after another part: not",
       [](Builder& g) {
         const Tensor y = make(g), left = slice(y, {0, 0}, {12, 10}) + 1.0;
         g.output("left", left);
         g.output("right", slice(y, {0, 10}, {12, 20}) + sum(left, 1, {.keep_dims = true}));
       },
       "matmul/f32/tiled add/f32/map sum/f32/rows add/f32/map"},
      {"a reduction, in another layout",
       [](Builder& g) { g.output("y", transpose(sum(g.input("x", f32, {6, 5, 9}), 2))); }, "sum+transpose/f32/rows"},
  }));
  CAPTURE(row.why);
  CHECK(steps_of(row.build) == row.steps);
  check_agrees(device, row.build, {.bound = dot_bound(f32, 9, 6.0) + Bound{1e-6, 1e-5}});
}

}  // namespace
}  // namespace rlxgpu::testing

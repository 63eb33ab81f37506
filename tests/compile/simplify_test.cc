// simplify leaves out what is not needed, and nothing else.
#include "rlxgpu/compile/simplify.h"

#include <functional>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {
namespace {

// The ops that are left, in order.
std::string left_of(const std::function<void(Builder&)>& build) {
  Builder g;
  build(g);
  INFO(g.graph().error.view());
  REQUIRE(g.ok());
  const Graph simple = simplify(g.graph());
  std::string ops;
  for (const Node& node : simple.nodes) {
    if (node.kind == NodeKind::op) ops += (ops.empty() ? "" : " ") + std::string(node.op->name);
  }
  return ops;
}

TEST_CASE("simplify leaves out what changes nothing", "[compile]") {
  struct Row {
    const char* why;
    void (*build)(Builder&);
    const char* left;
  };
  const Row row = GENERATE(values<Row>({
      {"nothing to do", [](Builder& g) { g.output("y", exp(g.input("x", f32, {4}))); }, "exp"},
      {"dead code",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {4});
         sum(log(x));
         g.output("y", exp(x));
       },
       "exp"},
      {"x * 1", [](Builder& g) { g.output("y", exp(g.input("x", f32, {4}) * 1.0)); }, "exp"},
      {"x - 0", [](Builder& g) { g.output("y", exp(g.input("x", f32, {4}) - 0.0)); }, "exp"},
      {"x + 0 is not x when x is -0", [](Builder& g) { g.output("y", g.input("x", f32, {4}) + 0.0); }, "add"},
      {"x * 1 that broadcasts is not x",
       [](Builder& g) { g.output("y", g.input("x", f32, {4}) * expand(g.literal(1, f32), {2, 4})); }, "expand mul"},
      {"numbers are folded", [](Builder& g) { g.output("y", g.input("x", f32, {4}) * (g.literal(2, f32) + 3.0)); },
       "mul"},
      {"a reshape to the same shape",
       [](Builder& g) { g.output("y", exp(reshape(g.input("x", f32, {2, 2}), {2, 2}))); }, "exp"},
      {"a transpose that moves nothing",
       [](Builder& g) { g.output("y", exp(transpose(g.input("x", f32, {2, 2}), {0, 1}))); }, "exp"},
      {"a whole slice", [](Builder& g) { g.output("y", exp(slice(g.input("x", f32, {4}), {0}, {kEnd}))); }, "exp"},
      {"a cast to its own type", [](Builder& g) { g.output("y", exp(cast(g.input("x", f16, {4}), f16))); }, "exp"},
      {"a cast down and up again stays",
       [](Builder& g) { g.output("y", cast(cast(g.input("x", f32, {4}), f16), f32)); }, "cast cast"},
      {"the same thing twice",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {4});
         g.output("y", exp(x) * exp(x));
       },
       "exp mul"},
      {"the same thing twice, further on",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {4});
         g.output("y", sqrt(exp(x) + 1.0) * sqrt(exp(x) + 1.0));
       },
       "exp add sqrt mul"},
      {"other attributes are another thing",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {4});
         g.output("y", leaky_relu(x, 0.1f) * leaky_relu(x, 0.2f));
       },
       "leaky_relu leaky_relu mul"},
      {"other operand order is another thing",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {4}), y = g.input("y", f32, {4});
         g.output("z", (x - y) * (y - x));
       },
       "sub sub mul"},
  }));
  CAPTURE(row.why);
  CHECK(left_of(row.build) == row.left);
}

TEST_CASE("simplify keeps what the user sets by name, and the order of run-time numbers", "[compile]") {
  Builder g;
  const Tensor x = g.input("x", f32, {4});
  g.input("unused", f32, {4});
  g.param("unused weight", f32, {4});
  g.scalar("a", f32);
  const Dim n = g.extent("n", 8);
  g.output("y", x);
  g.output("z", exp(g.input("rows", f32, {n})));
  const Graph simple = simplify(g.graph());
  REQUIRE(simple.scalars.size() == 2);
  CHECK(simple.name(simple.node(simple.scalars[0]).name) == "a");
  CHECK(simple.name(simple.node(simple.scalars[1]).name) == "n");
  int named = 0;
  for (const Node& node : simple.nodes) named += node.kind == NodeKind::input || node.kind == NodeKind::param;
  CHECK(named == 4);
  CHECK(simple.value(simple.outputs[1].value).shape.symbol(0) == 1);
}

TEST_CASE("equal numbers are one number, others are not", "[compile]") {
  Builder g;
  const Tensor x = g.input("x", f32, {4}), h = g.input("h", f16, {4});
  g.output("y", (x + 1.0) * (x + 2.0) * (x + 1.0) + 2.0);
  g.output("z", h + 1.0);
  g.output("w", x + g.constant(f32, {1}, {{0x3f800000u}}));
  const Graph simple = simplify(g.graph());
  int constants = 0;
  for (const Node& node : simple.nodes) constants += node.kind == NodeKind::constant;
  CHECK(constants == 4);  // 1 and 2 in f32, 1 in f16, 1 of another shape
}

}  // namespace
}  // namespace rlxgpu::core

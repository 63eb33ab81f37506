#include "rlxgpu/load/weight_part.h"

#include <span>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/movement/movement.h"
#include "kernels/reduce/reduce.h"
#include "tests/support/gpu.h"

namespace rlxgpu::testing {
namespace {

// Of weights alone: w * 2 (of which the product reads the transpose), and the sums of w.
void build(Builder& g) {
  Tensor x = g.input("x", f32, {2, 3}), w = g.param("w", f32, {4, 3});
  Tensor twice = w * 2.0f;
  g.output("y", matmul(x, transpose(twice)) + sum(w, 1));
  g.output("z", transpose(w) + sum(x));
  g.output("constant", twice);
}

TEST_CASE("what follows from weights alone is split off", "[load]") {
  DynamicGraph graph;
  build(*graph);
  const WeightPart part = split_weights(graph.graph());
  CHECK(part.names.size() == 2);
  REQUIRE(part.once.graph().ok());
  REQUIRE(part.rest.graph().ok());
  CHECK(part.once.graph().outputs.size() == 2);
  CHECK(part.rest.graph().outputs.size() == 3);
  for (const Node& node : part.rest.graph().nodes) {
    if (node.kind == NodeKind::op) CHECK(node.op->name != "mul");
  }
  // The same expressions have the same names in another graph.
  DynamicGraph other;
  other->output("z", other->input("v", f32, {9, 3}) + narrow(other->param("w", f32, {4, 3}) * 2.0f, 0, 0, 1));
  const WeightPart again = split_weights(other.graph());
  REQUIRE(again.names.size() == 1);
  CHECK((again.names[0] == part.names[0] || again.names[0] == part.names[1]));
}

TEST_CASE("a graph without weights, or with run-time numbers, stays as it is", "[load]") {
  DynamicGraph plain, dynamic;
  plain->output("y", plain->input("x", f32, {3}) * 2.0f);
  CHECK(split_weights(plain.graph()).names.empty());
  dynamic->output("y", dynamic->input("x", f32, {dynamic->extent("n", 3)}) * sum(dynamic->param("w", f32, {3})));
  CHECK(split_weights(dynamic.graph()).names.empty());
}

TEST_CASE("prepared weights give the same results", "[load][gpu]") {
  const Device device = device_or_skip();
  const std::vector<float> w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, x = {1, 0, 2, 0, 1, 1};
  Weights weights(device);
  REQUIRE(weights.set("w", f32, {4, 3}, std::as_bytes(std::span(w))).ok());
  DynamicGraph graph;
  build(*graph);
  Result<DynamicGraph> rest = prepare_weights(device, graph.graph(), weights);
  REQUIRE(rest.status().ToString() == "OK");
  DynamicOptions options;
  options.engine.weights = weights;
  auto executable = Executable<DynamicGraph>::create(device, *rest, options);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", x).ok());
  executable->run();
  // 2 (x w') + sums of w: the first row is 2 (w0 + 2 w2), the second 2 (w1 + w2).
  CHECK(*executable->get<float>("y") ==
        std::vector<float>{14 + 6, 32 + 15, 50 + 24, 68 + 33, 10 + 6, 22 + 15, 34 + 24, 46 + 33});
  CHECK(*executable->get<float>("z") == std::vector<float>{6, 9, 12, 15, 7, 10, 13, 16, 8, 11, 14, 17});
  CHECK(*executable->get<float>("constant") == std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24});
}

TEST_CASE("what an earlier graph computed from weights is not computed again", "[load][gpu]") {
  const Device device = device_or_skip();
  const std::vector<float> w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  Weights weights(device);
  REQUIRE(weights.set("w", f32, {4, 3}, std::as_bytes(std::span(w))).ok());
  DynamicGraph graph;
  build(*graph);
  PreparedWeights prepared;
  REQUIRE(prepare_weights(device, graph.graph(), weights, &prepared).ok());
  CHECK(prepared.size() == 2);
  CHECK(split_weights(graph.graph(), prepared).names.empty());
  // Another graph computes what it has more.
  DynamicGraph other;
  Tensor param = other->param("w", f32, {4, 3});
  other->output("y", other->input("v", f32, {4, 3}) * (param * 2.0f) + param * 3.0f);
  const WeightPart part = split_weights(other.graph(), prepared);
  CHECK(part.names.size() == 1);
  CHECK(part.once.graph().outputs.size() == 1);
  REQUIRE(prepare_weights(device, other.graph(), weights, &prepared).ok());
  CHECK(prepared.size() == 3);
  CHECK(weights.count() == 4);
}

}  // namespace
}  // namespace rlxgpu::testing

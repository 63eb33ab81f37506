#include "rlxgpu/load/weight_part.h"

#include <span>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
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

TEST_CASE("an extent keeps its largest value when weights are prepared", "[load]") {
  DynamicGraph graph;
  graph->scalar("unused", f32);
  const Dim n = graph->extent("n", 4);
  graph->output("y", graph->input("x", f32, {n}) + graph->param("w", f32, {1}));
  const WeightPart part = split_weights(graph.graph());
  const Graph& rest = part.rest.graph();
  REQUIRE(rest.ok());
  REQUIRE(rest.scalars.size() == 2);
  const Node& extent = rest.node(rest.scalars[1]);
  CHECK(rest.name(extent.name) == "n");
  REQUIRE(rest.attributes(extent).size() == 1);
  CHECK(rest.attributes(extent)[0] == 4);
}

TEST_CASE("prepared weights give the same results", "[load][gpu]") {
  const bool apart = GENERATE(false, true);  // with weights of their own
  const Device device = device_or_skip();
  const std::vector<float> w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, x = {1, 0, 2, 0, 1, 1};
  Weights weights(device);
  REQUIRE(weights.set("w", f32, {4, 3}, std::as_bytes(std::span(w))).ok());
  DynamicGraph graph;
  build(*graph);
  Weights prepared = apart ? Weights(device) : weights;
  Result<DynamicGraph> rest = prepare_weights(device, graph.graph(), weights, prepared);
  REQUIRE(rest.status().ToString() == "OK");
  DynamicOptions options;
  options.engine.weights = prepared;
  weights = {};
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

TEST_CASE("weights apart hold what the rest reads, and nothing else", "[load][gpu]") {
  const Device device = device_or_skip();
  const Weights file(device), prepared(device);
  constexpr int64_t kCount = 1 << 19;  // 2 MiB each: several pieces
  const auto set = [&](const std::string& name, float value) {
    const std::vector<float> all(kCount, value);
    return file.set(name, f32, {kCount}, std::as_bytes(std::span(all))).ok();
  };
  DynamicGraph graph;
  Tensor y = graph->input("x", f32, {kCount}) * graph->param("plain", f32, {kCount});
  for (const std::string name : {"a", "b", "c", "d", "e"}) {
    y = y + (graph->param(name, f32, {kCount}) + 1.0f);
    REQUIRE(set(name, 2));
  }
  REQUIRE(set("plain", 10));
  graph->output("y", y);
  Result<DynamicGraph> rest = prepare_weights(device, graph.graph(), file, prepared);
  REQUIRE(rest.status().ToString() == "OK");
  CHECK(prepared.count() == 6);
  CHECK(prepared.device_bytes() == 6 * 4 * kCount);
  CHECK(file.count() == 6);
  DynamicOptions options;
  options.engine.weights = prepared;
  auto executable = Executable<DynamicGraph>::create(device, *rest, options);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", std::vector<float>(kCount, 1)).ok());
  executable->run();
  CHECK(*executable->get<float>("y") == std::vector<float>(kCount, 25));
}

TEST_CASE("a chain of weights may be longer than a stack is deep", "[load]") {
  DynamicGraph graph;
  Tensor w = graph->param("w", f32, {2});
  for (int i = 0; i < 200000; ++i) w = exp(w);
  graph->output("y", graph->input("x", f32, {2}) + w);
  const WeightPart part = split_weights(graph.graph());
  CHECK(part.once.graph().nodes.size() == 200001);
  CHECK(part.rest.graph().nodes.size() == 3);
}

}  // namespace
}  // namespace rlxgpu::core::testing

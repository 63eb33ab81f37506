// Results do not depend on how a graph is compiled, nor on when it is run.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/scatter/scatter.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/fuzz/trial.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

struct Example {
  const char* why;
  void (*build)(Builder&);
};

const std::vector<Example>& examples() {
  static const std::vector<Example> kExamples = {
      {"maps of several shapes",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {7, 33}), row = g.input("row", f32, {33}), n = g.scalar("n", f32);
         g.output("y", gelu((x + row) * n) - transpose(g.input("t", f32, {33, 7})));
       }},
      {"packed types: several invocations share a word",
       [](Builder& g) {
         const Tensor x = g.input("x", f16, {5, 7}), flags = g.input("flags", boolean, {5, 7});
         g.output("y", where(flags, softmax(x), x * 0.5));
         g.output("any", any(flags, 1));
         g.output("bytes", cast(sum(cast(flags, u8), 0), u8));
       }},
      {"attention",
       [](Builder& g) {
         const Tensor q = g.input("q", f32, {2, 9, 16}), k = g.input("k", f32, {2, 11, 16}),
                      v = g.input("v", f32, {2, 11, 16});
         g.output("y", matmul(softmax(matmul(q, transpose(k, {0, 2, 1})) * 0.25), v) + q);
       }},
      {"a split reduction and what follows it",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {3, 9001});
         g.output("y", sqrt(mean(x * x, 1) + 1e-5));
         g.output("scan", cumsum(slice(x, {0, 0}, {3, 300}), 1));
       }},
      {"updates that meet at one element",
       [](Builder& g) {
         const Tensor x = g.input("x", f32, {4, 6});
         g.output("y", scatter_add(x, g.input("i", i32, {9, 6}), g.input("u", f32, {9, 6}), 0));
       }},
  };
  return kExamples;
}

TEST_CASE("fused and unfused, simplified or not, for this device or for all: one result", "[compile][gpu]") {
  const Example example = GENERATE(from_range(examples()));
  CAPTURE(example.why);
  DynamicGraph graph;
  example.build(*graph);
  const fuzz::Trial trial(device_or_skip());
  for (const bool fuse : {true, false}) {
    for (const bool portable : {true, false}) {
      CAPTURE(fuse, portable);
      CHECK(trial.run(graph, {.seed = 1, .fuse = fuse, .simplify = fuse, .portable = portable}).problem == "");
    }
  }
}

TEST_CASE("a run repeats bit for bit", "[compile][gpu]") {
  const Example example = GENERATE(from_range(examples()));
  CAPTURE(example.why);
  DynamicGraph graph;
  example.build(*graph);
  const Graph& g = graph.graph();
  INFO(g.error.view());
  REQUIRE(g.ok());
  fuzz::Evaluator given(g, 1);
  given.run();
  absl::StatusOr<Executable<DynamicGraph>> exe = Executable<DynamicGraph>::create(device_or_skip(), graph);
  INFO(exe.status());
  REQUIRE(exe.ok());
  for (const Node& node : g.nodes) {
    const fuzz::Array& value = given.value(node.results.first);
    const std::string name(g.name(node.name));
    if (node.kind == NodeKind::scalar) REQUIRE(exe->set(name, value[0]).ok());
    if (node.kind == NodeKind::input)
      REQUIRE(exe->set_elements(name, value.dtype, value.count(), fuzz::stored(value).data()).ok());
  }
  std::vector<std::vector<std::byte>> first;
  for (int run = 0; run < 3; ++run) {
    REQUIRE(exe->run().wait().ok());
    std::vector<std::vector<std::byte>> outputs;
    for (const Output& output : g.outputs) {
      const fuzz::Array& like = given.value(output.value);
      std::vector<std::byte> bytes(static_cast<size_t>(like.count()) * static_cast<size_t>(bytes_of(like.dtype)));
      REQUIRE(exe->get_elements(std::string(g.name(output.name)), like.dtype, like.count(), bytes.data()).ok());
      outputs.push_back(bytes);
    }
    if (run == 0) first = outputs;
    CHECK(outputs == first);
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing

// What makes short programs short: numbers in braces, weights from vectors, states that are assigned, graphs of nothing
// but states.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/base/half.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core {
namespace {

using testing::check_every_variant;
using testing::device_or_skip;

struct Grey {
  static constexpr void build(Builder& g) {
    const Tensor weights = g.constant({3}, {0.299f, 0.587f, 0.114f});
    const Tensor steps = g.constant({2, 1}, {1, -2});
    const Tensor halves = g.constant(f16, {3}, {0.5, 1.5, -2.0});
    const Tensor bytes = g.constant(i8, {5}, {1, -2, 3, -4, 127});
    g.output("grey", sum(g.input("x", f32, {2, 3}) * weights, {-1}));
    g.output("steps", steps * 2);
    g.output("halves", halves + g.param("bias", f16, {3}));
    g.output("bytes", bytes + g.input("more", i8, {5}));
  }
};

TEST_CASE("constants, inputs and weights from numbers in braces", "[gpu]") {
  const Device device = device_or_skip();
  Weights weights(device);
  REQUIRE(weights.set("bias", {3}, std::vector<Half>{Half(1.0f), Half(2.0f), Half(0.0f)}).ok());
  Executable<Grey> grey(device, {.weights = weights});
  grey.set<"x">({1.0f, 2.0f, 3.0f, 0.0f, 0.0f, 1.0f});
  grey.set<"more">({int8_t(1), int8_t(1), int8_t(1), int8_t(1), int8_t(1)});
  grey.run();
  CHECK(grey.get<"grey">().value() == std::vector<float>{0.299f + 0.587f * 2 + 0.114f * 3, 0.114f});
  CHECK(grey.get<"steps">().value() == std::vector<int32_t>{2, -4});
  const std::vector<Half> halves = grey.get<"halves">().value();
  CHECK((halves[0] == 1.5f && halves[1] == 3.5f && halves[2] == -2.0f));
  CHECK(grey.get<"bytes">().value() == std::vector<int8_t>{2, -1, 4, -3, -128});

  REQUIRE(weights.set("bias", {3}, {Half(0.0f), Half(0.0f), Half(8.0f)}).ok());
  grey.run();
  CHECK(float(grey.get<"halves">().value()[2]) == 6.0f);
  grey.set<"x">({1.0f, 2.0f});
  CHECK_FALSE(grey.status().ok());
}

TEST_CASE("wrong numbers of numbers are said") {
  Builder g, h;
  g.constant({2, 2}, {1.0f, 2.0f, 3.0f});
  CHECK(g.graph().error.view().ends_with("constant: 3 numbers given, 4 needed for f32[2,2]"));
  h.constant(c64, {1}, {1.0});
  CHECK(h.graph().error.view().ends_with("constant: 1 numbers given, 1 complex ones needed for c64[1]"));
}

TEST_CASE("a weight of another count is refused", "[gpu]") {
  const Device device = device_or_skip();
  const Weights weights(device);
  CHECK(weights.set("w", {2, 2}, std::vector<float>(3)).message() == "\"w\": 3 elements given, 4 needed for f32[2,2]");
  CHECK(weights.count() == 0);
}

TEST_CASE("assign agrees with the reference", "[gpu]") {
  const Device device = device_or_skip();
  for (const DType dtype : {f32, f16, i8, c64}) {
    for (const Shape& shape : {Shape{3, 5}, Shape{0}, Shape{}, Shape{257, 3}}) {
      CAPTURE(name_of(dtype), shape.rank());
      const auto build = [&](Builder& g) {
        const Tensor x = g.input("x", dtype, shape), state = g.state("s", dtype, shape);
        g.output("y", assign(state, transpose(transpose(x))) + x);
      };
      check_every_variant(device, kAssign, build, {.bound = testing::ulp_bound(dtype, 1)});
    }
  }
}

// A running mean and a count: nothing is read but by get.
struct Running {
  static constexpr void build(Builder& g) {
    const Tensor mean = g.state("mean", f32, {2}), count = g.state("count", i32, {});
    assign(mean, mean * 0.5f + g.input("x", f32, {2}));
    assign(count, count + 1);
  }
};

TEST_CASE("a graph may do nothing but change states", "[gpu]") {
  const Device device = device_or_skip();
  Executable<Running> running(device);
  Executable<Running, kPortable> portable(device);
  const auto check = [](auto& executable) {
    executable.template set<"x">({1.0f, 2.0f});
    for (int i = 0; i < 3; ++i) executable.run();
    CHECK(executable.template get<"mean">().value() == std::vector<float>{1.75f, 3.5f});
    CHECK(executable.template get<"count">().value() == std::vector<int32_t>{3});
  };
  check(running);
  check(portable);

  DynamicGraph graph;
  assign(graph->state("s", f32, {3}), graph->input("x", f32, {3}));
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.ok());
  REQUIRE(executable->set("x", {1.0f, 2.0f, 4.0f}).ok());
  REQUIRE(executable->run().wait().ok());
  CHECK(executable->get<float>("s").value() == std::vector<float>{1, 2, 4});
}

TEST_CASE("a number is assigned to the whole of a scalar state only") {
  Builder g, h, k;
  CHECK(assign(g.state("s", f32, {}), 2.0f).valid());
  assign(h.state("s", f32, {3}), 2.0f);
  CHECK(h.graph().error.view().ends_with("assign([3], []): the state has another shape"));
  assign(k.state("s", f32, {3}), k.input("x", i32, {3}));
  CHECK(k.graph().error.view().ends_with("a state of f32 takes no i32"));
}

}  // namespace
}  // namespace rlxgpu::core

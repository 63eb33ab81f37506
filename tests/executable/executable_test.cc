// Executable on a device: typed I/O, run-time numbers and extents, states, several runs in flight.
#include "rlxgpu/executable.h"

#include <array>
#include <complex>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/executable/accumulate.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core {
namespace {

using testing::accumulate;
using testing::check_agrees;
using testing::device_or_skip;

struct Affine {
  static constexpr void build(Builder& g) {
    Tensor x = g.input("x", f32, {2, 3});
    Tensor w = g.param("w", f32, {3, 2});
    g.output("y", matmul(x, w) + g.scalar("shift", f32));
    g.output("sign", lt(x, 0.0));
  }
};

TEST_CASE("typed inputs, weights, scalars and outputs", "[gpu]") {
  Executable<Affine> affine(device_or_skip());
  affine.set<"w">(std::array{1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  affine.set<"shift">(0.5);
  affine.set<"x">(std::array{1.0f, 0.0f, 0.0f, 0.0f, -1.0f, 2.0f});
  affine.run();
  auto y = affine.get<"y">();
  REQUIRE(y.ok());
  CHECK(*y == std::vector<float>{1.5f, 2.5f, 7.5f, 8.5f});
  CHECK(*affine.get<"sign">() == std::vector<uint8_t>{0, 0, 0, 0, 1, 0});

  affine.set<"shift">(-1);  // the next run sees it; weights stay
  affine.run();
  std::array<float, 4> out{};
  REQUIRE(affine.get<"y">(std::span<float>(out)).ok());
  CHECK(out == std::array{0.0f, 1.0f, 6.0f, 7.0f});
  absl::StatusOr<std::vector<float>> as_absl = affine.get<"y">();
  CHECK((*as_absl)[3] == 7.0f);
}

TEST_CASE("a wrong count is kept and said by the next get", "[gpu]") {
  Executable<Affine> affine(device_or_skip());
  affine.set<"w">(std::vector<float>(6));
  affine.set<"x">(std::vector<float>(5));
  affine.run();
  auto y = affine.get<"y">();
  REQUIRE(!y.ok());
  CHECK(y.status().message() == "\"x\" has 6 elements, [2,3]; 5 given");
  CHECK(affine.status().ok());  // said once
}

TEST_CASE("a broken device is a status, not a crash", "[gpu]") {
  Executable<Affine> affine{Device()};
  affine.set<"x">(std::vector<float>(6));
  affine.run();
  CHECK(!affine.get<"y">().ok());
  CHECK(!affine.status().ok());
}

TEST_CASE("the program planned for the device gives what the constant one gives", "[gpu]") {
  Executable<Affine, kPortable> constant(device_or_skip());
  Executable<Affine> planned(device_or_skip());
  const auto run = [](auto& affine) {
    affine.template set<"w">(std::array{1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
    affine.template set<"x">(std::array{1.0f, 2.0f, 3.0f, 4.0f, -1.0f, 2.0f});
    affine.run();
    return affine.template get<"y">();
  };
  const auto expected = run(constant), found = run(planned);
  REQUIRE(expected.ok());
  REQUIRE(found.ok());
  CHECK(*found == *expected);
}

struct Product {
  static constexpr void build(Builder& g) {
    g.output("y", softmax(matmul(g.input("a", f32, {64, 128}), g.input("b", f32, {128, 64}))));
  }
};

std::vector<std::string> labels_of(Engine& engine) {
  const auto profile = engine.profile();
  if (!profile.ok()) SKIP("no timestamps");
  std::vector<std::string> labels;
  for (const StepProfile& step : *profile) labels.push_back(step.label);
  return labels;
}

TEST_CASE("a graph type has the kernels that the same graph made at run time has", "[gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  Product::build(*graph);
  auto dynamic = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(dynamic.ok());
  Executable<Product> planned(device);
  Executable<Product, kPortable> constant(device);
  const std::vector<std::string> labels = labels_of(planned.engine());
  CHECK(labels == labels_of(dynamic->engine()));
  CHECK(labels != labels_of(constant.engine()));  // both adapters here offer more than every device does
}

TEST_CASE("each run in flight keeps its outputs", "[gpu]") {
  Executable<Affine> affine(device_or_skip());
  affine.set<"w">(std::array{1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f});
  std::vector<Run> runs;
  for (int i = 0; i < 8; ++i) {
    affine.set<"x">(std::array{static_cast<float>(i), 0.0f, 0.0f, 0.0f, 0.0f, 0.0f});
    runs.push_back(affine.run({.read = true}));
  }
  for (int i = 0; i < 8; ++i) {
    std::array<float, 4> y{};
    REQUIRE(
        runs[static_cast<size_t>(i)]
            .get(Executable<Affine>::program.find_port(BufferRole::output, "y"), std::as_writable_bytes(std::span(y)))
            .ok());
    CHECK(y[0] == static_cast<float>(i));
  }
}

// Sets x, which the graph reverses, and compares y.
template <typename T>
void check_reversed(Executable<DynamicGraph>& exe, std::string_view dtype, const std::array<T, 5>& x) {
  CAPTURE(dtype);
  REQUIRE(exe.set(std::string("x") + std::string(dtype), x).ToString() == "OK");
  exe.run();
  using Read = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  const auto y = exe.get<Read>(std::string("y") + std::string(dtype));
  REQUIRE(y.status().ToString() == "OK");
  REQUIRE(y->size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      CHECK((*y)[i].bits == x[4 - i].bits);
    } else {
      CHECK((*y)[i] == static_cast<Read>(x[4 - i]));
    }
  }
}

TEST_CASE("every storage type goes in and out", "[gpu]") {
  DynamicGraph graph;
  for (const DType dtype : kAllDTypes) {
    const Tensor x = graph->input(std::string("x") + std::string(name_of(dtype)), dtype, {5});
    graph->output(std::string("y") + std::string(name_of(dtype)), reverse(x));
  }
  auto exe = Executable<DynamicGraph>::create(device_or_skip(), graph, {.engine = {.zero_inputs = true}});
  REQUIRE(exe.ok());
  STATIC_REQUIRE(std::size(kAllDTypes) == 9);  // all of them are below
  check_reversed<float>(*exe, "f32", {1.5f, -2.25f, 3e38f, -0.0f, 1e-30f});
  check_reversed<Half>(*exe, "f16", {Half(1), Half(-2.5f), Half(65504), Half(6e-8f), Half(5)});
  check_reversed<BFloat16>(*exe, "bf16",
                           {BFloat16(1), BFloat16(-2.5f), BFloat16(3e38f), BFloat16(1e-30f), BFloat16(5)});
  check_reversed<int32_t>(*exe, "i32", {-1, 2, INT32_MIN, INT32_MAX, 5});
  check_reversed<uint32_t>(*exe, "u32", {1, 2, UINT32_MAX, 0x80000000u, 5});
  check_reversed<int8_t>(*exe, "i8", {-1, 2, -3, 127, -128});
  check_reversed<uint8_t>(*exe, "u8", {1, 2, 255, 128, 5});
  check_reversed<bool>(*exe, "bool", {true, false, false, true, true});
  check_reversed<std::complex<float>>(*exe, "c64", {{{1, 2}, {-3, 4}, {5, -6}, {7, 8}, {9, 1e30f}}});

  CHECK(exe->set("xi8", std::array<float, 5>{}).message() == "\"xi8\" holds i8, not f32");
  CHECK(exe->set("nothing", std::array<float, 5>{})
            .message()
            .starts_with("the graph has no tensor \"nothing\"; it has \"x"));
  CHECK(!exe->get<float>("yi8").ok());
}

TEST_CASE("outputs may be inputs, constants, numbers and each other", "[gpu]") {
  DynamicGraph graph;
  const Tensor x = graph->input("x", f32, {3});
  const Tensor y = x + 1.0f;
  graph->output("same", x);
  graph->output("a", y);
  graph->output("b", y);
  graph->output("constant", graph->literal(2.5, f32));
  graph->output("number", graph->scalar("n", i32));
  graph->output("empty", graph->input("none", f32, {0, 4}));
  auto exe = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(exe.ok());
  CHECK(exe->set("x", std::array{1.0f, 2.0f, 3.0f}).ok());
  CHECK(exe->set("n", -7).ok());
  exe->run();
  CHECK(*exe->get<float>("same") == std::vector<float>{1, 2, 3});
  CHECK(*exe->get<float>("a") == *exe->get<float>("b"));
  CHECK(*exe->get<float>("constant") == std::vector<float>{2.5f});
  CHECK(*exe->get<int32_t>("number") == std::vector<int32_t>{-7});
  CHECK(exe->get<float>("empty")->empty());
}

TEST_CASE("run-time extents agree with the reference", "[gpu]") {
  for (const double n : {0.0, 1.0, 3.0, 7.0}) {
    CAPTURE(n);
    for (const bool leading : {true, false}) {
      CAPTURE(leading);
      const auto build = [&](Builder& g) {
        const Dim rows = g.extent("n", 7);
        const Tensor x = g.input("x", f32, leading ? Shape{rows, 5} : Shape{4, rows, 5});
        g.output("map", exp(x) * 2.0f);
        g.output("along", sum(x, {leading ? 0 : 1}));
        g.output("beside", sum(x, {-1}));
        g.output("softmax", softmax(x, leading ? 0 : 1));
        g.output("product", matmul(x, g.input("w", f32, {5, 3})));
        g.output("turned", transpose(x, leading ? IntList{1, 0} : IntList{2, 0, 1}));
      };
      check_agrees(device_or_skip(), build, {.bound = testing::dot_bound(f32, 8, 16.0), .numbers = {{"n", n}}});
    }
  }
}

TEST_CASE("an extent outside what was built is refused", "[gpu]") {
  DynamicGraph graph;
  graph->output("y", graph->input("x", f32, {graph->extent("n", 7)}) + 1.0f);
  auto exe = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(exe.ok());
  CHECK(exe->set("n", 8).message() == "extent \"n\" is 8; it must lie in 0 to 7");
  CHECK(exe->set("n", 2).ok());
  CHECK(!exe->set("x", std::vector<float>(7)).ok());
  CHECK(exe->set("x", std::vector<float>{1, 2}).ok());
  exe->run();
  CHECK(*exe->get<float>("y") == std::vector<float>{2, 3});
}

struct Counter {
  static constexpr void build(Builder& g) {
    Tensor before = g.state("sum", f32, {4});
    Tensor doubled = before * 2.0f, turned = reverse(before);  // of the state as it was
    Tensor after = accumulate(before, g.input("x", f32, {4}) + 1.0f);
    g.output("after", after * 1.0f + doubled * 0.0f);
    g.output("doubled", doubled);
    g.output("late", turned + after * 0.0f);  // a view of the old state, read after the change
  }
};

TEST_CASE("a state changes in place and is kept from run to run", "[gpu]") {
  const Device device = device_or_skip();
  States states(device);
  Executable<Counter> counter(device, {.states = states});
  counter.set<"x">(std::array{0.0f, 1.0f, 2.0f, 3.0f});
  counter.run();
  CHECK(*counter.get<"after">() == std::vector<float>{1, 2, 3, 4});
  CHECK(*counter.get<"doubled">() == std::vector<float>{0, 0, 0, 0});
  counter.run();
  CHECK(*counter.get<"after">() == std::vector<float>{2, 4, 6, 8});
  CHECK(*counter.get<"doubled">() == std::vector<float>{2, 4, 6, 8});
  CHECK(*counter.get<"late">() == std::vector<float>{4, 3, 2, 1});
  CHECK(*counter.get<"sum">() == std::vector<float>{2, 4, 6, 8});

  Executable<Counter> other(device, {.states = states});  // shares the state
  other.set<"x">(std::array{0.0f, 0.0f, 0.0f, 0.0f});
  other.run();
  CHECK(*other.get<"after">() == std::vector<float>{3, 5, 7, 9});
  REQUIRE(states.clear().ok());
  other.run();
  CHECK(*other.get<"after">() == std::vector<float>{1, 1, 1, 1});
}

TEST_CASE("a state that was changed is used through the op's result only") {
  DynamicGraph graph;
  const Tensor before = graph->state("sum", f32, {4});
  accumulate(before, graph->input("x", f32, {4}));
  graph->output("y", before + 1.0f);
  CHECK(graph.graph().error.view().ends_with(
      "add: operand 0 was changed in place by an op before: use that op's result"));
}

}  // namespace
}  // namespace rlxgpu::core

// What is done wrong with an executable is said, by every call that depends on it, and nothing crashes.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "tests/executable/accumulate.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core {
namespace {

using testing::accumulate;
using testing::device_or_skip;

struct Shifted {
  static constexpr void build(Builder& g) { g.output("y", g.input("x", f32, {2, 3}) + g.scalar("shift", f32)); }
};

const std::string kWrongCount = "\"x\" has 6 elements, [2,3]; 5 given";

TEST_CASE("an error of set reaches run, its Run and every get until a run goes well", "[gpu]") {
  Executable<Shifted> shifted(device_or_skip());
  shifted.set<"x">(std::vector<float>(5));
  CHECK(shifted.get<"y">().status().message() == kWrongCount);
  std::string done;
  auto run = shifted.run({.on_done = [&](const Status& status) { done = status.message(); }});
  CHECK(done == kWrongCount);
  CHECK(run.wait().message() == kWrongCount);
  CHECK(run.get<"y">().status().message() == kWrongCount);
  CHECK(shifted.get<"y">().status().message() == kWrongCount);
  CHECK(shifted.get<"y">().status().message() == kWrongCount);

  shifted.set<"x">(std::vector<float>(6, 2.0f));
  CHECK(shifted.run().wait().ok());
  CHECK(*shifted.get<"y">() == std::vector<float>(6, 2.0f));
}

TEST_CASE("an error that status() has said fails no run", "[gpu]") {
  Executable<Shifted> shifted(device_or_skip());
  shifted.set<"x">(std::vector<float>(6, 1.0f));
  shifted.set<"x">(std::vector<float>(5));
  CHECK(shifted.status().message() == kWrongCount);
  CHECK(shifted.status().ok());
  CHECK(shifted.run().wait().ok());
}

TEST_CASE("the run of a broken executable says why it is broken", "[gpu]") {
  Executable<Shifted> broken{Device()};
  const std::string why(broken.status().message());
  REQUIRE(!why.empty());
  CHECK(broken.run().wait().message() == why);
  CHECK(broken.run().get<"y">().status().message() == why);
}

TEST_CASE("a run with an input that was never set is an error that names it", "[gpu]") {
  struct Two {
    static void build(Builder& g) { g.output("y", g.input("a", f32, {3}) + g.input("b", f32, {3}) * 2.0f); }
  };
  const auto made = [](const EngineOptions& options) {
    DynamicGraph graph;
    Two::build(*graph);
    DynamicOptions dynamic;
    dynamic.engine = options;
    auto executable = Executable<DynamicGraph>::create(device_or_skip(), graph, dynamic);
    REQUIRE(executable.status().ToString() == "OK");
    return *std::move(executable);
  };
  const std::vector<float> ones(3, 1.0f);
  Executable<DynamicGraph> two = made({});
  CHECK(two.run().wait().message() ==
        "engine: input \"a\" was never set, nor were 1 others; with EngineOptions::zero_inputs it would be zero");
  REQUIRE(two.set("a", ones).ok());
  const std::string b = "engine: input \"b\" was never set; with EngineOptions::zero_inputs it would be zero";
  CHECK(two.run().wait().message() == b);
  CHECK(two.get<float>("y").status().message() == b);
  CHECK(!two.set("b", std::vector<float>(4)).ok());
  CHECK(two.run().wait().message() == b);
  const auto memory = DeviceTensor::of(device_or_skip(), {3}, ones);
  REQUIRE(memory.ok());
  REQUIRE(two.bind("b", *memory).ok());
  CHECK(two.run().wait().ok());
  CHECK(*two.get<float>("y") == std::vector<float>(3, 3.0f));

  Executable<DynamicGraph> other = made({});
  REQUIRE(other.set("a", ones).ok());
  REQUIRE(other.tensor("b").ok());  // whoever has the memory may write it
  CHECK(other.run().wait().ok());

  Executable<DynamicGraph> zero = made({.zero_inputs = true});
  REQUIRE(zero.set("a", ones).ok());
  CHECK(zero.run().wait().ok());
  CHECK(*zero.get<float>("y") == ones);
}

TEST_CASE("an output is not read before any run", "[gpu]") {
  Executable<Shifted> shifted(device_or_skip());
  CHECK(shifted.get<"y">().status().message() == "engine: output \"y\" is read before any run");
}

TEST_CASE("executables and graphs that were moved from are errors", "[gpu]") {
  Executable<Shifted> first(device_or_skip());
  Executable<Shifted> second(std::move(first));
  first.set<"x">(std::vector<float>(6));
  first.set<"shift">(1);
  CHECK(!first.run().wait().ok());
  CHECK(first.get<"y">().status().message() == "this executable was moved from, or never created");
  CHECK(!first.tensor<"y">().ok());
  second.set<"x">(std::vector<float>(6));
  CHECK(second.run().wait().ok());

  DynamicGraph graph;
  graph->output("y", graph->input("x", f32, {3}) + 1.0f);
  DynamicGraph other(std::move(graph));
  const auto moved = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(!moved.ok());
  CHECK(moved.status().message().ends_with("this DynamicGraph was moved from"));
  graph->input("z", f32, {3});  // does nothing
  auto executable = Executable<DynamicGraph>::create(device_or_skip(), other);
  REQUIRE(executable.ok());
  Executable<DynamicGraph> taken = *std::move(executable);
  CHECK(!executable->set("x", std::array{1.0f, 2.0f, 3.0f}).ok());
  CHECK(!executable->run().wait().ok());
  CHECK(!executable->get<float>("y").ok());
  CHECK(taken.set("x", std::array{1.0f, 2.0f, 3.0f}).ok());
}

TEST_CASE("a name that is not there lists those that are", "[gpu]") {
  DynamicGraph graph;
  graph->output("y", graph->input("x", f32, {3}) + graph->scalar("shift", f32));
  auto exe = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(exe.ok());
  CHECK(exe->get<float>("q").status().message() == "the graph has no tensor \"q\"; it has \"x\", \"y\"");
  CHECK(exe->set("q", 1.0).message() == "the graph has no scalar \"q\"; it has \"shift\"");
  REQUIRE(exe->set("x", std::vector<float>(3)).ok());
  CHECK(exe->run().get<float>("q").status().message() == "the run has no output \"q\"; it has \"y\"");
}

TEST_CASE("a fraction is no extent and no integer", "[gpu]") {
  DynamicGraph graph;
  const Dim n = graph->extent("n", 4);
  graph->output("y", graph->input("x", f32, {n}) + 1.0f);
  graph->output("count", graph->scalar("i", i32));
  auto exe = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(exe.ok());
  CHECK(exe->set("n", 2.5).message() == "extent \"n\" is 2.5; it must be a whole number");
  CHECK(exe->set("i", -0.5).message() == "scalar \"i\" is -0.5; it must be a whole number");
  CHECK(exe->set("i", -3).ok());
}

TEST_CASE("states and weights are set and read at extents below their largest", "[gpu]") {
  DynamicGraph graph;
  const Dim n = graph->extent("n", 4);
  const Tensor state = graph->state("state", f32, {2, n});
  const Tensor weight = graph->param("weight", f32, {2, n});
  graph->output("y", accumulate(state, weight) + 0.0f);
  auto exe = Executable<DynamicGraph>::create(device_or_skip(), graph);
  INFO(exe.status().ToString());
  REQUIRE(exe.ok());
  REQUIRE(exe->set("n", 3).ok());
  REQUIRE(exe->set("state", std::array{1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}).ok());
  REQUIRE(exe->set("weight", std::array{10.0f, 20.0f, 30.0f, 40.0f, 50.0f, 60.0f}).ok());
  CHECK(*exe->get<float>("weight") == std::vector<float>{10, 20, 30, 40, 50, 60});
  CHECK(exe->run().wait().ok());
  CHECK(*exe->get<float>("y") == std::vector<float>{11, 22, 33, 44, 55, 66});
  CHECK(*exe->get<float>("state") == std::vector<float>{11, 22, 33, 44, 55, 66});
  CHECK(!exe->set("state", std::vector<float>(8)).ok());
}

}  // namespace
}  // namespace rlxgpu::core

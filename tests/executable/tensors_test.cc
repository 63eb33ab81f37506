// Executables and DeviceTensors: what docs/device-tensors.md shows, and its edges.
#include <array>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/kv_cache/kv_append.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core {
namespace {

using testing::device_or_skip;
using testing::open_or_skip;
using Floats = std::vector<float>;

struct Encode {
  static constexpr void build(Builder& g) { g.output("hidden", g.input("x", f32, {8, 64}) * 2.0); }
};
struct Decode {
  static constexpr void build(Builder& g) { g.output("y", sum(g.input("hidden", f32, {8, 64}), {-1})); }
};

TEST_CASE("the output of one executable is the input of the next", "[gpu]") {
  const Device device = device_or_skip();
  const Floats samples(512, 1.5f);
  Executable<Encode> encode(device);
  Executable<Decode> decode(device);
  Result<DeviceTensor> hidden = DeviceTensor::create(device, f32, {8, 64});
  REQUIRE(hidden.ok());
  encode.bind<"hidden">(*hidden);
  decode.bind<"hidden">(*hidden);

  encode.set<"x">(samples);
  encode.run();
  decode.run();
  Result<std::vector<float>> y = decode.get<"y">();
  REQUIRE(y.ok());
  CHECK(*y == Floats(8, 192));
}

TEST_CASE("what an executable has already is a tensor, too", "[gpu]") {
  const Device device = device_or_skip();
  Executable<Encode> encode(device);
  Executable<Decode> decode(device);
  decode.bind<"hidden">(*encode.tensor<"hidden">());
  encode.set<"x">(Floats(512, 1));
  encode.run();
  decode.run();
  CHECK(*decode.get<"y">() == Floats(8, 128));
}

struct Step {
  static constexpr void build(Builder& g) { g.output("next", g.input("now", f32, {4, 64}) * 0.5 + 1.0); }
};

TEST_CASE("double buffering", "[gpu]") {
  const Device device = device_or_skip();
  Executable<Step> step(device);
  std::array<DeviceTensor, 2> turns;
  for (DeviceTensor& turn : turns) turn = *DeviceTensor::create(device, f32, {4, 64});
  for (size_t i = 0; i < 10; ++i) {
    step.bind<"now">(turns[i % 2]);
    step.bind<"next">(turns[(i + 1) % 2]);
    step.run();
  }
  Result<std::vector<float>> last = turns[0].to_host<float>();
  REQUIRE(last.ok());
  CHECK((*last)[17] == 2.0f - 2.0f / 1024);
  CHECK(step.engine().bind_groups_made() == 3);  // one of its own, then two for the two
  CHECK(step.status().ok());
}

TEST_CASE("errors of bind are kept like those of set, and those of a run are its own", "[gpu]") {
  const Device device = device_or_skip();
  Executable<Step> step(device);
  step.bind<"now">(*DeviceTensor::create(device, f32, {4, 63}));
  CHECK(step.status().message() == "engine: bind \"now\": given f32[4,63], needed f32[4,64]");
  const DeviceTensor one = *DeviceTensor::create(device, f32, {4, 64});
  step.bind<"now">(one);
  step.bind<"next">(one);
  const Status status = step.run().wait();
  CHECK(absl::StrContains(status.message(), "\"now\" and \"next\" are bound to the same memory"));
  CHECK(step.get<"next">().status().message() == status.message());
}

// A decoder's cache: (head, position, column); one position more at every step.
struct Cached {
  static constexpr void build(Builder& g) {
    const Tensor cache = g.state("cache", f32, {2, 16, 64});
    g.output("sum", sum(kv_append(cache, g.input("keys", f32, {2, 1, 64}), g.scalar("position", u32), 1), {-1}));
  }
};

TEST_CASE("a cache is kept, truncated and restored", "[gpu]") {
  const Device device = device_or_skip();
  Executable<Cached> decoder(device);
  const auto append = [&](int position, float value) {
    decoder.set<"keys">(Floats(128, value));
    decoder.set<"position">(position);
    decoder.run();
  };
  for (int i = 0; i < 5; ++i) append(i, 1);  // the prompt

  DeviceTensor cache = *decoder.tensor<"cache">();  // the memory itself
  DeviceTensor prompt = *cache.clone();             // a copy on the device
  for (int i = 5; i < 9; ++i) append(i, 2);         // one way to go on

  DeviceTensor beam = *prompt.clone();  // another way, from the prompt again
  decoder.bind<"cache">(beam);
  append(5, 3);

  REQUIRE(copy_range(prompt, 0, cache, 0, 5, 1).ok());  // the first five positions as they were
  decoder.bind<"cache">(cache);
  append(5, 4);

  const auto sums = [&](const DeviceTensor& of) {
    Floats found = *of.to_host<float>(), result;
    for (size_t position = 0; position < 16; ++position) {
      result.push_back(found[position * 64]);
      CHECK(found[(16 + position) * 64 + 63] == result.back());  // the other head's
    }
    return result;
  };
  CHECK(sums(prompt) == Floats{1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(sums(beam) == Floats{1, 1, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(sums(cache) == Floats{1, 1, 1, 1, 1, 4, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0});
  CHECK((*decoder.get<"cache">())[5 * 64] == 4.0f);
  CHECK(decoder.status().ok());
}

TEST_CASE("a run's own outputs, by name and type", "[gpu]") {
  const Device device = device_or_skip();
  Executable<Encode> encode(device);
  encode.set<"x">(Floats(512, 1));
  auto first = encode.run({.read = true});
  encode.set<"x">(Floats(512, 2));
  auto second = encode.run({.read = true});
  CHECK(second.wait_for(60).ok());
  CHECK(*second.get<"hidden">() == Floats(512, 4));
  CHECK(*first.get<"hidden">() == Floats(512, 2));
  Run plain = first;  // and by a string
  CHECK(*plain.get<float>("hidden") == Floats(512, 2));
}

TEST_CASE("a run's outputs have the extents that it was run with", "[gpu]") {
  DynamicGraph graph;
  const Dim n = graph->extent("n", 6);
  graph->output("y", graph->input("x", f32, {n, 2}) + 1.0);
  Result<Executable<DynamicGraph>> executable = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(executable.ok());
  REQUIRE(executable->set("n", 2).ok());
  REQUIRE(executable->set("x", Floats(4, 1)).ok());
  const Run two = executable->run({.read = true});
  REQUIRE(executable->set("n", 5).ok());
  REQUIRE(executable->set("x", Floats(10, 2)).ok());
  const Run five = executable->run({.read = true});
  CHECK(*two.get<float>("y") == Floats(4, 2));
  CHECK(*five.get<float>("y") == Floats(10, 3));
}

TEST_CASE("dynamic graphs bind by name", "[gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  graph->output("y", graph->input("x", f32, {64}) + graph->param("w", f32, {64}));
  Result<Executable<DynamicGraph>> executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.ok());
  const DeviceTensor x = *DeviceTensor::of(device, {64}, Floats(64, 1)),
                     w = *DeviceTensor::of(device, {64}, Floats(64, 2));
  CHECK(executable->bind("x", x).ok());
  CHECK(executable->bind("w", w).ok());
  CHECK(executable->bind("z", w).code() == absl::StatusCode::kNotFound);
  executable->run();
  CHECK(*executable->get<float>("y") == Floats(64, 3));
  CHECK(*executable->tensor("y")->to_host<float>() == Floats(64, 3));
  REQUIRE(executable->set("w", Floats(64, 5)).ok());  // into what is bound
  CHECK(*w.to_host<float>() == Floats(64, 5));
}

TEST_CASE("executables are made on other threads", "[gpu]") {
  const Device device = device_or_skip();
  Creation<Executable<Encode>> creation = Executable<Encode>::create_async(device);
  DynamicGraph graph;
  graph->output("y", graph->input("x", f32, {64}) + 1.0);
  auto dynamic = Executable<DynamicGraph>::create_async(device, std::move(graph));
  Result<Executable<Encode>> encode = creation.get();
  REQUIRE(encode.ok());
  encode->set<"x">(Floats(512, 1));
  encode->run();
  CHECK(*encode->get<"hidden">() == Floats(512, 2));
  Result<Executable<DynamicGraph>> made = dynamic.get();
  REQUIRE(made.ok());
  CHECK(made->set("x", Floats(64, 1)).ok());
  made->run();
  CHECK(*made->get<float>("y") == Floats(64, 2));
}

TEST_CASE("a pipeline's device is destroyed in the middle", "[gpu]") {
  const Device device = open_or_skip({});
  Executable<Encode> encode(device);
  Executable<Decode> decode(device);
  const DeviceTensor hidden = *encode.tensor<"hidden">();
  decode.bind<"hidden">(hidden);
  encode.run();
  device.destroy();
  decode.run();
  CHECK(!decode.get<"y">().ok());
  CHECK(!hidden.to_host<float>().ok());
  decode.bind<"hidden">(hidden);
  CHECK(decode.run().wait().code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace rlxgpu::core

// Weights are uploaded once and shared; states live between runs and engines.
#include "rlxgpu/runtime/weights.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

// y = x + w: ports 0 (x), 1 (w), 2 (y).
HandMade adder(std::string_view weight, int64_t n) {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {n});
  p.tensor(weight, BufferRole::param, f32, {n});
  p.tensor("y", BufferRole::output, f32, {n});
  p.step(kAdd, {{"x"}, {weight}, {"y", true}}, {static_cast<uint32_t>((n + 63) / 64), 1, 1});
  return p;
}

// s += x: ports 0 (x), 1 (s).
HandMade accumulator(int64_t n) {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {n});
  p.tensor("s", BufferRole::state, f32, {n});
  p.step(kAccumulate, {{"x"}, {"s", true}}, {static_cast<uint32_t>((n + 63) / 64), 1, 1});
  return p;
}

Floats run(Engine& engine, const Floats& x, int port) {
  REQUIRE(engine.set_input(0, bytes_of(x)).ok());
  const absl::Status status = engine.run().wait();
  INFO(status.ToString());
  REQUIRE(status.ok());
  Floats y(x.size());
  REQUIRE(engine.get_output(port, room_of(y)).ok());
  return y;
}

TEST_CASE("two engines share weights, set before or after, and set again", "[gpu]") {
  const Device device = device_or_skip();
  const Weights weights(device);
  const bool before = GENERATE(true, false);
  if (before) REQUIRE(weights.set("w", f32, {3}, bytes_of(Floats{1, 2, 3})).ok());
  absl::StatusOr<Engine> a = adder("w", 3).engine(device, {.weights = weights});
  absl::StatusOr<Engine> b = adder("w", 3).engine(device, {.weights = weights});
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  if (!before) REQUIRE(weights.set("w", f32, {3}, bytes_of(Floats{1, 2, 3})).ok());
  CHECK(run(*a, {10, 10, 10}, 2) == Floats{11, 12, 13});
  CHECK(run(*b, {20, 20, 20}, 2) == Floats{21, 22, 23});
  REQUIRE(weights.set("w", f32, {3}, bytes_of(Floats{5, 6, 7})).ok());
  CHECK(run(*a, {10, 10, 10}, 2) == Floats{15, 16, 17});
  CHECK(run(*b, {20, 20, 20}, 2) == Floats{25, 26, 27});
  CHECK(weights.count() == 1);
  CHECK(weights.buffer_count() == 1);
}

TEST_CASE("runs in flight keep the weights they were submitted with", "[gpu]") {
  const Device device = device_or_skip();
  absl::StatusOr<Engine> engine = adder("w", 4).engine(device);
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(Floats(4, 0.0f))).ok());
  std::vector<Run> runs;
  for (int i = 0; i < 8; ++i) {
    REQUIRE(engine->weights().set("w", f32, {4}, bytes_of(Floats(4, static_cast<float>(i)))).ok());
    runs.push_back(engine->run({.read = true}));
  }
  for (int i = 0; i < 8; ++i) {
    Floats y(4);
    REQUIRE(runs[static_cast<size_t>(i)].get(2, room_of(y)).ok());
    CHECK(y == Floats(4, static_cast<float>(i)));
  }
}

TEST_CASE("a weight never set fails the run and is named", "[gpu]") {
  absl::StatusOr<Engine> engine = adder("w", 3).engine(device_or_skip(), {.label = "mlp"});
  REQUIRE(engine.ok());
  CHECK(engine->run().wait().message() == "mlp: param \"w\" was never set");
  CHECK(engine->profile().status().message() == "mlp: param \"w\" was never set");
  REQUIRE(engine->weights().set("w", f32, {3}, bytes_of(Floats(3))).ok());
  CHECK(engine->run().wait().ok());
}

TEST_CASE("a weight of another type is refused, whoever comes first", "[gpu]") {
  const Device device = device_or_skip();
  const Weights weights(device);
  REQUIRE(weights.set("w", f32, {3, 4}, bytes_of(Floats(12))).ok());
  CHECK(adder("w", 4).engine(device, {.weights = weights}).status().message() ==
        "param \"w\": given f32[3,4], needed f32[4]");
  REQUIRE(adder("v", 4).engine(device, {.weights = weights}).ok());
  CHECK(weights.set("v", f16, {4}, bytes_of(std::vector<uint16_t>(4))).message() ==
        "param \"v\": given f16[4], needed f32[4]");
  CHECK(weights.set("v", f32, {4}, bytes_of(Floats(5))).message() ==
        "param \"v\": given 20 bytes, needed 16 for f32[4]");
  CHECK(weights.get("u", {}).message() == "no param \"u\"");
}

TEST_CASE("weights of another device are refused", "[gpu]") {
  const Device device = device_or_skip(), other = open_or_skip({});
  CHECK(adder("w", 4).engine(device, {.weights = Weights(other)}).status().code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(adder("w", 4).engine(device, {.states = States(other)}).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a thousand small weights share few buffers and keep their data", "[gpu]") {
  const Device device = device_or_skip();
  const Weights weights(device);
  for (int i = 0; i < 1000; ++i) {
    const std::vector<uint8_t> data(static_cast<size_t>(1 + i % 700), static_cast<uint8_t>(i));
    const Shape shape = {static_cast<int64_t>(data.size())};
    REQUIRE(weights.set(absl::StrCat("w", i), u8, shape, bytes_of(data)).ok());
  }
  REQUIRE(weights.set("empty", f32, {0}, {}).ok());
  CHECK(weights.count() == 1001);
  CHECK(weights.buffer_count() <= 3);
  CHECK(weights.device_bytes() <= 4u << 20);
  for (const int i : {0, 1, 2, 499, 699, 700, 999}) {
    std::vector<uint8_t> data(static_cast<size_t>(1 + i % 700));
    REQUIRE(weights.get(absl::StrCat("w", i), room_of(data)).ok());
    CHECK(data == std::vector<uint8_t>(data.size(), static_cast<uint8_t>(i)));
  }
}

TEST_CASE("weights that are expected get buffers of their size", "[gpu]") {
  const Weights weights(device_or_skip());
  weights.reserve(5 << 20);
  const std::vector<uint8_t> data(1 << 20, 7);
  for (int i = 0; i < 5; ++i) REQUIRE(weights.set(absl::StrCat("w", i), u8, {1 << 20}, bytes_of(data)).ok());
  CHECK(weights.buffer_count() == 1);
  CHECK(weights.device_bytes() == 5 << 20);
  REQUIRE(weights.set("more", u8, {4}, bytes_of(std::vector<uint8_t>(4))).ok());
  CHECK(weights.buffer_count() == 2);
}

TEST_CASE("an engine's small weights share one buffer of their size", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {4});
  for (int i = 0; i < 50; ++i) p.tensor(absl::StrCat("w", i), BufferRole::param, f32, {4});
  absl::StatusOr<Engine> engine = p.engine(device_or_skip());
  REQUIRE(engine.ok());
  CHECK(engine->weights().buffer_count() == 1);
  CHECK(engine->weights().device_bytes() == 50 * 256);
}

TEST_CASE("states are zero at first, kept between runs, and shared by name", "[gpu]") {
  const Device device = device_or_skip();
  const States states(device);
  absl::StatusOr<Engine> prefill = accumulator(70).engine(device, {.states = states});
  absl::StatusOr<Engine> decode = accumulator(70).engine(device, {.states = states});
  absl::StatusOr<Engine> alone = accumulator(70).engine(device);
  REQUIRE(prefill.ok());
  REQUIRE(decode.ok());
  REQUIRE(alone.ok());
  CHECK(run(*prefill, Floats(70, 1), 1) == Floats(70, 1));
  CHECK(run(*prefill, Floats(70, 1), 1) == Floats(70, 2));
  CHECK(run(*decode, Floats(70, 5), 1) == Floats(70, 7));
  CHECK(run(*alone, Floats(70, 5), 1) == Floats(70, 5));
  REQUIRE(states.set("s", f32, {70}, bytes_of(Floats(70, 100))).ok());
  CHECK(run(*decode, Floats(70, 1), 1) == Floats(70, 101));
  REQUIRE(states.clear().ok());
  CHECK(run(*prefill, Floats(70, 3), 1) == Floats(70, 3));
  CHECK(accumulator(71).engine(device, {.states = states}).status().message() ==
        "state \"s\": given f32[70], needed f32[71]");
}

TEST_CASE("warm-up and pipelines touch neither states nor inputs", "[gpu]") {
  absl::StatusOr<Engine> engine = accumulator(4).engine(device_or_skip());
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(Floats(4, 1))).ok());
  REQUIRE(engine->warm_up().ok());
  Floats s(4, -1);
  REQUIRE(engine->get_output(1, room_of(s)).ok());
  CHECK(s == Floats(4, 0));
}

}  // namespace
}  // namespace rlxgpu::core::testing

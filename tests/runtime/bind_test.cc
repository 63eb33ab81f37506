// Ports whose memory is a DeviceTensor: pipelines of engines, tensors in turn, caches, and what must not be.
#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/engine.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

Engine make(const HandMade& program, const EngineOptions& options = {}) {
  absl::StatusOr<Engine> engine = program.engine(device_or_skip(), options);
  INFO(engine.status());
  REQUIRE(engine.ok());
  return *std::move(engine);
}

DeviceTensor tensor(int64_t n, float value = 0) {
  Result<DeviceTensor> made = DeviceTensor::of(device_or_skip(), {n}, Floats(static_cast<size_t>(n), value));
  REQUIRE(made.ok());
  return *std::move(made);
}

Floats values(const DeviceTensor& tensor) {
  Result<Floats> found = tensor.to_host<float>();
  INFO(found.status().ToString());
  REQUIRE(found.ok());
  return *std::move(found);
}

TEST_CASE("the output of one engine is the input of the next", "[gpu]") {
  Engine first = make(doubler(100)), second = make(doubler(100));
  const DeviceTensor between = tensor(100), y = tensor(100);
  REQUIRE(first.bind(1, between).ok());
  REQUIRE(second.bind(0, between).ok());
  REQUIRE(second.bind(1, y).ok());
  for (const float x : {1.0f, 3.0f}) {
    REQUIRE(first.set_input(0, bytes_of(Floats(100, x))).ok());
    first.run();
    second.run();
    CHECK(values(between) == Floats(100, 2 * x));
    CHECK(values(y) == Floats(100, 4 * x));
    Floats out(100);
    REQUIRE(second.get_output(1, room_of(out)).ok());
    CHECK(out == Floats(100, 4 * x));
  }
}

TEST_CASE("an engine's own memory is a tensor, and can be bound elsewhere", "[gpu]") {
  Engine first = make(doubler(64)), second = make(doubler(64));
  Result<DeviceTensor> y = first.tensor(1);
  REQUIRE(y.ok());
  REQUIRE(second.bind(0, *y).ok());
  REQUIRE(first.set_input(0, bytes_of(Floats(64, 5))).ok());
  first.run();
  second.run();
  Floats out(64);
  REQUIRE(second.get_output(1, room_of(out)).ok());
  CHECK(out == Floats(64, 20));
  first = Engine();  // the memory stays with its handles
  second.run();
  REQUIRE(second.get_output(1, room_of(out)).ok());
  CHECK(out == Floats(64, 20));
  CHECK(values(*y) == Floats(64, 10));
}

TEST_CASE("set writes into what is bound, and get reads it", "[gpu]") {
  Engine engine = make(doubler(4));
  const DeviceTensor x = tensor(4), y = tensor(4);
  REQUIRE(engine.bind(0, x).ok());
  REQUIRE(engine.bind(1, y).ok());
  CHECK(engine.is_bound(0));
  REQUIRE(engine.set_input(0, bytes_of(Floats(4, 7))).ok());
  CHECK(values(x) == Floats(4, 7));
  engine.run();
  const DeviceTensor other = tensor(4, 1);
  REQUIRE(engine.bind(1, other).ok());
  Floats out(4);
  REQUIRE(engine.get_output(1, room_of(out)).ok());  // what is bound now
  CHECK(out == Floats(4, 1));
  CHECK(values(y) == Floats(4, 14));
}

TEST_CASE("two tensors in turn make no bind groups after the first two", "[gpu]") {
  Engine engine = make(doubler(256));
  const DeviceTensor a = tensor(256, 1), b = tensor(256);
  uint64_t made = 0;
  for (int i = 0; i < 10; ++i) {
    REQUIRE(engine.bind(0, i % 2 == 0 ? a : b).ok());
    REQUIRE(engine.bind(1, i % 2 == 0 ? b : a).ok());
    const Run run = engine.run();
    REQUIRE(run.wait().ok());
    if (i == 1) made = engine.bind_groups_made();
  }
  CHECK(engine.bind_groups_made() == made);
  CHECK(values(a) == Floats(256, 1024));  // doubled ten times
}

TEST_CASE("one buffer that a step would read and write is an error that names both ports", "[gpu]") {
  const DeviceTensor x = tensor(64, 1);
  Engine engine = make(doubler(64), {.label = "doubler"});
  REQUIRE(engine.bind(0, x).ok());
  REQUIRE(engine.bind(1, x).ok());  // only a run minds, since tensors may change places one by one
  const Status same = engine.run().wait();
  CHECK(same.code() == absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(same.message(), "\"x\" and \"y\" are bound to the same memory"));
  Floats out(64);
  CHECK(engine.get_output(1, room_of(out)).message() == same.message());
  // Parts of one buffer that do not overlap are still one buffer.
  Result<DeviceTensor> large = DeviceTensor::create(device_or_skip(), f32, {4, 64});
  REQUIRE(large.ok());
  REQUIRE(engine.bind(0, *large->rows(0, 1)->reshaped({64})).ok());
  REQUIRE(engine.bind(1, *large->rows(2, 1)->reshaped({64})).ok());
  const Status parts = engine.run().wait();
  CHECK(parts.message() ==
        "doubler: \"x\" and \"y\" are bound to one buffer, and step \"test/step0\" reads the first and writes the "
        "second, "
        "which WebGPU forbids: bind one of them to a tensor of its own");
  REQUIRE(engine.bind(1, x).ok());  // and it goes on
  CHECK(engine.run().wait().ok());
  CHECK(values(x) == Floats(64, 0));
}

TEST_CASE("two inputs may be one tensor", "[gpu]") {
  HandMade p;
  p.tensor("a", BufferRole::input, f32, {64});
  p.tensor("b", BufferRole::input, f32, {64});
  p.tensor("y", BufferRole::output, f32, {64});
  p.step(kAdd, {{"a"}, {"b"}, {"y", true}}, {1, 1, 1});
  Engine engine = make(p);
  const DeviceTensor x = tensor(64, 3);
  REQUIRE(engine.bind(0, x).ok());
  REQUIRE(engine.bind(1, x).ok());
  engine.run();
  Floats out(64);
  REQUIRE(engine.get_output(2, room_of(out)).ok());
  CHECK(out == Floats(64, 6));
}

TEST_CASE("what does not fit is refused in words", "[gpu]") {
  Engine engine = make(doubler(64), {.label = "doubler"});
  CHECK(engine.bind(0, tensor(65)).message() == "doubler: bind \"x\": given f32[65], needed f32[64]");
  CHECK(engine.bind(0, DeviceTensor()).message() == "doubler: bind \"x\": an empty DeviceTensor");
  CHECK(engine.bind(7, tensor(64)).message() == "doubler: no port 7, there are 2");
  Result<DeviceTensor> ints = DeviceTensor::create(device_or_skip(), i32, {64});
  CHECK(engine.bind(0, *ints).message() == "doubler: bind \"x\": given i32[64], needed f32[64]");
  Result<DeviceTensor> wide = DeviceTensor::create(device_or_skip(), f32, {65});
  CHECK(absl::StrContains(engine.bind(0, *wide->rows(1, 64)).message(), "begins at byte 4 of its buffer"));
  const Device other = open_or_skip({});
  Result<DeviceTensor> foreign = DeviceTensor::create(other, f32, {64});
  CHECK(engine.bind(0, *foreign).message() == "doubler: bind \"x\": the tensor is of another device");
  CHECK(Engine().bind(0, tensor(64)).code() == absl::StatusCode::kFailedPrecondition);
}

// state += x
HandMade accumulator(int64_t rows, int64_t width) {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {rows, width});
  p.tensor("cache", BufferRole::state, f32, {rows, width});
  p.step(kAccumulate, {{"x"}, {"cache", true}}, {static_cast<uint32_t>((rows * width + 63) / 64), 1, 1});
  return p;
}

TEST_CASE("a cache is kept, truncated and restored, and two engines take turns with two caches", "[gpu]") {
  Engine engine = make(accumulator(8, 64));
  REQUIRE(engine.set_input(0, bytes_of(Floats(512, 1))).ok());
  engine.run();
  Result<DeviceTensor> cache = engine.states().tensor("cache");
  REQUIRE(cache.ok());
  Result<DeviceTensor> saved = cache->clone();
  REQUIRE(saved.ok());
  engine.run();
  engine.run();
  CHECK(values(*cache) == Floats(512, 3));
  REQUIRE(copy_range(*saved, 0, *cache, 0, 5).ok());  // the first five rows as they were
  REQUIRE(cache->rows(5, 3)->clear().ok());           // and nothing behind them
  Floats expected(512, 1);
  std::fill(expected.begin() + 5 * 64, expected.end(), 0.0f);
  CHECK(values(*cache) == expected);
  // Another cache for the same engine: the shared one is left alone.
  Result<DeviceTensor> beam = saved->clone();
  REQUIRE(engine.bind(1, *beam).ok());
  engine.run();
  CHECK(values(*beam) == Floats(512, 2));
  CHECK(values(*cache) == expected);
  REQUIRE(engine.bind(1, *cache).ok());
  engine.run();
  CHECK(values(*cache)[0] == 2.0f);
  CHECK(values(*cache)[511] == 1.0f);
}

TEST_CASE("a weight is bound, and needs not be set", "[gpu]") {
  HandMade p;
  p.tensor("w", BufferRole::param, f32, {64});
  p.tensor("y", BufferRole::output, f32, {64});
  p.step(kDouble, {{"w"}, {"y", true}}, {1, 1, 1});
  Engine engine = make(p);
  CHECK(engine.run().wait().code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(engine.bind(0, tensor(64, 4)).ok());
  Floats out(64);
  engine.run();
  REQUIRE(engine.get_output(1, room_of(out)).ok());
  CHECK(out == Floats(64, 8));
}

TEST_CASE("a bound tensor lives as long as it is bound, and memory is returned when it is not", "[gpu]") {
  const Device device = open_or_skip({});
  const HandMade program = doubler(1024);
  {
    absl::StatusOr<Engine> engine = program.engine(device);
    REQUIRE(engine.ok());
    const uint64_t own = device.memory().scratch;
    CHECK(own == 2 * 4096);
    for (int i = 0; i < 20; ++i) {
      Result<DeviceTensor> x = DeviceTensor::of(device, {1024}, Floats(1024, static_cast<float>(i)));
      REQUIRE(engine->bind(0, *x).ok());
      x = DeviceTensor();
      engine->run();
      Floats out(1024);
      REQUIRE(engine->get_output(1, room_of(out)).ok());
      REQUIRE(out == Floats(1024, 2 * static_cast<float>(i)));
      CHECK(device.memory().tensors == 4096);
      CHECK(device.memory().scratch == own - 4096);
    }
  }
  CHECK(device.memory().tensors == 0);
  CHECK(device.memory().scratch == 0);
  CHECK(device.status().ok());
}

TEST_CASE("set, run and get are one submit", "[gpu]") {
  const Device device = device_or_skip();
  Engine small = make(doubler(64)), large = make(doubler(100000));
  const auto submits_of = [&](Engine& engine, size_t n) {
    const uint64_t before = device.state()->submits;
    REQUIRE(engine.set_input(0, bytes_of(Floats(n, 2))).ok());
    engine.run();
    Floats out(n);
    REQUIRE(engine.get_output(1, room_of(out)).ok());
    REQUIRE(out == Floats(n, 4));
    return device.state()->submits - before;
  };
  CHECK(submits_of(small, 64) == 1);
  CHECK(submits_of(large, 100000) == 2);  // it is not known yet that it will be read
  CHECK(submits_of(large, 100000) == 1);
  const uint64_t staging = device.memory().staging;
  for (int i = 0; i < 20; ++i) REQUIRE(large.run().wait().ok());  // nobody reads: after a while nothing is copied
  CHECK(submits_of(large, 100000) == 2);
  CHECK(submits_of(large, 100000) == 1);
  CHECK(device.memory().staging <= staging + (uint64_t{512} << 10));  // buffers are used again
}

}  // namespace
}  // namespace rlxgpu::core::testing

// What a device's memory is used for, to the byte, and what happens at its limit.
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/weights.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

// y = 2 (w + s): 4 KiB each; ports 0 (w), 1 (s), 2 (y)
HandMade program() {
  HandMade p;
  p.tensor("w", BufferRole::param, f32, {1024});
  p.tensor("s", BufferRole::state, f32, {1024});
  p.tensor("y", BufferRole::output, f32, {1024});
  p.tensor("t", BufferRole::scratch, f32, {1024});
  p.step(kAdd, {{"w"}, {"s"}, {"t", true}}, {16, 1, 1});
  p.step(kDouble, {{"t"}, {"y", true}}, {16, 1, 1});
  return p;
}

TEST_CASE("memory is counted by what it is for, and returned", "[gpu]") {
  const Device device = open_or_skip({});
  CHECK(device.memory().total() == 0);
  CHECK(device.memory().limit == 0);
  {
    const Weights weights(device);
    weights.reserve(4096);
    REQUIRE(weights.set("w", f32, {1024}, bytes_of(Floats(1024, 1))).ok());
    CHECK(device.memory().weights == 4096);
    absl::StatusOr<Engine> engine = program().engine(device, {.weights = weights});
    REQUIRE(engine.ok());
    CHECK(device.memory().weights == 4096);
    CHECK(device.memory().states == 4096);
    CHECK(device.memory().scratch == 8192);
    CHECK(device.memory().staging == 0);
    engine->run();
    CHECK(device.memory().staging == 4096);
    Floats y(1024);
    REQUIRE(engine->get_output(2, room_of(y)).ok());
    CHECK(y == Floats(1024, 2));
    const Result<DeviceTensor> x = DeviceTensor::create(device, f32, {100});
    REQUIRE(x.ok());
    CHECK(device.memory().tensors == 400);
    CHECK(device.memory().total() == 4096 + 4096 + 8192 + 4096 + 400);
  }
  CHECK(device.memory().weights == 0);
  CHECK(device.memory().states == 0);
  CHECK(device.memory().scratch == 0);
  CHECK(device.memory().tensors == 0);
  CHECK(device.memory().staging == 4096);  // kept for the next read
}

TEST_CASE("what exceeds the limit is refused before it is allocated, in a sentence with a way out", "[gpu]") {
  const Device device = open_or_skip({.memory_limit = 1000000});
  std::optional<DeviceTensor> x;
  Result<DeviceTensor> made = DeviceTensor::create(device, f32, {200000}, "x");
  REQUIRE(made.ok());
  x = *made;
  made = DeviceTensor();
  const MemoryUse before = device.memory();
  const Status refused = DeviceTensor::create(device, f32, {100000}, "y").status();
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK(
      refused.message() ==
      "buffer \"y\" needs 400000 bytes (390.6 KiB), but of the device's memory limit of 1000000 bytes (976.6 KiB) only "
      "200000 bytes (195.3 KiB) are left (weights 0, states 0, scratch 0, tensors 800000, staging 0): drop what is no "
      "longer needed, or raise DeviceOptions::memory_limit");
  CHECK(device.memory().total() == before.total());
  x.reset();
  CHECK(DeviceTensor::create(device, f32, {100000}, "y").ok());  // and now there is room
}

TEST_CASE("an engine that does not fit is refused as a whole", "[gpu]") {
  const Device device = open_or_skip({.memory_limit = 15000});
  const Status refused = program().engine(device).status();
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK(absl::StartsWith(
      refused.message(),
      "the program (weights 4096, states 4096, scratch 8192 bytes that are not there yet) needs 16384 bytes"));
  CHECK(device.memory().total() == 0);
  CHECK(device.status().ok());
}

TEST_CASE("weights beyond the limit", "[gpu]") {
  const Device device = open_or_skip({.memory_limit = 100000});
  const Weights weights(device);
  weights.reserve(40960);
  REQUIRE(weights.set("a", f32, {10240}, bytes_of(Floats(10240))).ok());
  const Status refused = weights.set("b", f32, {20480}, bytes_of(Floats(20480)));
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK(absl::StrContains(refused.message(), "param/b"));
  CHECK(weights.count() == 1);
}

TEST_CASE("reads take turns with little staging memory, and free what is kept", "[gpu]") {
  const Device device = open_or_skip({.memory_limit = 150000});
  absl::StatusOr<Engine> engine = doubler(10000).engine(device);  // 80000 bytes of its own, 65536 of staging
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(Floats(10000, 4))).ok());
  const Run first = engine->run({.read = true});
  REQUIRE(first.wait().ok());
  const Run second = engine->run({.read = true});  // the first one's staging is still held
  CHECK(second.wait().code() == absl::StatusCode::kResourceExhausted);
  Floats y(10000);
  REQUIRE(first.get(1, room_of(y)).ok());
  CHECK(y == Floats(10000, 8));
}

TEST_CASE("no budget for a copy that nobody asked for is no error", "[gpu]") {
  const Device device = open_or_skip({.memory_limit = 85000});
  absl::StatusOr<Engine> engine = doubler(10000).engine(device);
  REQUIRE(engine.ok());
  CHECK(engine->run().wait().ok());
}

}  // namespace
}  // namespace rlxgpu::core::testing

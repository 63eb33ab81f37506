// Objects may go in any order, on any thread, with work in flight.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/engine.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

// s += x + w: ports 0 (x), 1 (w), 2 (s), 3 (y = 2 s).
HandMade whole() {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {64});
  p.tensor("w", BufferRole::param, f32, {64});
  p.tensor("s", BufferRole::state, f32, {64});
  p.tensor("y", BufferRole::output, f32, {64});
  p.step(kAccumulate, {{"x"}, {"s", true}}, {1, 1, 1});
  p.step(kAccumulate, {{"w"}, {"s", true}}, {1, 1, 1});
  p.step(kDouble, {{"s"}, {"y", true}}, {1, 1, 1});
  return p;
}

struct Everything {
  std::optional<Device> device;
  std::optional<Weights> weights;
  std::optional<States> states;
  std::optional<Engine> engine;
  std::optional<Run> run;

  explicit Everything(const Device& opened) : device(opened) {
    weights.emplace(*device);
    states.emplace(*device);
    REQUIRE(weights->set("w", f32, {64}, bytes_of(Floats(64, 2))).ok());
    absl::StatusOr<Engine> made = whole().engine(*device, {.weights = *weights, .states = *states});
    REQUIRE(made.ok());
    engine.emplace(*std::move(made));
    REQUIRE(engine->set_input(0, bytes_of(Floats(64, 1))).ok());
    engine->run();
    run.emplace(engine->run({.read = true}));
  }

  // What still exists still works.
  void check() const {
    Floats y(64);
    if (run) {
      REQUIRE(run->get(3, room_of(y)).ok());
      CHECK(y == Floats(64, 12));
    }
    if (weights) {
      REQUIRE(weights->get("w", room_of(y)).ok());
      CHECK(y == Floats(64, 2));
    }
    if (states) {
      REQUIRE(states->get("s", room_of(y)).ok());
      CHECK(y == Floats(64, 6));
    }
    if (device) CHECK(device->status().ok());
  }

  void drop(int which) {
    if (which == 0) device.reset();
    if (which == 1) weights.reset();
    if (which == 2) states.reset();
    if (which == 3) engine.reset();
    if (which == 4) run.reset();
  }
};

TEST_CASE("device, weights, states, engine and run go in every order", "[gpu]") {
  std::vector<int> order = {0, 1, 2, 3, 4};
  int round = 0;
  do {
    ++round;
    Everything all(open_or_skip({}));
    for (const int which : order) {
      all.drop(which);
      if (round % 2 == 0) all.check();  // or leave the work in flight
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("one of each lives until exit", "[gpu]") {
  static std::vector<std::unique_ptr<Everything>>
      globals;  // made before the driver's own globals, so destroyed after them
  globals.push_back(std::make_unique<Everything>(open_or_skip({})));
  globals.push_back(std::make_unique<Everything>(device_or_skip()));
  globals.front()->check();
}

TEST_CASE("the last handle may go on another thread", "[gpu]") {
  for (int round = 0; round < 5; ++round) {
    auto all = std::make_unique<Everything>(open_or_skip({}));
    std::thread([all = std::move(all)]() mutable { all.reset(); }).join();
  }
}

TEST_CASE("runs are dropped while their copies are in flight", "[gpu]") {
  const Device device = device_or_skip();
  absl::StatusOr<Engine> engine = doubler(10000).engine(device);
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(Floats(10000, 3))).ok());
  for (int i = 0; i < 100; ++i) engine->run({.read = true});
  Floats y(10000);
  CHECK(engine->run({.read = true}).get(1, room_of(y)).ok());
  CHECK(y == Floats(10000, 6));
}

TEST_CASE("an engine is moved", "[gpu]") {
  absl::StatusOr<Engine> made = doubler(4).engine(device_or_skip());
  REQUIRE(made.ok());
  Engine a = *std::move(made);
  Engine b = std::move(a);
  CHECK(a.run().wait().code() == absl::StatusCode::kFailedPrecondition);  // NOLINT(bugprone-use-after-move)
  CHECK(b.run().wait().ok());
}

TEST_CASE("threads share a device, each with its engine", "[gpu]") {
  const Device device = device_or_skip();
  const Weights weights(device);
  REQUIRE(weights.set("w", f32, {64}, bytes_of(Floats(64, 0))).ok());
  std::atomic<int> right = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      absl::StatusOr<Engine> engine = whole().engine(device, {.label = absl::StrCat("thread", t), .weights = weights});
      if (!engine.ok()) return void(++wrong);
      for (int i = 1; i <= 25; ++i) {
        const float x = static_cast<float>(t + 1);
        Floats y(64), s(64);
        bool ok = engine->set_input(0, bytes_of(Floats(64, x))).ok();
        const Run run = engine->run({.read = i % 2 == 0});
        ok = ok && run.wait().ok();
        ok = ok && (i % 2 == 0 ? run.get(3, room_of(y)) : engine->get_output(3, room_of(y))).ok();
        ok = ok && y == Floats(64, 2 * x * static_cast<float>(i));
        ++(ok ? right : wrong);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 100);
  CHECK(wrong == 0);
  CHECK(device.status().ok());
}

TEST_CASE("an error in one thread is not another's", "[gpu]") {
  const Device device = device_or_skip();
  HandMade bad;
  bad.tensor("y", BufferRole::output, f32, {4});
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0, other = 0;
  std::thread thread([&] {
    for (int i = 0; i < 50; ++i) {
      HandMade p = bad;
      p.step(absl::StrCat("@compute @workgroup_size(1) fn main() { wrong", i, "(); }"), {{"y", true}}, {1, 1, 1});
      if (p.engine(device).status().code() == absl::StatusCode::kInvalidArgument) ++failures;
    }
    stop = true;
  });
  absl::StatusOr<Engine> engine = doubler(4).engine(device);
  while (!stop) {
    if (!engine->run().wait().ok()) ++other;
  }
  thread.join();
  CHECK(failures == 50);
  CHECK(other == 0);
  CHECK(device.status().ok());
}

TEST_CASE("a device is destroyed while threads run on it", "[gpu]") {
  const Device device = open_or_skip({});
  std::atomic<int> running = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      absl::StatusOr<Engine> engine = doubler(64).engine(device);
      if (!engine.ok()) return;
      Floats y(64);
      for (int i = 0;; ++i) {
        if (i == 3) ++running;
        if (!engine->run({.read = true}).get(1, room_of(y)).ok()) return;
      }
    });
  }
  while (running < 3) std::this_thread::yield();
  device.destroy();
  for (std::thread& thread : threads) thread.join();
  CHECK(device.status().code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace rlxgpu::core::testing

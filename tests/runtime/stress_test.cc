// Much at once, and the ends that programs come to: statuses, no crash, no hang. `./dev sanitize` runs this with sanitizers.
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/engine.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

Engine make(const Device& device, int64_t n) {
  absl::StatusOr<Engine> engine = doubler(n).engine(device);
  REQUIRE(engine.status().ToString() == "OK");
  return *std::move(engine);
}

TEST_CASE("one engine behind a mutex, used by four threads", "[gpu]") {
  Engine engine = make(device_or_skip(), 100);
  std::mutex mutex;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        Run run;
        const auto value = static_cast<float>(100 * t + i);
        {
          const std::lock_guard lock(mutex);
          wrong += !engine.set_input(0, bytes_of(Floats(100, value))).ok();
          run = engine.run({.read = true});
        }
        Floats y(100);  // a run is its thread's own
        wrong += !run.get(1, room_of(y)).ok() || y != Floats(100, 2 * value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a thousand runs are held, read in another order and dropped", "[gpu]") {
  std::vector<std::optional<Run>> runs;
  {
    Engine engine = make(device_or_skip(), 3);
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(engine.set_input(0, bytes_of(Floats(3, static_cast<float>(i)))).ok());
      runs.emplace_back(engine.run({.read = true}));
    }
  }  // runs outlive their engine
  int wrong = 0;
  for (size_t k = 0; k < 1000; ++k) {
    const size_t i = k * 7 % 1000;
    Floats y(3);
    wrong += !runs[i]->get(1, room_of(y)).ok() || y != Floats(3, 2 * static_cast<float>(i));
    runs[i].reset();
  }
  CHECK(wrong == 0);
}

TEST_CASE("memory ends while threads make engines, and comes back", "[gpu]") {
  const Device device = open_or_skip({.memory_limit = 1 << 20});
  std::atomic<int> made = 0, refused = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        absl::StatusOr<Engine> engine = doubler(50000).engine(device);  // 400 kB: two fit
        if (!engine.ok()) {
          wrong += engine.status().code() != absl::StatusCode::kResourceExhausted;
          ++refused;
          continue;
        }
        ++made;
        const absl::Status set = engine->set_input(0, bytes_of(Floats(50000, 1)));
        const absl::Status ran = engine->run().wait();
        wrong += !set.ok() || !ran.ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made > 0);
  CHECK(wrong == 0);
  CAPTURE(made.load(), refused.load());
  CHECK(doubler(50000).engine(device).ok());
  CHECK(doubler(500000).engine(device).status().code() == absl::StatusCode::kResourceExhausted);
  CHECK(device.status().ok());
}

TEST_CASE("a device is destroyed between and during runs, and everything goes in odd orders", "[gpu]") {
  for (int order = 0; order < 6; ++order) {
    std::optional<Device> device = open_or_skip({});
    std::optional<Engine> engine = make(*device, 1000);
    std::vector<Run> runs;
    for (int i = 0; i < 20; ++i) runs.push_back(engine->run({.read = i % 2 == 0}));
    std::optional<Result<DeviceTensor>> tensor = engine->tensor(1);
    std::thread other([&] {
      for (const Run& run : runs) run.wait().IgnoreError();
    });
    device->destroy();
    if (order % 2 == 0) engine.reset();
    if (order % 3 == 0) device.reset();
    other.join();
    if (order % 3 == 1) tensor.reset();
    Floats y(1000);
    for (const Run& run : runs) run.get(1, room_of(y)).IgnoreError();
    if (engine) CHECK(engine->run().wait().code() == absl::StatusCode::kUnavailable);
    if (order % 3 == 2) runs.clear();
    device.reset();
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing

// Runs in flight: timeouts, on_done, outputs by name, and creations on another thread.
#include "rlxgpu/runtime/run.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/creation.h"
#include "rlxgpu/runtime/engine.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

// Takes long enough to be waited for in vain: hundreds of milliseconds on a software driver.
constexpr std::string_view kSlow = R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = x[id.x];
  for (var i = 0u; i < 1000000u; i++) { sum = sum * 0.5 + f32(i & 1u); }
  y[id.x] = sum;
})";

HandMade slow() {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {64});
  p.tensor("y", BufferRole::output, f32, {64});
  p.step(kSlow, {{"x"}, {"y", true}}, {1, 1, 1});
  return p;
}

Engine make(const HandMade& program, const Device& device) {
  absl::StatusOr<Engine> engine = program.engine(device);
  INFO(engine.status());
  REQUIRE(engine.ok());
  return *std::move(engine);
}

TEST_CASE("a wait with a timeout ends in time, and the run goes on", "[gpu]") {
  Engine engine = make(slow(), device_or_skip());
  const Run run = engine.run();
  CHECK(run.wait_for(0.001).code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(!run.ready());
  CHECK(run.wait_for(-1).code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(run.wait_for(1e30).ok());
  CHECK(run.wait_for(0).ok());
  CHECK(run.get<float>("y").ok());
  CHECK(Run().wait_for(1).code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a run's outputs by name", "[gpu]") {
  Engine engine = make(doubler(4), device_or_skip());
  REQUIRE(engine.set_input(0, bytes_of(Floats(4, 3))).ok());
  const Run run = engine.run({.read = true});
  CHECK(run.count("y") == 4);
  CHECK(run.count("x") == -1);
  CHECK(*run.get<float>("y") == Floats(4, 6));
  CHECK(run.get<float>("z").status().message() == "the run has no output \"z\"; it has \"y\"");
  CHECK(run.get<int32_t>("y").status().message() == "\"y\" holds f32, not i32");
}

class Calls {
 public:
  void add(int which, const Status& status) {
    const std::lock_guard lock(mutex_);
    order_.push_back(which);
    wrong_ += !status.ok();
    thread_ = std::this_thread::get_id();
    changed_.notify_all();
  }
  std::vector<int> wait(size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return order_.size() >= count; }));
    return order_;
  }
  int wrong() {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }
  std::thread::id thread() {
    const std::lock_guard lock(mutex_);
    return thread_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> order_;
  std::thread::id thread_;
  int wrong_ = 0;
};

TEST_CASE("on_done is called for every run in flight, in their order, though nobody waits", "[gpu]") {
  Engine a = make(doubler(1000), device_or_skip()), b = make(doubler(100000), device_or_skip());
  Calls calls;
  std::vector<int> expected;
  for (int i = 0; i < 40; ++i) {
    expected.push_back(i);
    (i % 2 == 0 ? a : b).run({.read = i % 3 == 0, .on_done = [&calls, i](const Status& status) {
                                calls.add(i, status);
                              }});
  }
  CHECK(calls.wait(40) == expected);
  CHECK(calls.wrong() == 0);
  CHECK(calls.thread() != std::this_thread::get_id());
}

TEST_CASE("on_done may read the run, and hold the last of everything", "[gpu]") {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Floats found;
  {
    const Device device = open_or_skip({});
    auto engine = std::make_shared<Engine>(make(doubler(8), device));
    REQUIRE(engine->set_input(0, bytes_of(Floats(8, 2))).ok());
    auto run = std::make_shared<Run>();
    const std::lock_guard lock(mutex);  // until `run` is there
    *run = engine->run({.read = true, .on_done = [&, engine, run](const Status&) {
                          const std::lock_guard inner(mutex);
                          if (Result<Floats> y = run->get<float>("y"); y.ok()) found = *y;
                          *run = Run();  // else the run would hold itself
                          done = true;
                          changed.notify_all();
                        }});
  }
  std::unique_lock lock(mutex);
  REQUIRE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return done; }));
  CHECK(found == Floats(8, 4));
}

TEST_CASE("a run that cannot be submitted says so to on_done at once", "[gpu]") {
  const Device device = open_or_skip({});
  Engine engine = make(doubler(8), device);
  device.destroy();
  Status said;
  engine.run({.on_done = [&](const Status& status) { said = status; }});
  CHECK(said.code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a device is destroyed in the middle: every on_done is called, with or without success", "[gpu]") {
  const Device device = open_or_skip({});
  Engine engine = make(slow(), device);
  Calls calls;
  std::vector<Run> runs;
  for (int i = 0; i < 6; ++i)
    runs.push_back(engine.run({.on_done = [&calls, i](const Status& status) { calls.add(i, status); }}));
  device.destroy();
  CHECK(calls.wait(6).size() == 6);
  for (const Run& run : runs) run.wait().IgnoreError();
  CHECK(engine.run().wait().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("more runs than may be in flight", "[gpu]") {
  Engine engine = make(doubler(64), device_or_skip());
  std::atomic<int> done = 0;
  std::vector<Run> runs;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(engine.set_input(0, bytes_of(Floats(64, static_cast<float>(i)))).ok());
    runs.push_back(engine.run({.read = true, .on_done = [&done](const Status& status) { done += status.ok(); }}));
  }
  for (int i = 999; i >= 0; --i) {
    const Result<Floats> y = runs[static_cast<size_t>(i)].get<float>("y");
    REQUIRE(y.ok());
    REQUIRE((*y)[63] == 2 * static_cast<float>(i));
  }
  for (int i = 0; i < 600 && done < 1000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(done == 1000);
}

// Many kernels, each with another text.
HandMade many(int kernels) {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {64});
  p.tensor("y", BufferRole::output, f32, {64});
  for (int i = 0; i < kernels; ++i) {
    std::string text(kDouble);
    text.replace(text.find("2.0"), 3, std::to_string(i) + ".5");
    p.step(text, {{"x"}, {"y", true}}, {1, 1, 1});
  }
  return p;
}

TEST_CASE("an engine is made on another thread, and says how far it is", "[gpu]") {
  const Device device = device_or_skip();
  std::atomic<int> told = 0;
  Creation<Engine> creation(device, {.progress = [&](const Progress&) { ++told; }},
                            [device, p = many(20)](const EngineOptions& options) -> Result<Engine> {
                              absl::StatusOr<Engine> made = p.engine(device, options);
                              if (!made.ok()) return made.status();
                              return *std::move(made);
                            });
  Result<Engine> engine = creation.get();
  REQUIRE(engine.ok());
  CHECK(creation.ready());
  CHECK(creation.progress().done == 20);
  CHECK(creation.progress().total == 20);
  CHECK(told == 20);
  REQUIRE(engine->set_input(0, bytes_of(Floats(64, 2))).ok());
  CHECK((*engine->run({.read = true}).get<float>("y"))[0] == 39.0f);
  CHECK(creation.get().status().code() == absl::StatusCode::kFailedPrecondition);  // once
  CHECK(Creation<Engine>().get().status().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a creation is cancelled between kernels", "[gpu]") {
  const Device device = open_or_skip({.disk_cache = false});
  std::mutex mutex;
  mutex.lock();  // holds the creation at its first kernel
  int asked = 0;
  Creation<Engine> creation(device,
                            {.cancelled =
                                 [&] {
                                   if (++asked == 2) mutex.lock();
                                   return false;
                                 }},
                            [device, p = many(30)](const EngineOptions& options) -> Result<Engine> {
                              absl::StatusOr<Engine> made = p.engine(device, options);
                              if (!made.ok()) return made.status();
                              return *std::move(made);
                            });
  CHECK(creation.wait_for(0.01).code() == absl::StatusCode::kDeadlineExceeded);
  creation.cancel();
  mutex.unlock();
  CHECK(creation.get().status().code() == absl::StatusCode::kCancelled);
  CHECK(asked <= 3);
  mutex.unlock();
}

TEST_CASE("a creation is dropped", "[gpu]") {
  const Device device = device_or_skip();
  for (int i = 0; i < 5; ++i) {
    Creation<Engine> creation(device, {}, [device, p = many(10 + i)](const EngineOptions& options) -> Result<Engine> {
      absl::StatusOr<Engine> made = p.engine(device, options);
      if (!made.ok()) return made.status();
      return *std::move(made);
    });
  }
  CHECK(device.status().ok());
}

}  // namespace
}  // namespace rlxgpu::core::testing

// An engine runs what the program says, again and again, and says clearly what is wrong.
#include "rlxgpu/runtime/engine.h"

#include <bit>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

Engine make(const HandMade& program, const EngineOptions& options = {}) {
  absl::StatusOr<Engine> engine = program.engine(device_or_skip(), options);
  INFO(engine.status().ToString());
  REQUIRE(engine.ok());
  return *std::move(engine);
}

Floats output(Engine& engine, int port, size_t n) {
  Floats y(n, -1.0f);
  const absl::Status status = engine.get_output(port, room_of(y));
  INFO(status.ToString());
  REQUIRE(status.ok());
  return y;
}

TEST_CASE("a program runs, and runs again with other inputs", "[gpu]") {
  Engine engine = make(doubler(5));
  for (const float first : {1.0f, 10.0f, -3.0f}) {
    REQUIRE(engine.set_input(0, bytes_of(Floats{first, 2, 3, 4, 5})).ok());
    CHECK(engine.run().wait().ok());
    CHECK(output(engine, 1, 5) == Floats{2 * first, 4, 6, 8, 10});
  }
}

TEST_CASE("the program and its texts may go after create", "[gpu]") {
  auto program = std::make_unique<HandMade>(doubler(4));
  Engine engine = make(*program);
  program.reset();
  REQUIRE(engine.set_input(0, bytes_of(Floats{1, 2, 3, 4})).ok());
  engine.run();
  CHECK(output(engine, 1, 4) == Floats{2, 4, 6, 8});
}

TEST_CASE("workgroup memory is zero at first, whatever was there before", "[gpu]") {
  constexpr std::string_view kLeave = R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
var<workgroup> memory: array<f32, 4096>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) id: u32, @builtin(workgroup_id) group: vec3u) {
  for (var i = id; i < 4096u; i += 64u) { memory[i] = 7.0; }
  workgroupBarrier();
  y[group.x * 64u + id] = memory[64u * id];
})";
  constexpr std::string_view kFind = R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
var<workgroup> memory: array<f32, 4096>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) id: u32, @builtin(workgroup_id) group: vec3u) {
  var sum = 0.0;
  for (var i = id; i < 4096u; i += 64u) { sum += memory[i]; }
  y[group.x * 64u + id] = sum;
})";
  HandMade p;
  const int left = p.tensor("left", BufferRole::output, f32, {256});
  const int found = p.tensor("found", BufferRole::output, f32, {256});
  p.step(kLeave, {{"left", true}}, {4, 1, 1});
  p.step(kFind, {{"found", true}}, {4, 1, 1});
  Engine engine = make(p);
  engine.run();
  CHECK(output(engine, left, 256) == Floats(256, 7.0f));
  CHECK(output(engine, found, 256) == Floats(256, 0.0f));
}

TEST_CASE("steps see what earlier steps wrote", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {100});
  p.tensor("t", BufferRole::scratch, f32, {100});
  const int y = p.tensor("y", BufferRole::output, f32, {100});
  p.step(kDouble, {{"x"}, {"t", true}}, {2, 1, 1});
  p.step(kAdd, {{"t"}, {"t"}, {"y", true}}, {2, 1, 1});
  Engine engine = make(p);
  REQUIRE(engine.set_input(0, bytes_of(Floats(100, 1.5f))).ok());
  engine.run();
  CHECK(output(engine, y, 100) == Floats(100, 6.0f));
}

TEST_CASE("several runs in flight keep their own outputs", "[gpu]") {
  Engine engine = make(doubler(1000));
  std::vector<Run> runs;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(engine.set_input(0, bytes_of(Floats(1000, static_cast<float>(i)))).ok());
    runs.push_back(engine.run({.read = true}));
  }
  for (int i = 19; i >= 0; --i) {  // any order
    Floats y(1000);
    REQUIRE(runs[static_cast<size_t>(i)].get(1, room_of(y)).ok());
    CHECK(y == Floats(1000, 2.0f * static_cast<float>(i)));
    CHECK(runs[static_cast<size_t>(i)].get(1, room_of(y)).ok());  // and again
  }
}

TEST_CASE("results come without waiting", "[gpu]") {
  Engine engine = make(doubler(8));
  REQUIRE(engine.set_input(0, bytes_of(Floats(8, 1.0f))).ok());
  Run run = engine.run({.read = true});
  while (!run.ready()) {
  }
  Floats y(8);
  CHECK(run.get(1, room_of(y)).ok());
  CHECK(y == Floats(8, 2.0f));
}

TEST_CASE("a thousand runs that nobody waits for", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {4});
  const int s = p.tensor("s", BufferRole::state, f32, {4});
  p.step(kAccumulate, {{"x"}, {"s", true}}, {1, 1, 1});
  Engine engine = make(p);
  REQUIRE(engine.set_input(0, bytes_of(Floats{1, 2, 3, 4})).ok());
  for (int i = 0; i < 1000; ++i) engine.run();
  CHECK(output(engine, s, 4) == Floats{1000, 2000, 3000, 4000});
}

TEST_CASE("scalars are immediates of each run", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {3});
  const int y = p.tensor("y", BufferRole::output, f32, {3});
  const int shift = p.scalar("shift", i32), scale = p.scalar("scale", f32);
  p.step(kScale, {{"x"}, {"y", true}}, {1, 1, 1}, {scale, shift});
  Engine engine = make(p);
  REQUIRE(engine.set_input(0, bytes_of(Floats{1, 2, 3})).ok());
  engine.run();
  CHECK(output(engine, y, 3) == Floats{0, 0, 0});
  REQUIRE(engine.set_scalar(scale, std::bit_cast<uint32_t>(2.5f)).ok());
  REQUIRE(engine.set_scalar(shift, std::bit_cast<uint32_t>(-1)).ok());
  engine.run();
  REQUIRE(engine.set_scalar(scale, 0).ok());  // after the run was submitted
  CHECK(output(engine, y, 3) == Floats{1.5f, 4.0f, 6.5f});
  CHECK(engine.set_scalar(2, 0).code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a run-time extent shortens the grid", "[gpu]") {
  HandMade p;
  const int n = p.scalar("n", u32, 100);
  const int y = p.tensor("y", BufferRole::output, u32, {10});
  p.step(kMark, {{"y", true}}, {10, 1, 1}).grid_scalar = n;
  for (const auto& [value, groups] :
       std::vector<std::pair<uint32_t, int>>{{100, 10}, {1, 1}, {0, 0}, {51, 6}, {50, 5}}) {
    Engine engine = make(p);
    REQUIRE(engine.set_scalar(n, value).ok());
    engine.run();
    std::vector<uint32_t> marks(10);
    REQUIRE(engine.get_output(y, room_of(marks)).ok());
    int marked = 0;
    for (const uint32_t mark : marks) marked += static_cast<int>(mark);
    CAPTURE(value);
    CHECK(marked == groups);
  }
  Engine engine = make(p);
  CHECK(engine.set_scalar(n, 101).code() == absl::StatusCode::kOutOfRange);
}

TEST_CASE("tensors whose bytes are no multiple of four, and empty ones", "[gpu]") {
  HandMade p;
  p.tensor("bytes", BufferRole::input, u8, {7});
  p.tensor("none", BufferRole::input, f32, {0, 3});
  const int y = p.tensor("y", BufferRole::output, f32, {2});
  const int empty = p.tensor("empty", BufferRole::output, f32, {0});
  p.step(kDouble, {{"none"}, {"empty", true}}, {1, 1, 1});
  p.step(kDouble, {{"bytes"}, {"y", true}}, {1, 1, 1});
  Engine engine = make(p);
  CHECK(engine.set_input(0, bytes_of(std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0x40})).ok());  // 1.0f and 0x400000
  CHECK(engine.set_input(1, {}).ok());
  Run run = engine.run({.read = true});
  Floats read(2);
  CHECK(run.get(y, room_of(read)).ok());
  CHECK(read[0] == 2.0f);
  CHECK(run.get(empty, {}).ok());
  CHECK(engine.get_output(empty, {}).ok());
  std::vector<uint8_t> back(7);
  CHECK(engine.get_output(0, room_of(back)).ok());
  CHECK(back == std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0x40});
}

TEST_CASE("a program without steps or outputs", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {4});
  Engine engine = make(p);
  CHECK(engine.run({.read = true}).wait().ok());
  CHECK(engine.warm_up().ok());
}

TEST_CASE("constants are in the program", "[gpu]") {
  HandMade p;
  p.tensor("c", BufferRole::constant, f32, {3});
  const int y = p.tensor("y", BufferRole::output, f32, {3});
  for (const float value : {1.0f, 2.0f, 4.0f}) p.program.words.push_back(std::bit_cast<uint32_t>(value));
  p.program.buffers[0].words = {0, 3};
  p.step(kDouble, {{"c"}, {"y", true}}, {1, 1, 1});
  Engine engine = make(p);
  engine.run();
  CHECK(output(engine, y, 3) == Floats{2, 4, 8});
}

TEST_CASE("a large tensor goes in and out whole", "[gpu]") {
  constexpr size_t n = 24u << 20;  // 96 MiB: several pieces of staging memory
  HandMade p;
  p.tensor("x", BufferRole::input, u32, {static_cast<int64_t>(n)});
  Engine engine = make(p);
  std::vector<uint32_t> x(n), back(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<uint32_t>(i * 2654435761u);
  REQUIRE(engine.set_input(0, bytes_of(x)).ok());
  REQUIRE(engine.get_output(0, room_of(back)).ok());
  CHECK(x == back);
}

TEST_CASE("wrong sizes and ports are refused in words", "[gpu]") {
  Engine engine = make(doubler(4), {.label = "doubler"});
  CHECK(engine.set_input(0, bytes_of(Floats(3))).message() ==
        "doubler: input \"x\": given 12 bytes, needed 16 for f32[4]");
  CHECK(engine.set_input(1, bytes_of(Floats(4))).message() == "doubler: port \"y\" is no input");
  CHECK(engine.set_input(2, bytes_of(Floats(4))).message() == "doubler: no port 2, there are 2");
  CHECK(engine.set_input(-1, bytes_of(Floats(4))).code() == absl::StatusCode::kInvalidArgument);
  Floats y(5);
  CHECK(engine.get_output(1, room_of(y)).message() == "doubler: port \"y\": given 20 bytes, needed 16 for f32[4]");
  y.resize(4);
  CHECK(engine.run().get(0, room_of(y)).message() == "port 0 is no output");
  Engine large = make(doubler(20000));
  Floats z(20000);
  CHECK(large.run().get(1, room_of(z)).message() ==
        "this run did not copy output \"y\" aside: use run({.read = true}), or get of the executable");
}

TEST_CASE("a kernel that Dawn rejects names itself and the line", "[gpu]") {
  HandMade p;
  p.tensor("y", BufferRole::output, f32, {4});
  p.step(
      "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n"
      "@compute @workgroup_size(1) fn main() { y[0] = wrong; }",
      {{"y", true}}, {1, 1, 1});
  const absl::Status status = p.engine(device_or_skip()).status();
  INFO(status.message());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(status.message(), "kernel 0 \"test/step0\""));
  CHECK(absl::StrContains(status.message(), "unresolved value 'wrong'"));
  CHECK(absl::StrContains(status.message(), ":2:"));
}

TEST_CASE("a kernel that does not fit its bindings is refused by pipeline creation", "[gpu]") {
  HandMade p;
  p.tensor("y", BufferRole::output, f32, {4});
  p.step(kDouble, {{"y", true}}, {1, 1, 1});
  const absl::Status status = p.engine(device_or_skip()).status();
  INFO(status.message());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(status.message(), "test/step0"));
  CHECK(device_or_skip().status().ok());  // blamed on the call, not on the device
}

TEST_CASE("a dispatch that Dawn rejects fails the run, and the engine says so when read", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {4});
  p.step(kAccumulate, {{"x"}, {"x", true}}, {1, 1, 1});  // read and written at once
  Engine engine = make(p);
  const absl::Status status = engine.run().wait();
  INFO(status.message());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  Floats x(4);
  CHECK(engine.get_output(0, room_of(x)) == status);
  CHECK(device_or_skip().status().ok());
}

TEST_CASE("malformed programs are refused", "[gpu]") {
  const Device device = device_or_skip();
  HandMade p = doubler(4);
  SECTION("kernel") { p.program.steps[0].kernel = 3; }
  SECTION("binding") { p.program.bindings[0].tensor = 9; }
  SECTION("buffer") { p.program.tensors[0].buffer = -1; }
  SECTION("offset") { p.program.tensors[0].offset = 1 << 20; }
  SECTION("port") { p.program.ports[0].tensor = 2; }
  SECTION("name") { p.program.ports[0].name = {5, 100}; }
  SECTION("scalar") { p.program.steps[0].grid_scalar = 1; }
  CHECK(p.engine(device).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a target that the device does not cover is refused with the difference", "[gpu]") {
  HandMade p = doubler(4);
  Target target;
  target.max_workgroup_bytes = 1 << 30;
  const std::vector<std::string_view> kernels = {kDouble};
  const absl::Status status = Engine::create(device_or_skip(), view_of(p.program, target), kernels).status();
  INFO(status.message());
  CHECK(absl::StartsWith(status.message(), "the program needs workgroup bytes 1073741824 (the device has "));
}

TEST_CASE("progress counts kernels, also those already known", "[gpu]") {
  HandMade p = doubler(4);
  p.tensor("z", BufferRole::output, f32, {4});
  p.step(kAdd, {{"x"}, {"y"}, {"z", true}}, {1, 1, 1});
  for (int round = 0; round < 2; ++round) {
    std::vector<int> done;
    Engine engine = make(p, {.progress = [&](const Progress& progress) {
                           CHECK(progress.total == 2);
                           CHECK(absl::StartsWith(progress.label, "test/step"));
                           done.push_back(progress.done);
                         }});
    CHECK(done == std::vector<int>{1, 2});
    done.clear();
    CHECK(engine.warm_up([&](const Progress& progress) { done.push_back(progress.done); }).ok());
    CHECK(done == std::vector<int>{1, 2});
  }
}

TEST_CASE("an empty engine and an empty run answer with statuses") {
  Engine engine;
  CHECK(engine.set_input(0, {}).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(engine.run().wait().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(engine.profile().status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(engine.warm_up().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(Run().wait().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(doubler(4).engine(Device()).status().code() == absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace rlxgpu::core::testing

// Timestamps of steps, and kernels kept on disk.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/engine.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

constexpr std::string_view kSpin = R"(
var<immediate> turns: u32;
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var v = f32(id.x);
  for (var i = 0u; i < turns; i++) { v = v * 0.999 + 1.0; }
  y[id.x] = v;
})";

TEST_CASE("a profile has every step, and longer work takes longer", "[gpu]") {
  HandMade p;
  p.tensor("y", BufferRole::output, f32, {4096});
  const int few = p.scalar("few", u32), many = p.scalar("many", u32);
  p.step(kSpin, {{"y", true}}, {64, 1, 1}, {few}).flops = 10;
  p.step(kSpin, {{"y", true}}, {64, 1, 1}, {many}).bytes = 20;
  absl::StatusOr<Engine> engine = p.engine(device_or_skip());
  REQUIRE(engine.ok());
  if (!device_or_skip().adapter().timestamps) {
    CHECK(engine->profile().status().code() == absl::StatusCode::kUnimplemented);
    return;
  }
  REQUIRE(engine->warm_up().ok());
  REQUIRE(engine->set_scalar(few, 10).ok());
  REQUIRE(engine->set_scalar(many, 20000).ok());
  const absl::StatusOr<std::vector<StepProfile>> profile = engine->profile();
  REQUIRE(profile.ok());
  REQUIRE(profile->size() == 2);
  CHECK((*profile)[0].label == "test/step0");
  CHECK((*profile)[0].flops == 10);
  CHECK((*profile)[1].bytes == 20);
  CHECK((*profile)[1].seconds > 1e-6);
  CHECK((*profile)[1].seconds < 10);
  CHECK((*profile)[1].seconds > (*profile)[0].seconds);
}

TEST_CASE("a profile is a run", "[gpu]") {
  absl::StatusOr<Engine> engine = doubler(100).engine(device_or_skip());
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(Floats(100, 2))).ok());
  if (!engine->profile().ok()) SKIP("no timestamps");
  Floats y(100);
  REQUIRE(engine->get_output(1, room_of(y)).ok());
  CHECK(y == Floats(100, 4));
}

TEST_CASE("more steps than a query set holds", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {4});
  p.tensor("s", BufferRole::state, f32, {4});
  for (int i = 0; i < 2500; ++i) p.step(kAccumulate, {{"x"}, {"s", true}}, {1, 1, 1});
  absl::StatusOr<Engine> engine = p.engine(device_or_skip());
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(Floats(4, 1))).ok());
  const auto profile = engine->profile();
  if (!profile.ok()) SKIP("no timestamps");
  CHECK(profile->size() == 2500);
  Floats s(4);
  REQUIRE(engine->get_output(1, room_of(s)).ok());
  CHECK(s == Floats(4, 2500));
}

TEST_CASE("the Null backend has no times to give, and does not crash") {
  absl::StatusOr<Device> device = open_device({.backend = Backend::null});
  REQUIRE(device.ok());
  absl::StatusOr<Engine> engine = doubler(4).engine(*device);
  REQUIRE(engine.ok());
  engine->profile().status().IgnoreError();
}

TEST_CASE("kernels are found again in the folder, and a damaged folder does no harm", "[gpu]") {
  std::string name = (fs::temp_directory_path() / "rlxgpu-cache-XXXXXX").string();
  const fs::path dir = mkdtemp(name.data());
  const auto run_once = [&] {
    const Device device = open_or_skip({.cache_dir = dir.string()});
    absl::StatusOr<Engine> engine = doubler(33).engine(device);
    REQUIRE(engine.ok());
    REQUIRE(engine->set_input(0, bytes_of(Floats(33, 1))).ok());
    engine->run();
    Floats y(33);
    REQUIRE(engine->get_output(1, room_of(y)).ok());
    CHECK(y == Floats(33, 2));
    return device.state()->cache->counts();
  };
  const BlobCache::Counts cold = run_once(), warm = run_once();
  CHECK(cold.stores > 0);
  CHECK(warm.hits > 0);
  CHECK(warm.stores == 0);
  for (const auto& file : fs::directory_iterator(dir / "kernels")) std::ofstream(file.path()) << "rubbish";
  const BlobCache::Counts damaged = run_once();
  CHECK(damaged.hits == 0);
  CHECK(damaged.stores == cold.stores);
  CHECK(run_once().hits > 0);
  fs::remove_all(dir);
}

TEST_CASE("no folder for the cache is no error", "[gpu]") {
  const Device device = open_or_skip({.cache_dir = "/proc/nowhere"});
  absl::StatusOr<Engine> engine = doubler(4).engine(device);
  REQUIRE(engine.ok());
  CHECK(engine->run().wait().ok());
  CHECK(open_or_skip({.disk_cache = false}).status().ok());
}

}  // namespace
}  // namespace rlxgpu::core::testing

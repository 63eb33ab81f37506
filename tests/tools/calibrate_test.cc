// rlxgpu calibrate measures, stores, and `rlxgpu devices` shows it. rlxgpu tune does the same for a product.
#include "rlxgpu/tools/calibrate.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "nlohmann/json.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/runtime/tuning_file.h"
#include "rlxgpu/tools/devices.h"
#include "rlxgpu/tools/progress_bar.h"
#include "rlxgpu/tools/tune_command.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

namespace fs = std::filesystem;

// The user's cache folder, for this test.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "rlxgpu-calibrate-XXXXXX").string();
    path = mkdtemp(name.data());
    setenv("RLXGPU_CACHE_DIR", path.c_str(), 1);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

// The time that the host waits for one product.
double product_seconds(const Device& device, int64_t n) {
  DynamicGraph graph;
  graph->output("y", matmul(graph->input("a", f32, {n, n}), graph->input("b", f32, {n, n})));
  auto executable = Executable<DynamicGraph>::create(device, graph, {.engine = {.zero_inputs = true}});
  REQUIRE(executable.ok());
  double least = 1e9;
  for (int i = 0; i < 4; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(executable->run().wait().ok());
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

TEST_CASE("calibrate stores what devices shows, in the units that the names say", "[gpu][calibration]") {
  const Folder folder;
  const Device device = device_or_skip();
  std::ostringstream before, out, err, after;
  tools::devices_command(false, before);
  CHECK(absl::StrContains(before.str(), "nothing: run `rlxgpu calibrate`"));
  REQUIRE(tools::calibrate_command({.adapter = device.label(), .seconds = 0.05}, out, err) == 0);
  INFO(out.str() << err.str());
  CHECK(absl::StrContains(out.str(), "f32_1024_gflops"));
  CHECK(absl::StrContains(out.str(), (folder.path / "tuning.json").string()));
  CHECK(err.str().empty());

  const std::map<std::string, Calibration> stored = load_calibrations();
  REQUIRE(stored.count(device.label()) == 1);
  const Calibration& found = stored.at(device.label());
  for (const CalibrationField& field : kCalibrationFields) {
    CAPTURE(field.name);
    CHECK(found.*field.value > 0);
  }
  CHECK(found.date.size() == 10);
  // A thousandfold error of a unit does not pass; noise of a busy machine does.
  const double estimate = estimated_seconds(found, {.flops = 2.0 * 512 * 512 * 512});
  const double measured = product_seconds(device, 512);
  CAPTURE(estimate, measured);
  CHECK(estimate > measured / 20);
  CHECK(estimate < measured * 20);
  CHECK(found.launch_us < 200 * found.submit_us);
  CHECK(found.submit_us < 1e5);
  CHECK(found.read_back_us > found.submit_us / 20);
  CHECK(found.bandwidth_gb_per_s < 1e5);

  // A program gets what is stored, and measures only where nothing is.
  std::string measured_by_program;
  const auto note = [&](int, int, std::string_view what) { measured_by_program = what; };
  CHECK(tools::load_or_measure(device, {.seconds = 0.01, .progress = note}).value().f32_1024_gflops ==
        found.f32_1024_gflops);
  CHECK(measured_by_program.empty());

  tools::devices_command(false, after);
  CHECK(absl::StrContains(after.str(), "GFLOP/s at 256 / 512 / 1024"));
  std::ostringstream json;
  tools::devices_command(true, json);
  CHECK(nlohmann::json::parse(json.str())[0].at("calibration").at("date") == found.date);
}

TEST_CASE("load_or_measure measures once", "[gpu][calibration]") {
  const Folder folder;
  const Device device = device_or_skip();
  int shown = 0;
  const tools::CalibrateOptions options = {.seconds = 0.001, .progress = [&](int, int, std::string_view) { ++shown; }};
  const std::string other = (folder.path / "other").string();
  const Result<Calibration> first = tools::load_or_measure(device, options, other);
  REQUIRE(first.ok());
  CHECK(shown > 0);
  shown = 0;
  const Result<Calibration> second = tools::load_or_measure(device, options, other);
  REQUIRE(second.ok());
  CHECK(shown == 0);
  CHECK(second->launch_us == first->launch_us);
  CHECK(load_calibrations().empty());  // the other folder has it
  CHECK_FALSE(tools::load_or_measure(Device()).ok());
}

TEST_CASE("tune stores the best variant of a product", "[gpu][tuning]") {
  const Folder folder;
  const Device device = device_or_skip();
  std::ostringstream out, err;
  const tools::TuneCommand command = {.matmul = {40, 24, 16}, .adapter = device.label()};
  REQUIRE(tools::tune_command(command, out, err) == 0);
  INFO(out.str() << err.str());
  CHECK(absl::StrContains(out.str(), "matmul f32[40,16] f32[16,24] -> f32[40,24]"));
  CHECK(absl::StrContains(out.str(), "<- used"));
  CHECK(absl::StrContains(out.str(), "1 measured, 0 known before"));
  std::ostringstream again;
  REQUIRE(tools::tune_command(command, again, err) == 0);
  CHECK(absl::StrContains(again.str(), "0 measured, 1 known before"));
}

TEST_CASE("a progress bar is a line that grows, on terminals only") {
  CHECK(tools::ProgressBar::text(0, 4, "a") == "[--------------------] 0/4 a");
  CHECK(tools::ProgressBar::text(1, 4, "b") == "[#####---------------] 1/4 b");
  CHECK(tools::ProgressBar::text(4, 4, "") == "[####################] 4/4 ");
  std::ostringstream file;
  {
    tools::ProgressBar bar(file, false);
    bar.show(1, 2, "x");
  }
  CHECK(file.str().empty());
}

}  // namespace
}  // namespace rlxgpu::core::testing

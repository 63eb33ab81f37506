// Calibration decides which of two adapters of one kind is opened by default. Both software drivers are loaded at once.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/backend_preference.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/runtime/tuning_file.h"

namespace rlxgpu::core {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> labels() {
  std::vector<std::string> found;
  const Result<std::vector<AdapterInfo>> adapters = list_adapters();
  REQUIRE(adapters.ok());
  for (const AdapterInfo& adapter : *adapters) found.push_back(adapter.label());
  return found;
}

TEST_CASE("the calibrated adapter that is faster comes first", "[gpu][calibration]") {
  const char* const lavapipe = std::getenv("RLXGPU_LAVAPIPE_ICD");
  const char* const swiftshader = std::getenv("RLXGPU_SWIFTSHADER_ICD");
  if (lavapipe == nullptr || swiftshader == nullptr) SKIP("one driver only");
  const std::string both = std::string(lavapipe) + ":" + swiftshader;
  setenv("VK_DRIVER_FILES", both.c_str(), 1);
  setenv("VK_ICD_FILENAMES", both.c_str(), 1);
  std::string name = (fs::temp_directory_path() / "rlxgpu-ranking-XXXXXX").string();
  const fs::path dir = mkdtemp(name.data());
  setenv("RLXGPU_CACHE_DIR", dir.c_str(), 1);
  unsetenv("RLXGPU_ADAPTER");

  const std::vector<std::string> before = labels();
  if (before.size() < 2) SKIP("one driver only");
  const auto rate = [&](const std::string& label, double gflops) {
    REQUIRE(TuningFile(tuning_path())
                .update([&](TuningData& data) { data.adapters[label].calibration.f32_1024_gflops = gflops; })
                .ok());
  };
  rate(before[1], 1000);
  CHECK(labels() == before);  // nothing is known of the other
  rate(before[0], 10);
  CHECK(labels() == std::vector<std::string>{before[1], before[0]});
  CHECK(open_device()->label() == before[1]);
  CHECK(open_device({.power = Power::low})->label() == before[0]);  // who wants little power does not want speed
  {
    Switches set;
    set.tuning = false;
    const ScopedSwitches scoped(set);
    CHECK(labels() == before);
  }
  rate(before[0], 5000);
  CHECK(labels() == before);
  fs::remove_all(dir);
}

TEST_CASE("a preference gives an open device", "[gpu]") {
  CHECK(is_available());
  const Result<OpenBackend> webgpu = open_backend({.order = {ComputeBackend::cuda, ComputeBackend::webgpu}});
  REQUIRE(webgpu.ok());
  CHECK(webgpu->backend == ComputeBackend::webgpu);
  CHECK(webgpu->device);

  const std::vector<OfferedBackend> offered = {{ComputeBackend::cuda}};
  const Result<OpenBackend> cuda = open_backend({.order = {ComputeBackend::cuda, ComputeBackend::webgpu}}, offered);
  REQUIRE(cuda.ok());
  CHECK(cuda->backend == ComputeBackend::cuda);
  CHECK_FALSE(cuda->device);

  const DeviceOptions none = {.adapter = "no such adapter"};
  const Result<OpenBackend> next = open_backend({.order = {ComputeBackend::webgpu, ComputeBackend::cpu}}, {}, none);
  REQUIRE(next.ok());
  CHECK(next->backend == ComputeBackend::cpu);
  CHECK_FALSE(open_backend({.order = {ComputeBackend::webgpu}}, {}, none).ok());
}

}  // namespace
}  // namespace rlxgpu::core

// What the environment promises to every other test: the adapter that was asked for, and folders that keep what is
// written to them. Plain Dawn, so that a failure here is one of the environment and not of the library.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "catch2/catch_test_macros.hpp"
#include "webgpu/webgpu_cpp.h"

namespace {

absl::StatusOr<std::string> Variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return absl::NotFoundError(absl::StrCat(name, " is not set"));
  return value;
}

std::string DriverOfFirstAdapter() {
  const auto timed = wgpu::InstanceFeatureName::TimedWaitAny;
  wgpu::InstanceDescriptor descriptor{};
  descriptor.requiredFeatureCount = 1;
  descriptor.requiredFeatures = &timed;
  const wgpu::Instance instance = wgpu::CreateInstance(&descriptor);
  std::string driver;
  wgpu::RequestAdapterOptions options{};
  options.backendType = wgpu::BackendType::Vulkan;
  const wgpu::Future found =
      instance.RequestAdapter(&options, wgpu::CallbackMode::WaitAnyOnly,
                              [&](wgpu::RequestAdapterStatus, wgpu::Adapter adapter, wgpu::StringView) {
                                if (!adapter) return;
                                wgpu::AdapterInfo info{};
                                adapter.GetInfo(&info);
                                driver = absl::StrCat(std::string_view(info.device), " / ",
                                                      std::string_view(info.description));
                              });
  instance.WaitAny(found, UINT64_MAX);
  return driver;
}

TEST_CASE("the adapter is the one that this test was started for") {
  const auto wanted = Variable("RLXGPU_TEST_ADAPTER");
  REQUIRE(wanted.ok());
  const std::string driver = absl::AsciiStrToLower(DriverOfFirstAdapter());
  CAPTURE(*wanted, driver);
  CHECK(absl::StrContains(driver, *wanted == "lavapipe" ? "llvmpipe" : *wanted));
}

TEST_CASE("what is written to a cache folder stays there") {
  for (const char* name : {"RLXGPU_CACHE_DIR", "MESA_SHADER_CACHE_DIR"}) {
    const auto folder = Variable(name);
    CAPTURE(name);
    REQUIRE(folder.ok());
    const std::filesystem::path file = std::filesystem::path(*folder) / "environment_test";
    REQUIRE(std::ofstream(file) << "kept\n");
    CHECK(std::filesystem::file_size(file) == 5);
  }
}

}  // namespace

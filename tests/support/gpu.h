// device_or_skip(): the device that GPU tests of this process share.
//
//   TEST_CASE("softmax rows sum to one", "[gpu]") {
//     Device device = device_or_skip();
//
// Without an adapter the test is skipped with the reason; it fails where RLXGPU_REQUIRE_GPU is set. Kernels are
// validated before they run (validate.h), so that Dawn need not look at their SPIR-V once more. What was tuned on this
// machine does not matter. RLXGPU_ROBUSTNESS=0 leaves out the checks that Dawn adds to kernels, so that drivers compile
// other code (./dev test --all).
#ifndef RLXGPU_TESTS_SUPPORT_GPU_H_
#define RLXGPU_TESTS_SUPPORT_GPU_H_

#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/device.h"
#include "tests/support/validate.h"

namespace rlxgpu::core::testing {

inline Device open_or_skip(const DeviceOptions& options) {
  absl::StatusOr<Device> device = open_device(options);
  if (device.ok()) return *std::move(device);
  if (std::getenv("RLXGPU_REQUIRE_GPU") != nullptr) FAIL(device.status().ToString());
  SKIP(device.status().ToString());
  return Device();  // not reached
}

inline Device open_validating(DeviceOptions options) {
  options.tuning = false;
  options.disable_toggles = {"enable_spirv_validation"};
  const char* const robustness = std::getenv("RLXGPU_ROBUSTNESS");
  if (robustness != nullptr && std::string_view(robustness) == "0") options.enable_toggles = {"disable_robustness"};
  options.inspect = validate_kernels;
  return open_or_skip(options);
}

// All that the adapter offers.
inline Device device_or_skip() {
  static Device shared;
  if (!shared || !shared.status().ok()) shared = open_validating({});
  return shared;
}

// The limits and features that every WebGPU has.
inline Device portable_device_or_skip() {
  static Device shared;
  if (!shared || !shared.status().ok()) shared = open_validating({.portable = true});
  return shared;
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_GPU_H_

// The devices command prints what the device has, as a table and as JSON that says the same.
#include <sstream>

#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "nlohmann/json.hpp"
#include "rlxgpu/tools/devices.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("the table names the adapter that is opened by default", "[gpu]") {
  const Device device = device_or_skip();
  std::ostringstream out;
  CHECK(tools::devices_command(false, out) == 0);
  INFO(out.str());
  CHECK(absl::StartsWith(out.str(), device.adapter().name + "   <- used by default\n"));
  CHECK(absl::StrContains(out.str(), device.adapter().driver));
}

TEST_CASE("the JSON says the same", "[gpu]") {
  const Device device = device_or_skip();
  std::ostringstream out;
  CHECK(tools::devices_command(true, out) == 0);
  const nlohmann::json list = nlohmann::json::parse(out.str());
  REQUIRE(!list.empty());
  const nlohmann::json& first = list[0];
  CHECK(first.at("label") == device.label());
  CHECK(first.at("f16") == device.target().shader_f16);
  CHECK(first.at("subgroup_max") == device.target().subgroup_max);
  CHECK(first.at("matrix_shapes").size() == device.target().matrix_count);
  CHECK(first.at("limits").at("binding_bytes") == device.target().max_binding_bytes);
}

}  // namespace
}  // namespace rlxgpu::core::testing

// The validator that stands before every GPU test lets nothing broken through.
#include "rlxgpu/tools/validate.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core::tools {
namespace {

// One step with one tensor to be written, and the kernel given.
absl::Status check(Validator& validator, std::string_view wgsl, bool writes = true) {
  Program program;
  Step step;
  step.kernel = 0;
  step.bindings = {0, 1};
  program.names << "op/f32/variant";
  step.label = {0, static_cast<int32_t>(program.names.size())};
  program.bindings.push_back({0, writes});
  program.steps.push_back(step);
  return validator.check(view_of(program, kPortable), {&wgsl, 1});
}

constexpr std::string_view kGood = R"(
@group(0) @binding(0) var<storage, read_write> y : array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) { y[id.x] = 1; })";

TEST_CASE("a valid kernel passes, once") {
  Validator validator;
  CHECK(check(validator, kGood).ok());
  CHECK(check(validator, kGood).ok());
  CHECK(validator.checked() == 1);
  CHECK(validator.check_text(kGood).ok());
}

TEST_CASE("a kernel that is no WGSL is refused by tint, with its label and place") {
  Validator validator;
  const absl::Status status = check(validator, "@compute @workgroup_size(64) fn main() { let x : f32 = 1u; }");
  INFO(status.message());
  CHECK(absl::StrContains(status.message(), "kernel 0 \"op/f32/variant\": tint: "));
  CHECK(absl::StrContains(status.message(), "1:46 error"));
}

TEST_CASE("a kernel beyond the default limits is refused by the Null backend") {
  Validator validator;
  const absl::Status threads = check(validator, R"(
@group(0) @binding(0) var<storage, read_write> y : array<f32>;
@compute @workgroup_size(512) fn main(@builtin(global_invocation_id) id : vec3u) { y[id.x] = 1; })");
  INFO(threads.message());
  CHECK(absl::StrContains(threads.message(), "512"));
  const absl::Status memory = check(validator, R"(
@group(0) @binding(0) var<storage, read_write> y : array<f32>;
var<workgroup> tile : array<f32, 5000>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) { tile[id.x] = 1; y[id.x] = tile[0]; })");
  INFO(memory.message());
  CHECK(absl::StrContains(memory.message(), "16384"));
}

TEST_CASE("a kernel that does not fit its step's bindings is refused by the Null backend") {
  Validator validator;
  CHECK_FALSE(check(validator, kGood, false).ok());
}

TEST_CASE("what passed in another process is known, what failed is not") {
  const std::string memory = std::filesystem::temp_directory_path() / "rlxgpu_validate_test";
  std::filesystem::remove(memory);
  {
    Validator first(memory);
    CHECK(check(first, kGood).ok());
    CHECK_FALSE(check(first, "broken").ok());
  }
  Validator second(memory);
  CHECK(check(second, kGood).ok());
  CHECK(second.checked() == 0);
  CHECK_FALSE(check(second, "broken").ok());
  CHECK(second.checked() == 1);
  std::filesystem::remove(memory);
}

}  // namespace
}  // namespace rlxgpu::core::tools

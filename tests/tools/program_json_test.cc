// A program that went through JSON is the same program: same listing, same JSON, and it runs.
#include "rlxgpu/tools/program_json.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/tools/examples.h"

namespace rlxgpu::core::tools {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("every example is the same after a round trip") {
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const absl::StatusOr<RenderedProgram> program = render(example);
    REQUIRE(program.ok());
    const Json json = to_json(program->view(), program->texts());
    const absl::StatusOr<RenderedProgram> back = program_from_json(Json::parse(json.dump()));
    INFO(back.status());
    REQUIRE(back.ok());
    CHECK(back->kernels == program->kernels);
    CHECK(back->target == program->target);
    CHECK(listing(back->view()).view() == listing(program->view()).view());
    CHECK(to_json(back->view(), back->texts()) == json);
  }
}

TEST_CASE("what is read back makes an engine") {
  const absl::StatusOr<RenderedProgram> program = render(*find_example("mlp"));
  REQUIRE(program.ok());
  const absl::StatusOr<RenderedProgram> back = program_from_json(to_json(program->view(), program->texts()));
  REQUIRE(back.ok());
  const absl::StatusOr<Device> null = open_device({.backend = Backend::null});
  REQUIRE(null.ok());
  const std::vector<std::string_view> texts = back->texts();
  CHECK(Engine::create(*null, back->view(), texts).ok());
}

TEST_CASE("JSON that is no program is refused with a reason") {
  const absl::StatusOr<RenderedProgram> program = render(*find_example("mlp"));
  REQUIRE(program.ok());
  const Json good = to_json(program->view(), program->texts());
  const auto error_after = [&](auto change) {
    Json json = good;
    change(json);
    return std::string(program_from_json(json).status().message());
  };
  CHECK(absl::StrContains(error_after([](Json& json) { json["rlxgpu"] = 2; }), "version 2 is not 1"));
  CHECK(absl::StrContains(error_after([](Json& json) { json.erase("steps"); }), "steps"));
  CHECK(absl::StrContains(error_after([](Json& json) { json["tensors"][0]["dtype"] = "f64"; }), "\"f64\" is no dtype"));
  CHECK(
      absl::StrContains(error_after([](Json& json) { json["tensors"][0]["buffer"] = 99; }), "there is no buffers[99]"));
  CHECK(
      absl::StrContains(error_after([](Json& json) { json["buffers"][0]["role"] = "table"; }), "\"table\" is no role"));
  CHECK(absl::StrContains(error_after([](Json& json) { json["steps"][0]["grid"][0] = 0; }), "a grid of 0 groups"));
  CHECK(absl::StrContains(error_after([](Json& json) { json["steps"].erase(0); }), "not in its buffer"));
  CHECK_FALSE(program_from_json(Json::array()).ok());
}

}  // namespace
}  // namespace rlxgpu::core::tools

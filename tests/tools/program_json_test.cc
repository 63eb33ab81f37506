// A program that went through JSON is the same program: same listing, same JSON, and it runs.
#include "rlxgpu/tools/program_json.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/tools/examples.h"
#include "tests/tools/program_damage.h"

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
  // Numbers that would wrap, and indices and ranges that point outside.
  const struct {
    std::function<void(Json&)> change;
    std::string_view error;
  } cases[] = {
      {[](Json& json) { json["tensors"][1]["offset"] = UINT64_MAX - 255; }, "tensor 1 reaches beyond its buffer"},
      {[](Json& json) { json["tensors"][0]["bytes"] = uint64_t{1} << 40; }, "tensor 0 reaches beyond its buffer"},
      {[](Json& json) { json["tensors"][0]["bytes"] = -4; }, "-4 is no whole number of 64 bits without a sign"},
      {[](Json& json) { json["tensors"][0]["shape"][0] = int64_t{1} << 32; }, "is no whole number of 32 bits"},
      {[](Json& json) { json["tensors"][0]["shape"] = {-1, 4}; }, "tensor 0 has no shape that can be"},
      {[](Json& json) { json["tensors"][0]["shape"] = Json::array({1, 1, 1, 1, 1, 1, 1, 1, 1}); },
       "tensor 0 has no shape"},
      {[](Json& json) { json["tensors"][0]["shape"] = {65536, 65536}; }, "tensor 0 has no shape that can be"},
      {[](Json& json) { json["tensors"][0]["shape"] = {1 << 20}; }, "port 0 is larger than its tensor"},
      {[](Json& json) { json["buffers"][0]["bytes"] = UINT64_MAX; }, "they are a multiple of 16"},
      {[](Json& json) { json["buffers"][0]["bytes"] = 1.5; }, "1.5 is no whole number"},
      {[](Json& json) { json["ports"][0]["role"] = "state"; }, "port 0 has another role than its buffer"},
      {[](Json& json) { json["ports"].push_back(json["ports"][0]); }, "share a buffer"},
      {[](Json& json) { json["constants"] = {-1}; }, "-1 is no whole number of 32 bits without a sign"},
      {[](Json& json) { json["steps"][0]["grid"] = {1, 1}; }, "a grid is three numbers"},
      {[](Json& json) { json["steps"][0]["grid"] = {int64_t{1} << 32, 1, 1}; }, "is no whole number of 32 bits"},
      {[](Json& json) { json["steps"][0]["kernel"] = 77; }, "there is no kernels[77]"},
      {[](Json& json) { json["steps"][0]["bindings"][0] = -1; }, "there is no tensors[-1]"},
      {[](Json& json) { json["target"]["offset_alignment"] = 0; }, "offset_alignment is 0"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.error, error_after(each.change));
    CHECK(absl::StrContains(error_after(each.change), each.error));
  }
}

TEST_CASE("a buffer that its kernel declares itself stays one") {
  const absl::StatusOr<RenderedProgram> program = render(*find_example("mlp"));
  REQUIRE(program.ok());
  Json json = to_json(program->view(), program->texts());
  json["kernels"][0]["bindings"][0]["raw"] = true;
  const absl::StatusOr<RenderedProgram> back = program_from_json(json);
  REQUIRE(back.ok());
  CHECK(back->program.kernels.bindings[0].raw);
  CHECK(to_json(back->view(), back->texts()) == json);
}

TEST_CASE("damaged programs are refused, or load and run") {
  const absl::StatusOr<Device> null = open_device({.backend = Backend::null, .disk_cache = false});
  REQUIRE(null.ok());
  testing::ProgramDamage damage(17);
  int counts[3] = {};
  for (int i = 0; i < 300; ++i) {
    const std::string text = damage.next();
    CAPTURE(text);
    ++counts[static_cast<int>(testing::read_program(text, *null))];
  }
  CHECK(counts[static_cast<int>(testing::ProgramReading::refused)] > 50);
  CHECK(counts[static_cast<int>(testing::ProgramReading::ran)] > 10);
}

}  // namespace
}  // namespace rlxgpu::core::tools

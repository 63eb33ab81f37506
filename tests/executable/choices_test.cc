// Choices and switches that name nothing, or do nothing, are said, with a list of what there is.
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/runtime/switches.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core {
namespace {

using Lines = std::vector<std::string>;

Status create(const Device& device, const std::vector<Choice>& choices) {
  DynamicGraph graph;
  graph->output("y", matmul(graph->input("a", f32, {3, 5}), graph->input("b", f32, {5, 7})));
  DynamicOptions options;
  options.engine.label = "product";
  options.compile.choices = choices;
  return Executable<DynamicGraph>::create(device, graph, options).status();
}

TEST_CASE("a choice of a variant that an op does not have is an error that lists those it has", "[gpu]") {
  const Status status = create(testing::device_or_skip(), {{"matmul", "tilde"}});
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CAPTURE(status.message());
  CHECK(absl::StartsWith(status.message(), "choices: there is no matmul/tilde; there are matmul/"));
  CHECK(absl::StrContains(status.message(), "matmul/plain"));
}

TEST_CASE("a choice that does nothing is said once", "[gpu]") {
  Lines lines;
  const Device device = testing::open_or_skip({.log = [&](std::string_view line) { lines.emplace_back(line); }});
  for (int again = 0; again < 2; ++again) {
    CHECK(create(device, {{"softmacks", "rows"}}).ok());
    CHECK(create(device, {{"matmul", "plain"}}).ok());
    CHECK(create(device, {{"matmul", "dot4"}}).ok());  // of bytes
  }
  CAPTURE(lines);
  REQUIRE(lines.size() == 2);
  CHECK(absl::StartsWith(lines[0],
                         "rlxgpu: choices: softmacks/rows does nothing in \"product\", which has no such op; the "
                         "kernels are matmul/"));
  CHECK(absl::StartsWith(lines[1],
                         "rlxgpu: choices: matmul/dot4 does nothing in \"product\", where no call takes it; the "
                         "kernels are matmul/"));
}

TEST_CASE("switches that mean nothing to a program are said", "[gpu]") {
  Lines lines;
  const Device device = testing::open_or_skip({});
  Switches set;
  set.print = [&](std::string_view line) { lines.emplace_back(line); };
  set.force = {{"matmull", "plain"}, {"mat*", "plain"}, {"matmul", "tilde"}, {"matmul", "dot4"}};
  set.forbid = {{"matmul", "*"}};
  const ScopedSwitches scoped(set);
  for (int again = 0; again < 2; ++again) CHECK(create(device, {}).ok());
  CAPTURE(lines);
  REQUIRE(lines.size() == 4);
  CHECK(absl::StartsWith(lines[0], "RLXGPU_FORCE=matmull/plain: \"product\" has no such op; it has matmul/"));
  CHECK(absl::StartsWith(lines[1], "RLXGPU_FORCE=matmul/tilde is no kernel of \"product\"; there are matmul/"));
  CHECK(absl::StartsWith(lines[2], "RLXGPU_FORCE=matmul/dot4 is taken by no call of \"product\"; the kernels are"));
  CHECK(lines[3] == "RLXGPU_FORBID=matmul/* is used in \"product\" nevertheless: nothing else accepts its call");
}

}  // namespace
}  // namespace rlxgpu::core

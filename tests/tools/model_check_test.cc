// What `rlxgpu run --check` and `rlxgpu doctor` say of models with kernels that are right and that are wrong on
// purpose.
#include "rlxgpu/tools/model_check.h"

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/runtime/switches.h"
#include "tests/runtime/hasty_sum.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::tools {
namespace {

using Catch::Matchers::ContainsSubstring;
using onnx::ElementType;
using onnx::HostTensor;

HostTensor numbers(const std::vector<int64_t>& shape, double scale) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(scale * (static_cast<double>(i * 7919 % 1000) / 500 - 1));
  return HostTensor::of_numbers(ElementType::f32, shape, values);
}

// A model as a loader makes it: layers, and in the middle a sum whose fast kernel is off by `millionths` in one place.
LoadedModel model_with_fault(int64_t millionths) {
  LoadedModel loaded;
  onnx::Model& model = loaded.model;
  Builder& g = *model.graph;
  Site first, second, third;
  first.line = 1, second.line = 2, third.line = 3;
  Tensor x = g.input("x", f32, {48, 96});
  Tensor hidden = tanh(matmul(x, g.param("w", f32, {96, 80}), first), first);
  Tensor sums = testing::hasty_sum(hidden, millionths, second);
  g.output("sums", sums * 1.0f);
  g.output("shares", softmax(sums, 0, third));
  model.nodes = {"node \"first\"", "node \"second\"", "node \"third\""};
  model.inputs = {{.name = "x", .shape = {48, 96}, .graph_name = "x"}};
  model.outputs = {{.name = "sums", .shape = {48}, .graph_name = "sums"},
                   {.name = "shares", .shape = {48}, .graph_name = "shares"}};
  model.parameters = {{"w", numbers({96, 80}, 0.3)}};
  loaded.inputs.emplace("x", numbers({48, 96}, 1));
  return loaded;
}

onnx::HostTensors outputs_of(const Device& device, const LoadedModel& loaded) {
  Result<onnx::Session> session = onnx::Session::create(device, loaded.model);
  REQUIRE(session.status().ToString() == "OK");
  REQUIRE(session->set("x", loaded.inputs.find("x")->second).ok());
  REQUIRE(session->run().wait().ok());
  onnx::HostTensors got;
  for (const onnx::Port& port : loaded.model.outputs) {
    Result<HostTensor> tensor = session->get(port.name);
    REQUIRE(tensor.ok());
    got.emplace(port.name, *std::move(tensor));
  }
  return got;
}

TEST_CASE("a model with a wrong kernel: the end is wrong, and the step that makes it so is named", "[gpu][verify]") {
  Switches quiet;
  quiet.print = [](std::string_view) {};
  const ScopedSwitches scoped(quiet);
  const Device device = testing::device_or_skip();
  const int64_t millionths = GENERATE(100, 1000000);
  const LoadedModel loaded = model_with_fault(millionths);
  REQUIRE(loaded.model.graph.graph().ok());
  ModelReference reference(loaded);
  std::ostringstream out, err;
  CHECK(!check_outputs(reference, outputs_of(device, loaded), out, err));
  CHECK_THAT(out.str(), ContainsSubstring("check     sums differs") &&
                            ContainsSubstring("WRONG in 1 of 48 elements; first [5]: "));
  out.str("");
  const Result<std::vector<StepVerdict>> steps = verify_steps(device, loaded, GENERATE(Sizes::free, Sizes::baked), err);
  REQUIRE(steps.status().ToString() == "OK");
  CHECK(!report_steps(*steps, loaded.model, out));
  CHECK_THAT(out.str(), ContainsSubstring("hasty_sum") && ContainsSubstring("/hasty, is wrong: hasty_sum f32[48,80]") &&
                            ContainsSubstring("(node \"second\")") && ContainsSubstring(": 1 WRONG\n") &&
                            ContainsSubstring("way out   RLXGPU_FORBID=hasty_sum/hasty\n"));
  CHECK_THAT(out.str(), !ContainsSubstring("node \"first\"") && !ContainsSubstring("node \"third\""));
}

TEST_CASE("a model with right kernels: one line, and the check says right", "[gpu][verify]") {
  const Device device = testing::device_or_skip();
  const LoadedModel loaded = model_with_fault(0);
  ModelReference reference(loaded);
  std::ostringstream out, err;
  CHECK(check_outputs(reference, outputs_of(device, loaded), out, err));
  CHECK_THAT(out.str(), ContainsSubstring(": right") && !ContainsSubstring("WRONG"));
  out.str("");
  const Result<std::vector<StepVerdict>> steps = verify_steps(device, loaded, GENERATE(Sizes::free, Sizes::baked), err);
  REQUIRE(steps.status().ToString() == "OK");
  CHECK(report_steps(*steps, loaded.model, out));
  CHECK_THAT(out.str(), ContainsSubstring("compared one by one: all right"));
}

}  // namespace
}  // namespace rlxgpu::core::tools

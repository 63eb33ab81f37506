// Kernels for matrix units are tried before they are used: a wrong one is found, replaced and spoken of.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/matmul/probe.h"
#include "rlxgpu/kernels/matmul/subgroup_matrix.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/small_tiles.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

// A kernel file with one place changed.
template <size_t kSize>
struct Changed {
  char text[kSize] = {};
  constexpr Changed(const char (&from)[kSize], std::string_view what, std::string_view to) {
    const std::string_view all(from, kSize);
    const size_t at = all.find(what);
    if (at == std::string_view::npos || what.size() != to.size()) throw "the place to change is not there";
    for (size_t i = 0; i < kSize; ++i) text[i] = i >= at && i < at + to.size() ? to[i - at] : from[i];
  }
};

constexpr char kUnits[] =
#include "rlxgpu/kernels/matmul/subgroup_matrix.wgsl"
    ;
constexpr char kPlain[] =
#include "rlxgpu/kernels/matmul/plain.wgsl"
    ;
// Fragments of a are read transposed.
constexpr Changed kTransposedUnits(kUnits, "subgroupMatrixLoad<Left, row_major>",
                                   "subgroupMatrixLoad<Left, col_major>");
constexpr KernelFile kTransposedUnitsFile(kTransposedUnits.text);
// Elements of a are read transposed; for adapters without matrix units.
constexpr Changed kTransposedPlain(kPlain, "let a0 = a_begin(batch) + ((i / kN) % kM) * kARow;",
                                   "let a0 = a_begin(batch) + ((i / kN) % kM) * kACol;");
constexpr KernelFile kTransposedPlainFile(kTransposedPlain.text);

constexpr void transposed_units_emit(Emit& e) { emit_subgroup_matrix(e, kTransposedUnitsFile); }
constexpr void transposed_plain_emit(Emit& e) {
  const int64_t count = e.call().result().shape.count();
  Dispatch dispatch = e.dispatch(kTransposedPlainFile);
  matmul_layout(e.call(), e.view(0), e.view(1)).give_to(dispatch);
  dispatch.type("Acc", Register::f32)
      .number("kCount", count)
      .number("kRow", ceil_div(count, 64) * 64)
      .input("a", e.operand(0))
      .input("b", e.operand(1))
      .output("y", e.result())
      .grid(ceil_div(count, 64));
}

constexpr ParameterRules kUnitsParameters = {subgroup_matrix::kParameters, subgroup_matrix::defaults,
                                             subgroup_matrix::valid};
constexpr Variant kSuspects[] = {
    {"transposed_units", matmul_subgroup_matrix_accepts, transposed_units_emit, nullptr, matmul_probe,
     kUnitsParameters},
    {"transposed_plain", nullptr, transposed_plain_emit, nullptr, matmul_probe},
    {"units", matmul_subgroup_matrix_accepts, matmul_subgroup_matrix_emit, nullptr, matmul_probe, kUnitsParameters},
    {"plain", nullptr, matmul_plain_emit},
};
constexpr OpDef kSuspect{
    .name = "suspect", .infer = matmul_infer, .variants = kSuspects, .reference = matmul_reference};

struct Heard {
  std::vector<std::string> warnings;
  int about(std::string_view what) const {
    int count = 0;
    for (const std::string& warning : warnings) count += warning.find(what) != std::string::npos;
    return count;
  }
};

void run(const Device& device, bool transposed, const char* variant = nullptr) {
  DynamicGraph graph;
  const Tensor a = graph->input("a", f16, {24, 24});
  const Tensor b = graph->input("b", f16, {24, 24});
  graph->output("y", apply(kSuspect, {transposed ? transpose(a, {1, 0}) : a, b}, std::source_location::current()));
  Agreement agreement = {.bound = dot_bound(f16, 24, 4.0)};
  DynamicOptions options;
  std::vector<Choice> choices;
  if (variant != nullptr) choices.push_back({"suspect", variant});
  options.compile.choices = choices;
  const Target small = with_small_tiles(device, f16);
  options.target = &small;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  const reference::Arrays inputs = inputs_of(graph.graph(), agreement);
  for (const auto& [name, array] : inputs) {
    REQUIRE(executable->set_elements(name, f16, array.count(), pack(array).data()).ToString() == "OK");
  }
  executable->run();
  std::vector<uint32_t> words(24 * 24 / 2);
  REQUIRE(executable->get_elements("y", f16, 24 * 24, words.data()).ToString() == "OK");
  const reference::Arrays expected = reference::run(graph.graph(), inputs);
  CHECK_THAT(reference::unpack(f16, {24, 24}, words).data, CloseTo(expected.at("y").data, agreement.bound));
}

TEST_CASE("a kernel that reads transposed fragments is caught and replaced, once for each device", "[matmul][gpu]") {
  Heard heard;
  const Device device = open_or_skip({.log = [&](std::string_view text) { heard.warnings.emplace_back(text); }});
  const bool units = subgroup_matrix::plan_for(f16, device.target()).shape.m != 0;
  run(device, false);
  CHECK(heard.about("suspect/transposed_units is not used") == (units ? 1 : 0));
  CHECK(heard.about("suspect/transposed_plain is not used") == 1);
  CHECK(heard.about("suspect/units") == 0);
  CHECK(heard.about("suspect/plain") == 0);
  run(device, false);
  run(device, false, "transposed_plain");  // asked for by name
  CHECK(heard.about("suspect/transposed_plain is not used") == 1);
  CHECK(heard.about("choices: suspect/transposed_plain does nothing") == 1);
  run(device, true);  // operands of another layout: another kernel
  CHECK(heard.about("suspect/transposed_plain is not used") == 2);
}

TEST_CASE("matmul's own kernel for matrix units is trusted where it is right", "[matmul][gpu]") {
  Heard heard;
  const Device device = open_or_skip({.log = [&](std::string_view text) { heard.warnings.emplace_back(text); }});
  if (subgroup_matrix::plan_for(f16, device.target()).shape.m == 0) SKIP("no matrix units for f16");
  DynamicGraph graph;
  graph->output("y", matmul(graph->input("a", f16, {16, 16}), graph->input("b", f16, {16, 16})));
  DynamicOptions options;
  const std::vector<Choice> choices = {{"matmul", "subgroup_matrix"}};
  options.compile.choices = choices;
  const Target small = with_small_tiles(device, f16);
  options.target = &small;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  CHECK(heard.about("is not used") == 0);
  auto profile = executable->engine().profile();
  REQUIRE(profile.ok());
  CHECK(profile->at(0).label.find("subgroup_matrix") != std::string::npos);
}

TEST_CASE("without anyone to ask, every variant is trusted; a distrusted one is passed over", "[matmul]") {
  Target target;
  Builder g;
  g.output("y",
           apply(kSuspect, {g.input("a", f16, {8, 8}), g.input("b", f16, {8, 8})}, std::source_location::current()));
  const auto variant_of = [&](const CompileOptions& options) {
    const Program program = compiled(g.graph(), options, target);
    REQUIRE(program.steps.size() == 1);
    return std::string(view_of(program, target).name(program.steps[0].label));
  };
  CHECK(variant_of({}) == "suspect/f16/transposed_plain");
  std::vector<Suspect> distrusted;  // as a device settles it: plan, and again without what is wrong
  for (const std::string_view expected : {"transposed_plain", ""}) {
    Vec<Suspect> suspects;
    CompileOptions options;
    options.distrusted = distrusted;
    options.suspects = &suspects;
    variant_of(options);
    CHECK(suspects.size() == (expected.empty() ? 0 : 1));
    for (const Suspect& suspect : suspects) {
      CHECK(suspect.op == "suspect");
      CHECK(suspect.variant == expected);
      CHECK(suspect.call.view() == "suspect f16[8,8] f16[8,8] -> f16[8,8]");
      CHECK(error_of(suspect.probe).empty());
      distrusted.push_back(suspect);
    }
  }
  CompileOptions distrusting;
  distrusting.distrusted = distrusted;
  CHECK(variant_of(distrusting) == "suspect/f16/plain");
}

constexpr Variant kRightOnes[] = {{"tried", nullptr, matmul_plain_emit, nullptr, matmul_probe},
                                  {"plain", nullptr, matmul_plain_emit}};
constexpr OpDef kRightSuspect{
    .name = "right_suspect", .infer = matmul_infer, .variants = kRightOnes, .reference = matmul_reference};

TEST_CASE("a probe that memory does not suffice for says nothing about its kernel", "[matmul][gpu]") {
  Heard heard;
  constexpr uint64_t kLimit = 1 << 20;
  const Device device =
      open_or_skip({.memory_limit = kLimit, .log = [&](std::string_view text) { heard.warnings.emplace_back(text); }});
  DynamicGraph graph;  // which is smaller than its probe
  graph->output("y", apply(kRightSuspect, {graph->input("a", f16, {2, 2}), graph->input("b", f16, {2, 2})},
                           std::source_location::current()));
  const auto label = [&] {
    auto executable = Executable<DynamicGraph>::create(device, graph);
    REQUIRE(executable.status().ToString() == "OK");
    auto profile = executable->engine().profile();
    REQUIRE(profile.ok());
    return profile->at(0).label;
  };
  {
    const auto filler = DeviceTensor::create(device, f32, {(kLimit - 8192) / 4});
    REQUIRE(filler.status().ToString() == "OK");
    CHECK(label() == "right_suspect/f16/plain");
    CHECK(heard.about("right_suspect/tried could not be tried") == 1);
  }
  CHECK(label() == "right_suspect/f16/tried");
  CHECK(heard.about("is not used") == 0);
}

}  // namespace
}  // namespace rlxgpu::core::testing

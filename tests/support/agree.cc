#include "tests/support/agree.h"

#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::testing {

std::string error_of(const Build& build) {
  Builder g;
  build(g);
  return std::string(g.graph().error.view());
}
std::string message_of(const Build& build) {
  const std::string error = error_of(build);
  return error.substr(error.find(": ") + 2);
}

reference::Array random_array(DType dtype, const Shape& shape, std::mt19937& random) {
  reference::Array array(dtype, shape);
  for (double& v : array.data) {
    const double unit = std::uniform_real_distribution<double>(0, 1)(random);
    if (dtype == boolean) {
      v = unit < 0.5;
    } else if (is_integer(dtype)) {
      v = is_signed(dtype) ? std::floor(unit * 19) - 9 : std::floor(unit * 10);
    } else {
      v = unit * 4 - 2;
    }
  }
  reference::round_to_storage(array);
  return array;
}

namespace {

// With the extents of this run.
Shape actual_shape(const Graph& graph, const Shape& shape, const reference::Numbers& numbers) {
  Shape actual;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape.symbol(axis) < 0) {
      actual.push_back(shape[axis]);
    } else {
      const Node& scalar = graph.node(graph.scalars[static_cast<size_t>(shape.symbol(axis))]);
      actual.push_back(static_cast<int64_t>(numbers.find(graph.name(scalar.name))->second));
    }
  }
  return actual;
}

}  // namespace

reference::Arrays inputs_of(const Graph& graph, const Agreement& agreement) {
  std::mt19937 random(agreement.seed);
  reference::Arrays inputs;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::param) continue;
    const Value& value = graph.value(node.results.first);
    const std::string name(graph.name(node.name));
    const Shape shape = actual_shape(graph, value.shape, agreement.numbers);
    const auto given = agreement.given.find(name);
    inputs[name] = given != agreement.given.end() ? reference::array_of(value.dtype, shape, given->second)
                                                  : random_array(value.dtype, shape, random);
    reference::round_to_storage(inputs[name]);
  }
  return inputs;
}

bool takes_choices(const Graph& graph, const Target& target, const CompileOptions& options) {
  const Program program = compile(graph, target, options);
  for (const Choice& choice : options.choices) {
    bool taken = program.steps.empty();  // nothing to compute
    for (const Step& step : program.steps) {
      const std::string_view label = view_of(program, target).name(step.label);
      taken = taken || (label.starts_with(choice.op) && label.ends_with("/" + std::string(choice.variant)));
    }
    if (!taken) return false;
  }
  return true;
}

void check_agrees_on(const Device& device, const Target& target, const DynamicGraph& graph, const Agreement& agreement,
                     Sizes sizes) {
  const reference::Arrays inputs = inputs_of(graph.graph(), agreement);
  const reference::Arrays expected = reference::run(graph.graph(), inputs, {.numbers = agreement.numbers});

  DynamicOptions options;
  options.target = &target;
  options.compile.choices = agreement.choices;
  options.compile.fuse.fuse = agreement.fuse;
  options.compile.check = true;
  options.sizes = sizes;
  REQUIRE(takes_choices(graph.graph(), target, options.compile));  // else another variant is tested
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  for (const auto& [name, value] : agreement.numbers) REQUIRE(executable->set(name, value).ToString() == "OK");
  for (const auto& [name, array] : inputs) {
    REQUIRE(executable->set_elements(name, array.dtype, array.count(), pack(array).data()).ToString() == "OK");
  }
  executable->run();
  for (const auto& [name, array] : expected) {
    std::vector<uint32_t> words(storage_bytes(array.dtype, array.count()) / 4);
    REQUIRE(executable->get_elements(name, array.dtype, array.count(), words.data()).ToString() == "OK");
    INFO("output " << name);
    CHECK_THAT(reference::unpack(array.dtype, array.shape, words).data, CloseTo(array.data, agreement.bound));
  }
}

namespace {

// Whether this process, hence its adapter, meets these variants for the first time.
bool is_first_of(const std::vector<Choice>& choices) {
  static std::set<std::string> met;
  bool first = false;
  for (const Choice& choice : choices) first |= met.insert(absl::StrCat(choice.op, "/", choice.variant)).second;
  return first;
}

}  // namespace

void check_agrees(const Device& device, const Build& build, const Agreement& agreement) {
  DynamicGraph graph;
  build(*graph);
  INFO("seed " << agreement.seed << " " << graph.graph().error.view());
  REQUIRE(graph.graph().ok());
  Target narrow = kPortable;
  narrow.max_groups = 300;

  static unsigned calls = 0;
  const unsigned call = calls++;
  const bool swiftshader = device.target().subgroup_max < 8;
  // Thue and Morse's sequence: no table of cases is in step with it. Nor with the lots, which are random enough.
  const bool in_turn = std::popcount(call) % 2 == static_cast<int>(swiftshader);
  const bool by_lot = (call * 2654435761u >> 31 != 0) == swiftshader;

  Agreement asked = agreement;
  const bool first = is_first_of(agreement.choices);
  if (!first && !in_turn && !swiftshader) asked.choices.clear();
  CompileOptions forced;
  forced.choices = asked.choices;
  forced.fuse.fuse = asked.fuse;
  const bool for_any =
      !asked.device_only && (asked.choices.empty() ? in_turn : by_lot) && takes_choices(graph.graph(), narrow, forced);
  if (asked.choices.empty() || !for_any) {
    INFO("planned for the device" << (asked.choices.size() < agreement.choices.size() ? ", with its own choice" : ""));
    check_agrees_on(device, device.target(), graph, asked, Sizes::free);
  }
  if (call % 20 == 0) {
    INFO("planned for the device, sizes baked");
    check_agrees_on(device, device.target(), graph, asked, Sizes::baked);
  }
  if (for_any) {
    INFO("planned for any device, grids folded beyond " << narrow.max_groups);
    check_agrees_on(device, narrow, graph, asked, Sizes::free);
  }
}

}  // namespace rlxgpu::testing

#include "tests/support/agree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "catch2/catch_test_macros.hpp"
#include "tests/support/ways.h"

namespace rlxgpu::core::testing {

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
      taken = taken || fits(view_of(program, target).name(step.spec), choice);
    }
    if (!taken) return false;
  }
  return true;
}

void check_agrees_on(const Device& device, const Target& target, const DynamicGraph& graph, const Agreement& agreement,
                     Sizes sizes) {
  const reference::Arrays inputs = inputs_of(graph.graph(), agreement);
  reference::Arrays expected = reference::run(graph.graph(), inputs, {.numbers = agreement.numbers});
  if (agreement.judge) {
    for (const auto& [name, values] : agreement.judge(inputs)) {
      INFO("output " << name);
      REQUIRE(expected.contains(name));
      REQUIRE(expected[name].data.size() == values.size());
      expected[name].data = values;
    }
  }

  DynamicOptions options;
  options.target = &target;
  options.compile.choices = agreement.choices;
  options.compile.fuse.fuse = agreement.fuse;
  options.compile.check = true;
  options.sizes = sizes;
  options.engine.as_written = !agreement.choices.empty();  // the op that is asked for, not one that it is a part of
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

// For plans whose grids are folded.
Target narrow_target() {
  Target narrow = kPortable;
  narrow.max_groups = 300;
  return narrow;
}

std::string names_of(const std::vector<Choice>& choices) {
  std::string names = choices.empty() ? "as chosen" : "";
  for (const Choice& choice : choices)
    absl::StrAppend(&names, names.empty() ? "" : ", ", choice.op, "/", choice.variant);
  return names;
}

bool takes(const Graph& graph, const Target& target, const Agreement& agreement) {
  CompileOptions options;
  options.choices = agreement.choices;
  options.fuse.fuse = agreement.fuse;
  return takes_choices(graph, target, options);
}

// `once`: not with other variants than those that the case asks for.
void check_case(const Device& device, const DynamicGraph& graph, const Agreement& agreement, bool once) {
  INFO("seed " << agreement.seed);
  const Target narrow = narrow_target();
  const uint64_t hash = hash_of_case(graph.graph(), agreement);
  const Adapter adapter = adapter_named(device.label());
  const char* asked = std::getenv("RLXGPU_TEST_ALL");
  const bool device_takes = takes(graph.graph(), device.target(), agreement),
             narrow_takes = !agreement.device_only && takes(graph.graph(), narrow, agreement);
  const bool forces = !agreement.choices.empty();
  if (forces) REQUIRE((device_takes || narrow_takes));  // else other variants would be tested
  // A variant that not every device takes runs wherever it is taken: the case's own adapter may be another one.
  const bool all =
      adapter == Adapter::other || (asked != nullptr && std::string_view(asked) == "1") || (forces && !narrow_takes);
  for (Way way : ways_of(hash, adapter, forces, all)) {
    if (way.for_any && !narrow_takes) {
      if (!way.forced || all) continue;
      way.for_any = false;
    }
    if (way.forced && !way.for_any && !device_takes) {
      if (all) continue;
      way.for_any = true;
    }
    Agreement wanted = agreement;
    if (!way.forced) wanted.choices.clear();
    if (once && !way.forced) continue;
    INFO("case " << absl::StrFormat("%016x", hash) << " on " << device.label() << ": planned for "
                 << (way.for_any ? "any device, grids folded" : "this device") << ", sizes "
                 << (way.baked ? "baked" : "free") << ", variants " << names_of(wanted.choices));
    check_agrees_on(device, way.for_any ? narrow : device.target(), graph, wanted,
                    way.baked ? Sizes::baked : Sizes::free);
  }
}

void require_ok(const DynamicGraph& graph) {
  INFO(graph.graph().error.view());
  REQUIRE(graph.graph().ok());
}

}  // namespace

void check_agrees(const Device& device, const Build& build, const Agreement& agreement) {
  DynamicGraph graph;
  build(*graph);
  require_ok(graph);
  check_case(device, graph, agreement, false);
}

std::vector<std::string_view> variants_of(const OpDef& op) {
  std::vector<std::string_view> names;
  for (const Variant& variant : op.variants) {
    if (variant.probe == nullptr && std::find(names.begin(), names.end(), variant.name) == names.end())
      names.push_back(variant.name);
  }
  return names;
}

void check_every_variant(const Device& device, const OpDef& op, const Build& build, Agreement agreement) {
  DynamicGraph graph;
  build(*graph);
  require_ok(graph);
  check_case(device, graph, agreement, false);
  int accepted = 0;
  for (const std::string_view variant : variants_of(op)) {
    agreement.choices = {{op.name, variant}};
    if (!takes(graph.graph(), device.target(), agreement) &&
        (agreement.device_only || !takes(graph.graph(), narrow_target(), agreement)))
      continue;
    ++accepted;
    check_case(device, graph, agreement, true);
  }
  CHECK(accepted > 0);
}

}  // namespace rlxgpu::core::testing

// check_agrees: what a graph gives on the device is what its ops' references give.
//
//   check_agrees(device, [&](Builder& g) { g.output("y", sum(g.input("x", f16, {m, n}), 1)); },
//                {.bound = sum_bound(f16, n, 2.0), .choices = {{"sum", "split"}}});
//
// Inputs are random, from a printed seed: floats in [-2, 2], integers in [-9, 9] (unsigned: [0, 9]), rounded to their
// type; or given by name. Scalars and run-time extents are given in `numbers`.
#ifndef RLXGPU_TESTS_SUPPORT_AGREE_H_
#define RLXGPU_TESTS_SUPPORT_AGREE_H_

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/reference/interpreter.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::testing {

using Build = std::function<void(Builder&)>;

// What is wrong with a graph: "file.cc:12: sum([2,3]): ...", or "".
inline std::string error_of(const Build& build) {
  Builder g;
  build(g);
  return std::string(g.graph().error.view());
}
// The same without file and line.
inline std::string message_of(const Build& build) {
  const std::string error = error_of(build);
  return error.substr(error.find(": ") + 2);
}

enum class PlannedFor { both, device, any };

struct Agreement {
  Bound bound;
  std::vector<Choice> choices = {};
  std::map<std::string, std::vector<double>> given = {};
  reference::Numbers numbers = {};
  bool fuse = true;
  uint32_t seed = 1;
  PlannedFor planned = PlannedFor::both;  // one of them where drivers take long to compile
};

// Elements in storage layout.
inline std::vector<uint32_t> pack(const reference::Array& array) {
  const DType dtype = array.dtype == c64 ? f32 : array.dtype;
  const auto lanes = static_cast<size_t>(per_word(dtype));
  std::vector<uint32_t> words((array.data.size() + lanes - 1) / lanes);
  for (size_t i = 0; i < array.data.size(); ++i) {
    words[i / lanes] |= word_of(array.data[i], dtype) << (32 / lanes * (i % lanes)) % 32;
  }
  return words;
}

inline reference::Array random_array(DType dtype, const Shape& shape, std::mt19937& random) {
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

// With the extents of this run.
inline Shape actual_shape(const Graph& graph, const Shape& shape, const reference::Numbers& numbers) {
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

inline reference::Arrays inputs_of(const Graph& graph, const Agreement& agreement) {
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

// Every choice is taken by some step. (A variant that does not accept the call is passed over silently.)
inline bool takes_choices(const Graph& graph, const Target& target, const CompileOptions& options) {
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

inline void check_agrees_on(const Device& device, const Target& target, const DynamicGraph& graph,
                            const Agreement& agreement, Sizes sizes) {
  const reference::Arrays inputs = inputs_of(graph.graph(), agreement);
  const reference::Arrays expected = reference::run(graph.graph(), inputs, {.numbers = agreement.numbers});

  DynamicOptions options;
  options.target = &target;
  options.compile.choices = agreement.choices;
  options.compile.fuse.fuse = agreement.fuse;
  options.compile.check = true;
  options.sizes = sizes;
  if (!takes_choices(graph.graph(), target, options.compile)) {
    CHECK(target.adapter_class == AdapterClass::unknown);  // else the device cannot run what is to be tested
    return;
  }
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

// Planned for the device; and for any device (so that kernels for real GPUs run, too), with grids so narrow that many
// of them are folded: of two calls one on adapters with wide subgroups, the other on those with narrow ones, for
// drivers take long to compile. Sizes are free, so that one kernel serves many shapes, and in some calls baked as well.
inline void check_agrees(const Device& device, const Build& build, const Agreement& agreement) {
  DynamicGraph graph;
  build(*graph);
  INFO("seed " << agreement.seed << " " << graph.graph().error.view());
  REQUIRE(graph.graph().ok());
  Target narrow = kPortable;
  narrow.max_groups = 300;
  static int calls = 0;
  const int call = calls++;
  if (agreement.planned != PlannedFor::any) {
    INFO("planned for the device");
    check_agrees_on(device, device.target(), graph, agreement, Sizes::free);
  }
  if (call % 20 == 0) {
    INFO("planned for the device, sizes baked");
    check_agrees_on(device, device.target(), graph, agreement, Sizes::baked);
  }
  const bool in_turn = call % 2 == (device.target().subgroup_max < 8 ? 1 : 0);
  if (agreement.planned == PlannedFor::any || (agreement.planned == PlannedFor::both && in_turn)) {
    INFO("planned for any device, grids folded beyond " << narrow.max_groups);
    check_agrees_on(device, narrow, graph, agreement, Sizes::free);
  }
}

}  // namespace rlxgpu::testing

#endif  // RLXGPU_TESTS_SUPPORT_AGREE_H_

// Random weights for the models of docs/examples, for a device and for the plain programs; and how close both must be.
#ifndef RLXGPU_TESTS_MODELS_WEIGHTS_H_
#define RLXGPU_TESTS_MODELS_WEIGHTS_H_

#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "tests/models/plain.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {

// Matrices keep the size of what they are multiplied with; factors of norms are near 1.
inline plain::WeightMap random_weights(const Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  plain::WeightMap weights;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::param) continue;
    const Shape& shape = graph.value(node.results.first).shape;
    const std::string name(graph.name(node.name));
    const bool factor = shape.rank() == 1 && name.find('g') != std::string::npos;
    const bool table = name == "words" || name == "places" || name == "kinds" || name == "token";
    std::vector<float>& values = weights[name];
    for (int64_t i = 0; i < shape.count(); ++i) {
      values.push_back(factor  ? 1 + 0.1f * normal(random)
                       : table ? normal(random)
                               : normal(random) / std::sqrt(static_cast<float>(shape[0])));
    }
  }
  return weights;
}

template <typename G>
Graph graph_of() {
  Builder g;
  G::build(g);
  REQUIRE(g.ok());
  return g.graph();
}

inline Weights upload(const Device& device, const Graph& graph, const plain::WeightMap& values) {
  Weights weights(device);
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::param) continue;
    const std::string name(graph.name(node.name));
    const Status status =
        weights.set(name, f32, graph.value(node.results.first).shape, std::as_bytes(std::span(values.at(name))));
    REQUIRE(status.ToString() == "OK");
  }
  return weights;
}

inline std::vector<double> flat(const plain::Rows& rows) {
  std::vector<double> all;
  for (const plain::Row& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

// Each of `layers` layers adds sums of some hundred products of about 1, in f32; errors of either sign.
inline Bound model_bound(int layers) { return {layers * 64 * 0x1p-23 * 4, layers * 64 * 0x1p-23}; }

// The same model built at run time, planned for this device.
template <typename G>
Executable<DynamicGraph> at_run_time(const Device& device, const Weights& weights, const States& states = {}) {
  DynamicGraph graph;
  G::build(*graph);
  DynamicOptions options;
  options.engine.weights = weights, options.engine.states = states;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  return *std::move(executable);
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_MODELS_WEIGHTS_H_

// estimate_errors: what a graph's outputs must be, and how far off a device may be, element by element.
//
//   for (const Expected& y : estimate_errors(graph, seed, exact)) ... y.exact, y.bound, y.skipped
//
// Stochastic arithmetic: the graph is evaluated once as defined and kSamples times with every op as wrong as
// it may be. The bound is kSafety times the largest deviation seen, plus one rounding to the output's storage
// type. Where no sample deviates (integers, moved and chosen numbers) the device must agree exactly. Where
// samples disagree about something discrete (a comparison, floor, an index, overflow) the element is skipped:
// no bound is possible.
//
// Large graphs are evaluated kFewSamples times. An element that these did not move far is allowed half of what they
// moved the output's elements on average.
#ifndef RLXGPU_TESTS_FUZZ_ERROR_ESTIMATE_H_
#define RLXGPU_TESTS_FUZZ_ERROR_ESTIMATE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rlxgpu/graph/graph.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/shaker.h"
#include "tests/fuzz/data.h"
#include "tests/fuzz/evaluate.h"
#include "tests/fuzz/random.h"

namespace rlxgpu::core::fuzz {

inline constexpr int kSamples = 32, kFewSamples = 8;
inline constexpr int64_t kManyElements = 40000;  // of all tensors of a graph
inline constexpr double kSafety = 4;

struct Expected {
  Array exact;
  std::vector<double> bound;  // by element (c64: by part); infinite when skipped
};

using reference::same_kind;
using reference::storage_ulp;

inline double typical_magnitude(const Array& array) {
  double sum = 0, count = 0;
  for (const double v : array.data) {
    if (std::isfinite(v)) sum += std::fabs(v), ++count;
  }
  return count > 0 ? sum / count : 0;
}

inline bool has_many_elements(const Graph& graph) {
  int64_t elements = 0;
  for (const Value& value : graph.values) elements += value.shape.count();
  return elements > kManyElements;
}

inline double mean_deviation(const Expected& y) {
  double sum = 0, count = 0;
  for (const double bound : y.bound) {
    if (std::isfinite(bound)) sum += bound, ++count;
  }
  return count > 0 && is_float(y.exact.dtype) ? sum / count : 0;
}

// `exact`: of this graph and seed, evaluated as defined.
inline std::vector<Expected> estimate_errors(const Graph& graph, uint64_t seed, const Evaluator& exact) {
  const double never = std::numeric_limits<double>::infinity();
  const bool few = has_many_elements(graph);
  std::vector<Expected> expected;
  for (const Output& output : graph.outputs) {
    expected.push_back({exact.value(output.value), std::vector<double>(exact.value(output.value).data.size(), 0.0)});
  }
  Random random(seed_for(seed, "samples"));
  for (int sample = 0; sample < (few ? kFewSamples : kSamples); ++sample) {
    reference::Shaker shaker(random.next());
    Evaluator shaken(graph, seed, &shaker);
    shaken.run();
    for (size_t k = 0; k < expected.size(); ++k) {
      const Array& y = shaken.value(graph.outputs[k].value);
      for (size_t i = 0; i < y.data.size(); ++i) {
        const double want = expected[k].exact.data[i], got = y.data[i];
        double& bound = expected[k].bound[i];
        if (!same_kind(want, got)) bound = never;
        if (std::isfinite(want) && std::isfinite(got)) bound = std::max(bound, std::fabs(got - want));
      }
    }
  }
  for (Expected& y : expected) {
    const double scale = typical_magnitude(y.exact), least = few ? 0.5 * mean_deviation(y) : 0;
    for (size_t i = 0; i < y.bound.size(); ++i) {
      if (y.bound[i] < least) y.bound[i] = least;
      if (y.bound[i] == 0 || y.bound[i] == never) continue;
      const double value = std::fabs(y.exact.data[i]);
      y.bound[i] = kSafety * y.bound[i] + storage_ulp(value, y.exact.dtype);
      const bool whole = is_integer(y.exact.dtype) || y.exact.dtype == boolean;
      if (whole || y.bound[i] > 0.25 * (value + scale)) y.bound[i] = never;
    }
  }
  return expected;
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_ERROR_ESTIMATE_H_

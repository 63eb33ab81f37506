// ErrorEstimate: what a graph's outputs must be, and how far off a device may be, element by element.
//
//   ErrorEstimate estimate(graph, seed, exact);
//   estimate.sample(kSamples);
//   for (const Expected& y : estimate.expected()) ... y.exact, y.bound
//
// Stochastic arithmetic: the graph is evaluated once as defined and kSamples times with every op as wrong as
// it may be. The bound is kSafety times the largest deviation seen, plus one rounding to the output's storage
// type. Where no sample deviates (integers, moved and chosen numbers) the device must agree exactly. Where
// samples disagree about something discrete (a comparison, floor, an index, overflow) the element is skipped:
// no bound is possible.
//
// Bounds only grow with every sample, so what is right by a few of them need not be judged by all: that is what makes
// graphs of a network's size affordable, under the same bounds as small ones.
#ifndef RLXGPU_TESTS_FUZZ_ERROR_ESTIMATE_H_
#define RLXGPU_TESTS_FUZZ_ERROR_ESTIMATE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "rlxgpu/graph/graph.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/shaker.h"
#include "tests/fuzz/data.h"
#include "tests/fuzz/evaluate.h"
#include "tests/fuzz/random.h"

namespace rlxgpu::core::fuzz {

inline constexpr int kSamples = 32;
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

class ErrorEstimate {
 public:
  // `exact`: of this graph and seed, evaluated as defined. Both must outlive this.
  ErrorEstimate(const Graph& graph, uint64_t seed, const Evaluator& exact)
      : graph_(graph), seed_(seed), exact_(exact), random_(seed_for(seed, "samples")) {
    for (const Output& output : graph.outputs) deviation_.emplace_back(exact.value(output.value).data.size(), 0.0);
  }

  int samples() const { return samples_; }

  // Until there are so many.
  void sample(int count) {
    for (; samples_ < count; ++samples_) {
      reference::Shaker shaker(random_.next());
      Evaluator shaken(graph_, seed_, &shaker);
      shaken.run();
      for (size_t k = 0; k < deviation_.size(); ++k) {
        const Array &want = exact(k), &got = shaken.value(graph_.outputs[k].value);
        for (size_t i = 0; i < got.data.size(); ++i) {
          double& deviation = deviation_[k][i];
          if (!same_kind(want.data[i], got.data[i])) deviation = kNever;
          if (std::isfinite(want.data[i]) && std::isfinite(got.data[i]))
            deviation = std::max(deviation, std::fabs(got.data[i] - want.data[i]));
        }
      }
    }
  }

  std::vector<Expected> expected() const {
    std::vector<Expected> result;
    for (size_t k = 0; k < deviation_.size(); ++k) {
      Expected y{exact(k), deviation_[k]};
      const double scale = typical_magnitude(y.exact);
      const bool whole = is_integer(y.exact.dtype) || y.exact.dtype == boolean;
      for (size_t i = 0; i < y.bound.size(); ++i) {
        if (y.bound[i] == 0 || y.bound[i] == kNever) continue;
        const double value = std::fabs(y.exact.data[i]);
        y.bound[i] = kSafety * y.bound[i] + storage_ulp(value, y.exact.dtype);
        if (whole || y.bound[i] > 0.25 * (value + scale)) y.bound[i] = kNever;
      }
      result.push_back(std::move(y));
    }
    return result;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  const Array& exact(size_t output) const { return exact_.value(graph_.outputs[output].value); }

  const Graph& graph_;
  uint64_t seed_;
  const Evaluator& exact_;
  Random random_;
  int samples_ = 0;
  std::vector<std::vector<double>> deviation_;  // the largest, by output and element
};

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_ERROR_ESTIMATE_H_

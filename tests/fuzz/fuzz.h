// Fuzzer: random programs one after another, and what came of them.
//
//   Fuzzer fuzzer(device);
//   for (uint64_t seed = 1; seed <= 200; ++seed) fuzzer.run(seed);
//   fuzzer.failures()      // each a program, shrunk, as C++ code
#ifndef RLXGPU_TESTS_FUZZ_FUZZ_H_
#define RLXGPU_TESTS_FUZZ_FUZZ_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/print_code.h"
#include "tests/fuzz/random_graph.h"
#include "tests/fuzz/shrink.h"
#include "tests/fuzz/trial.h"

namespace rlxgpu::core::fuzz {

class Fuzzer {
 public:
  explicit Fuzzer(const Device& device, std::span<const Maker> makers = kMakers) : trial_(device), makers_(makers) {}

  // One program; true when it is right.
  bool run(uint64_t seed) {
    const DynamicGraph graph = random_graph(seed, makers_);
    const Setting setting = random_setting(graph.graph(), seed);
    const Verdict verdict = trial_.run(graph, setting);
    ++graphs_;
    elements_ += verdict.elements;
    if (verdict.elements > 0) skipped_ += static_cast<double>(verdict.skipped) / static_cast<double>(verdict.elements);
    if (verdict.ok()) return true;
    report(seed, graph, setting, verdict.problem);
    return false;
  }

  int64_t graphs() const { return graphs_; }
  int64_t elements() const { return elements_; }
  // Of a program's elements, those for which no bound was possible; the mean over all programs.
  double skipped_share() const { return graphs_ == 0 ? 0 : skipped_ / static_cast<double>(graphs_); }
  const std::vector<std::string>& failures() const { return failures_; }
  const DynamicGraph& smallest() const { return smallest_; }  // of the last failure

 private:
  // A wrong number shrinks to a wrong number, an error to an error.
  static bool is_difference(const std::string& problem) { return problem.find(", expected ") != std::string::npos; }

  void report(uint64_t seed, const DynamicGraph& graph, Setting setting, const std::string& problem) {
    std::string last = problem;
    const auto fails = [&](const DynamicGraph& candidate) {
      const Verdict verdict = trial_.run(candidate, setting);
      if (verdict.ok() || is_difference(verdict.problem) != is_difference(problem)) return false;
      last = verdict.problem;
      return true;
    };
    smallest_ = shrink(graph, fails);
    failures_.push_back(absl::StrCat("// seed ", seed, ": ", problem, "\n// shrunk from ", op_count(graph.graph()),
                                     " to ", op_count(smallest_.graph()), " ops: ", last, "\n",
                                     code_of(smallest_.graph()), code_of(setting)));
  }

  Trial trial_;
  std::span<const Maker> makers_;
  int64_t graphs_ = 0, elements_ = 0;
  double skipped_ = 0;
  std::vector<std::string> failures_;
  DynamicGraph smallest_;
};

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_FUZZ_H_

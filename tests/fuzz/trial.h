// Trial: one random program run on a device and compared with what it must give.
//
//   Verdict verdict = Trial(device).run(graph, {.seed = 42});
//   if (!verdict.ok()) std::cerr << verdict.problem;      // "y0[2,1] = 3.5, expected 2.5 within 1e-06"
//
// A program that does not compile, does not pass check() or that Dawn rejects is a problem, too.
#ifndef RLXGPU_TESTS_FUZZ_TRIAL_H_
#define RLXGPU_TESTS_FUZZ_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/dynamic.h"
#include "tests/fuzz/error_estimate.h"
#include "tests/fuzz/evaluate.h"

namespace rlxgpu::core::fuzz {

// How a program is compiled: everything that must not change its results.
struct Setting {
  uint64_t seed = 0;  // of the data
  bool fuse = true;
  bool simplify = true;
  bool portable = false;  // for the target that every device covers
  bool baked = false;     // sizes as literals
  std::vector<Choice> choices = {};
};

struct Verdict {
  std::string problem;  // empty: none
  int64_t elements = 0, skipped = 0;
  bool ok() const { return problem.empty(); }
};

inline std::string place_of(const Array& array, int64_t i) {
  std::string text;
  const reference::Index index = array.index_of(i);
  for (int axis = 0; axis < array.shape.rank(); ++axis) absl::StrAppend(&text, axis ? "," : "", index[axis]);
  return absl::StrCat("[", text, "]");
}

class Trial {
 public:
  explicit Trial(const Device& device) : device_(device) {}

  Verdict run(const DynamicGraph& graph, const Setting& setting) const {
    Verdict verdict;
    const Graph& g = graph.graph();
    if (!g.ok()) {
      verdict.problem = absl::StrCat("the graph has an error: ", std::string(g.error.view()));
      return verdict;
    }
    Evaluator exact(g, setting.seed);
    exact.run();
    const absl::StatusOr<std::vector<Array>> outputs = execute(graph, setting, exact);
    if (!outputs.ok()) {
      verdict.problem = outputs.status().ToString();
      return verdict;
    }
    ErrorEstimate estimate(g, setting.seed, exact);
    for (const int samples : {4, 8, 16, kSamples}) {  // bounds only grow: what is right by four is right by all
      estimate.sample(samples);
      verdict = judged(g, estimate.expected(), *outputs);
      if (verdict.ok()) break;
    }
    return verdict;
  }

  // The outputs, in order, at their present extents, given the inputs that `given` has.
  absl::StatusOr<std::vector<Array>> execute(const DynamicGraph& graph, const Setting& setting,
                                             const Evaluator& given) const {
    DynamicOptions options;
    options.compile.fuse.fuse = setting.fuse;
    options.compile.simplify = setting.simplify;
    options.compile.choices = setting.choices;
    options.compile.check = true;
    if (setting.portable) options.target = &kPortable;
    options.sizes = setting.baked ? Sizes::baked : Sizes::free;
    absl::StatusOr<Executable<DynamicGraph>> exe = Executable<DynamicGraph>::create(device_, graph, options);
    if (!exe.ok()) return exe.status();

    const Graph& g = graph.graph();
    for (const bool extents : {true, false}) {  // before the tensors that have them
      for (const Node& node : g.nodes) {
        const std::string name(g.name(node.name));
        const Array& value = given.value(node.results.first);
        if (node.kind == NodeKind::op || node.kind == NodeKind::constant) continue;
        if ((node.kind == NodeKind::scalar && node.attrs.count > 0) != extents) continue;
        absl::Status status;
        if (node.kind == NodeKind::scalar) {
          status = exe->set(name, value[0]);
        } else {
          status = exe->set_elements(name, value.dtype, value.count(), stored(value).data());
        }
        if (!status.ok()) return status;
      }
    }
    if (absl::Status status = exe->run().wait(); !status.ok()) return status;

    std::vector<Array> outputs;
    for (const Output& output : g.outputs) {
      const Array& like = given.value(output.value);
      std::vector<std::byte> bytes(static_cast<size_t>(like.count()) * static_cast<size_t>(bytes_of(like.dtype)));
      if (absl::Status status =
              exe->get_elements(std::string(g.name(output.name)), like.dtype, like.count(), bytes.data());
          !status.ok())
        return status;
      outputs.push_back(from_storage(like, bytes));
    }
    return outputs;
  }

 private:
  static Verdict judged(const Graph& graph, const std::vector<Expected>& expected, const std::vector<Array>& outputs) {
    Verdict verdict;
    for (size_t k = 0; k < expected.size(); ++k)
      compare(std::string(graph.name(graph.outputs[k].name)), expected[k], outputs[k], verdict);
    return verdict;
  }

  // Keeps the element that is furthest off, in units of its bound.
  static void compare(const std::string& name, const Expected& expected, const Array& got, Verdict& verdict) {
    double worst = 0;
    std::string problem;
    const int64_t parts = got.dtype == c64 ? 2 : 1;
    for (size_t i = 0; i < got.data.size(); ++i) {
      const double want = expected.exact.data[i], have = got.data[i], bound = expected.bound[i];
      ++verdict.elements;
      if (std::isinf(bound)) {
        ++verdict.skipped;
        continue;
      }
      const bool differs = !same_kind(want, have) || (std::isfinite(want) && std::fabs(have - want) > bound);
      const double by = differs && same_kind(want, have) ? std::fabs(have - want) / std::max(bound, 1e-300) : 1e300;
      if (!differs || by <= worst) continue;
      worst = by;
      problem = absl::StrFormat("%s%s = %.9g, expected %.9g within %.3g", name,
                                place_of(got, static_cast<int64_t>(i) / parts), have, want, bound);
    }
    if (verdict.ok()) verdict.problem = problem;
  }

  Device device_;
};

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_TRIAL_H_

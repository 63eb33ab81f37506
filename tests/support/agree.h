// check_agrees: what a graph gives on the device is what its ops' references give.
//
//   check_agrees(device, [&](Builder& g) { g.output("y", sum(g.input("x", f16, {m, n}), 1)); },
//                {.bound = sum_bound(f16, n, 2.0), .choices = {{"sum", "split"}}});
//
// Inputs are random, from a printed seed: floats in [-2, 2], integers in [-9, 9] (unsigned: [0, 9]), rounded to their
// type; or given by name. Scalars and run-time extents are given in `numbers`.
#ifndef RLXGPU_TESTS_SUPPORT_AGREE_H_
#define RLXGPU_TESTS_SUPPORT_AGREE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/choice.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/reference/interpreter.h"
#include "tests/support/compiled.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {

// What is wrong with a graph: "file.cc:12: sum([2,3]): ...", or "".
std::string error_of(const Build& build);
// The same without file and line.
std::string message_of(const Build& build);

// What outputs must be, given the inputs: in plain C++, for what is composed of other ops, whose references would
// repeat a mistake of the composition.
using Judge = std::function<std::map<std::string, std::vector<double>>(const reference::Arrays& inputs)>;

struct Agreement {
  Bound bound;
  std::vector<Choice> choices = {};
  std::map<std::string, std::vector<double>> given = {};
  reference::Numbers numbers = {};
  bool fuse = true;
  uint32_t seed = 1;
  bool device_only = false;  // no plan for any device, where drivers take long to compile
  Judge judge = {};          // of some outputs; the ops' references judge the others
};

using reference::pack;

reference::Array random_array(DType dtype, const Shape& shape, std::mt19937& random);

// What a run of the graph is given.
reference::Arrays inputs_of(const Graph& graph, const Agreement& agreement);

// Every choice is taken by some step. (A variant that does not accept the call is passed over silently.)
bool takes_choices(const Graph& graph, const Target& target, const CompileOptions& options);

// In one way.
void check_agrees_on(const Device& device, const Target& target, const DynamicGraph& graph, const Agreement& agreement,
                     Sizes sizes);

// Runs a case and compares. What is run follows from the case alone, from a hash of its graph, choices, numbers and
// seed: a filtered run does the same as a run of all. Of lavapipe and SwiftShader the hash names one, the case's own
// adapter.
//
// A case that asks for variants is run with them on its own adapter, planned for that device or for any device; on the
// other with the kernels that are chosen there. Any other case is planned for the device on both, and for any device,
// so that kernels for real GPUs run, too, on its own. Plans for any device have grids so narrow that many are folded.
// Sizes are baked half of the time; what has them baked on one adapter has them free on the other.
//
// With RLXGPU_TEST_ALL=1, and on adapters that are neither, variants and plans for any device run everywhere; and so does
// a variant that a plan for any device does not take.
void check_agrees(const Device& device, const Build& build, const Agreement& agreement);

// Case by case in every variant of `op` that accepts the graph, planned for the device or for any. Not in those that
// have a probe: what needs matrix units is in matmul_tiles_test.cc.
void check_every_variant(const Device& device, const OpDef& op, const Build& build, Agreement agreement);

// The names of those variants.
std::vector<std::string_view> variants_of(const OpDef& op);

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_AGREE_H_

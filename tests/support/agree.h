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
#include <map>
#include <random>
#include <string>
#include <vector>

#include "rlxgpu/compile/choice.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/reference/interpreter.h"
#include "tests/support/compiled.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::testing {

// What is wrong with a graph: "file.cc:12: sum([2,3]): ...", or "".
std::string error_of(const Build& build);
// The same without file and line.
std::string message_of(const Build& build);

struct Agreement {
  Bound bound;
  std::vector<Choice> choices = {};
  std::map<std::string, std::vector<double>> given = {};
  reference::Numbers numbers = {};
  bool fuse = true;
  uint32_t seed = 1;
  bool device_only = false;  // no plan for any device, where drivers take long to compile
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

// Planned for the device; and for any device (so that kernels for real GPUs run, too), with grids so narrow that many
// of them are folded, on one of two adapters in turns. Sizes are free, so that one kernel serves many shapes, and in
// some calls baked as well.
//
// Forced variants run by one of the two plans, on another adapter by the other. Lavapipe takes long to compile them: it
// is made to run the first case of each variant and every other one after it, and computes the rest with the kernels
// that it would choose itself.
void check_agrees(const Device& device, const Build& build, const Agreement& agreement);

}  // namespace rlxgpu::testing

#endif  // RLXGPU_TESTS_SUPPORT_AGREE_H_

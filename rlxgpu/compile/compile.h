// compile: from a graph to a program, at compile time or at run time.
//
//   Program program = compile(builder.graph(), device.target());
//   if (!program.error.empty()) ...          // a graph's own error comes through unchanged
//
// graph -> simplify -> fuse -> lower -> plan. Each pass is one loop over its input.
#ifndef RLXGPU_COMPILE_COMPILE_H_
#define RLXGPU_COMPILE_COMPILE_H_

#include "rlxgpu/compile/check.h"
#include "rlxgpu/compile/choice.h"
#include "rlxgpu/compile/fuse.h"
#include "rlxgpu/compile/lower.h"
#include "rlxgpu/compile/plan.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/compile/simplify.h"

namespace rlxgpu::core {

// Where the steps of a program come from, for those who compare them with what they stand for (runtime/verify.h).
struct Origin {
  Graph graph;    // simplified, as it was lowered
  Fusion fusion;  // of that graph
  Vec<GroupSteps> groups;
  Vec<int32_t> tensor_of;  // by value: of Program::tensors, or -1
};

struct CompileOptions {
  FuseOptions fuse = {};
  bool simplify = true;
  std::span<const Choice> choices = {};      // kernel variants to prefer; the strings must live as long as the call
  Chooser chooser = {};                      // decides for each call; choices win over it
  std::span<const Suspect> distrusted = {};  // variants of calls that are wrong on the device: not used
  Vec<Suspect>* suspects = nullptr;          // to be filled in: uses of variants that need a proof (runtime/trust.h)
  Origin* origin = nullptr;                  // to be filled in
#ifdef NDEBUG
  bool check = false;
#else
  bool check = true;
#endif
};

constexpr Program compile(const Graph& graph, const Target& target, const CompileOptions& options = {}) {
  Program program;
  program.error = error_of(graph);
  if (!program.error.empty()) return program;
  Graph simple;
  if (options.simplify) simple = simplify(graph);
  const Graph& from = options.simplify ? simple : graph;
  const Fusion fusion = fuse(from, target, options.fuse);
  Lowering lowering(from, fusion, target, program);
  if (options.origin != nullptr) *options.origin = Origin();
  Vec<GroupSteps>* const groups = options.origin != nullptr ? &options.origin->groups : nullptr;
  lower(lowering, {options.choices, options.chooser, options.distrusted, options.suspects}, groups);
  if (!program.error.empty()) return program;
  Planner(from, lowering.memory(), target, program).run();
  if (options.origin != nullptr) {
    options.origin->graph = from;
    options.origin->fusion = fusion;
    for (size_t v = 0; v < from.values.size(); ++v)
      options.origin->tensor_of.push_back(lowering.memory_of(static_cast<int32_t>(v)));
  }
  if (program.error.empty() && options.check) program.error = check(view_of(program, target));
  return program;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_COMPILE_H_

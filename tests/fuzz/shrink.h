// shrink: a smaller program that still shows the problem.
//
//   DynamicGraph small = shrink(graph, [&](const DynamicGraph& g) { return !trial.run(g, setting).ok(); });
//
// Tries, as long as something helps: one output only, a value replaced by an input or by one of its operands,
// smaller extents, f32 instead of other types. `fails` is called at most `attempts` times.
#ifndef RLXGPU_TESTS_FUZZ_SHRINK_H_
#define RLXGPU_TESTS_FUZZ_SHRINK_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "rlxgpu/dynamic.h"
#include "tests/fuzz/edit.h"

namespace rlxgpu::core::fuzz {

using Fails = std::function<bool(const DynamicGraph&)>;

// Everything that could be done to a graph, the most effective first.
inline std::vector<Edit> possible_edits(const Graph& graph) {
  std::vector<Edit> edits;
  if (graph.outputs.size() > 1) {
    for (size_t k = 0; k < graph.outputs.size(); ++k) edits.push_back({.output = static_cast<int32_t>(k)});
  }
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (node.kind == NodeKind::input) continue;
    for (int k = 0; k < node.operands.count; ++k)
      edits.push_back({.replace = node.results.first, .by = graph.operand(node, k)});
    if (node.results.count == 1 && !(node.kind == NodeKind::scalar && node.attrs.count > 0))
      edits.push_back({.replace = node.results.first});
  }
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::param && node.kind != NodeKind::state) continue;
    const int32_t id = node.results.first;
    const Value& value = graph.value(id);
    for (int axis = 0; axis < value.shape.rank(); ++axis) {
      const int64_t extent = value.shape[axis];
      if (value.shape.symbol(axis) >= 0) edits.push_back({.resize = id, .axis = axis, .extent = extent});
      for (const int64_t smaller : {int64_t{1}, int64_t{2}, extent / 2, extent - 1}) {
        if (smaller >= 1 && smaller < extent) edits.push_back({.resize = id, .axis = axis, .extent = smaller});
      }
    }
    if (value.dtype != f32) edits.push_back({.retype = id});
  }
  return edits;
}

inline DynamicGraph shrink(const DynamicGraph& graph, const Fails& fails, int attempts = 200) {
  DynamicGraph best;
  rebuild(graph.graph(), {}, best);
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Edit& edit : possible_edits(best.graph())) {
      DynamicGraph candidate;
      if (!rebuild(best.graph(), edit, candidate)) continue;
      if (attempts-- <= 0) return best;
      if (!fails(candidate)) continue;
      best = std::move(candidate);
      smaller = true;
      break;  // ids have changed
    }
  }
  return best;
}

inline int op_count(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes) count += node.kind == NodeKind::op;
  return count;
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_SHRINK_H_

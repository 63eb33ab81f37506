// FuseGroups: groups of nodes in the making, one kernel each, and who reads what; the state that fuse.h and
// fuse_after.h work on.
#ifndef RLXGPU_COMPILE_FUSE_GROUPS_H_
#define RLXGPU_COMPILE_FUSE_GROUPS_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/fusion.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/target.h"

namespace rlxgpu::core::internal {

inline constexpr int32_t kNoGroup = -1, kManyGroups = -2;
inline constexpr char kHeavyMap = 5;
inline constexpr int32_t kDeepest = 512;  // ops between a root and what it reads

constexpr bool is_kernel(const Node& node) { return node.kind == NodeKind::op && node.op->at == nullptr; }
constexpr bool is_view(const Node& node) { return node.kind == NodeKind::op && node.op->view != nullptr; }
// False for a number, which stands in the kernel.
constexpr bool takes_binding(const Graph& graph, int32_t value) {
  const Node& from = graph.producer(value);
  return from.kind != NodeKind::scalar && !(from.kind == NodeKind::constant && graph.value(value).shape.count() == 1);
}

// Maps of nothing but single numbers (a range, positions from a start) cost less to compute again than to store and
// load.
constexpr Vec<char> weights_of(const Graph& graph) {
  Vec<char> weights;
  weights.resize(graph.nodes.size(), kHeavyMap);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.kind == NodeKind::scalar || (node.kind == NodeKind::constant && !takes_binding(graph, node.results.first)))
      weights[n] = 0;
    if (node.kind != NodeKind::op || is_kernel(node)) continue;
    int weight = 1;
    for (int k = 0; k < node.operands.count; ++k)
      weight += weights[static_cast<size_t>(graph.value(graph.operand(node, k)).node)];
    if (weight < kHeavyMap) weights[n] = static_cast<char>(weight);
  }
  return weights;
}

// What is computed from a state must be computed before an op changes that state in place: by node, the op that it must
// come before. Empty when nothing is changed in place.
constexpr Vec<int32_t> deadlines_of(const Graph& graph) {
  Vec<int32_t> deadlines;
  bool any = false;
  for (const Node& node : graph.nodes) any = any || (node.kind == NodeKind::op && node.op->in_place >= 0);
  if (!any) return deadlines;
  const auto never = static_cast<int32_t>(graph.nodes.size());
  Vec<int32_t> changed;  // by value: the op that changes its buffer
  changed.resize(graph.values.size(), never);
  deadlines.resize(graph.nodes.size(), never);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (node.kind == NodeKind::op && node.op->in_place >= 0) {
      changed[static_cast<size_t>(graph.operand(node, node.op->in_place))] = static_cast<int32_t>(n);
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (int k = 0; k < node.operands.count; ++k) {
      const int32_t operand = graph.operand(node, k);
      const int32_t from = graph.value(operand).node;
      int32_t by = changed[static_cast<size_t>(operand)];
      if (graph.node(from).kind == NodeKind::op && !is_kernel(graph.node(from)) &&
          deadlines[static_cast<size_t>(from)] < by)
        by = deadlines[static_cast<size_t>(from)];
      if (by > static_cast<int32_t>(n) && by < deadlines[n]) deadlines[n] = by;
    }
  }
  return deadlines;
}

// How the groups that read a value read it. The class says at which coordinates: equal classes mean
// equal coordinates, so that one computation serves both.
struct FuseUse {
  int32_t group = kNoGroup;
  int32_t coords = kNoGroup;
  int32_t repeats = 0;
  int32_t last = kNoGroup;  // the latest root among those groups
  bool kernel = false;      // some group is a kernel op's
  int32_t depth = 0;     // ops on the longest way to a root: later passes follow it by recursion
};
// Nodes that share a kernel.
struct FuseGroup {
  int32_t root = kNoGroup;    // node
  int32_t coords = kNoGroup;  // class of the root's own coordinates
  int32_t nodes = 0;
  int32_t results = 1;
  int32_t further = 0;  // further bindings: of what is bound already, since operands that a kernel reads by itself
                        // have one each, and of buffers of the kernel's own
  Vec<int32_t> reads;   // values it loads from memory, views stripped
};

struct FuseGroups {
  constexpr FuseGroups(const Graph& of, const Target& on, const FuseOptions& with)
      : graph(of), target(on), options(with), weights(weights_of(of)), deadlines(deadlines_of(of)) {
    out.stored.resize(of.values.size(), 0);
    out.root.resize(of.nodes.size(), 0);
    out.anchor.resize(of.nodes.size(), -1);
    out.next.resize(of.nodes.size(), -1);
    uses.resize(of.values.size());
    group_of.resize(of.nodes.size(), kNoGroup);
    for (const Output& output : of.outputs) out.stored[static_cast<size_t>(output.value)] = 1;
  }

  const Graph& graph;
  const Target& target;
  FuseOptions options;
  Vec<char> weights;       // by node: maps down to single numbers, kHeavyMap when there is more behind it or too many
  Vec<int32_t> deadlines;  // by node, or empty
  Fusion out;
  Vec<FuseUse> uses;      // by value
  Vec<int32_t> group_of;  // by node
  Vec<FuseGroup> groups;

  constexpr const Node& node(int32_t n) const { return graph.nodes[static_cast<size_t>(n)]; }
  constexpr int32_t deadline(int32_t n) const {
    return deadlines.empty() ? static_cast<int32_t>(graph.nodes.size()) : deadlines[static_cast<size_t>(n)];
  }

  constexpr bool is_output(int32_t value) const {
    for (const Output& output : graph.outputs) {
      if (output.value == value) return true;
    }
    return false;
  }

  // The value whose memory is read when this one is, if views are only addresses.
  constexpr int32_t stripped(int32_t value) const {
    while (!out.stored[static_cast<size_t>(value)]) {
      const Node& from = graph.producer(value);
      if (!is_view(from)) break;
      value = graph.operand(from, 0);
    }
    return value;
  }
  constexpr void add_read(Vec<int32_t>& reads, int32_t value) const {
    value = stripped(value);
    if (takes_binding(graph, value) && !reads.contains(value)) reads.push_back(value);
  }
  constexpr bool fits(const FuseGroup& group, const Vec<int32_t>& reads) const {
    return static_cast<uint32_t>(reads.size()) + static_cast<uint32_t>(group.results + group.further) <=
           target.max_storage_buffers;
  }
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_COMPILE_FUSE_GROUPS_H_

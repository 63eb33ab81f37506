// fuse: decides which nodes share a kernel. Each group becomes one kernel op's dispatches, or one
// generated kernel; only its root is written to memory.
//
//   x -> scale -> softmax -> mul -> out      scale is computed while softmax reads (OpDef::absorbs),
//                                            mul before softmax's result is stored (absorbs_after)
//
// Walks the nodes once, last to first: a map joins the group of its users when all of them are in one
// group; a view costs nothing and is re-addressed in every group that reads it, as what is made of single numbers is
// computed there. Then kernel ops take over the group of maps that alone uses them, element by element.
#ifndef RLXGPU_COMPILE_FUSE_H_
#define RLXGPU_COMPILE_FUSE_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/compile/fuse_after.h"
#include "rlxgpu/compile/fuse_groups.h"
#include "rlxgpu/compile/fusion.h"
#include "rlxgpu/compile/views.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {
namespace internal {

class Fuser {
 public:
  constexpr Fuser(const Graph& graph, const Target& target, const FuseOptions& options)
      : g_(graph, target, options), graph_(graph) {}

  constexpr Fusion run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) store_operands(static_cast<int32_t>(n));
    for (size_t n = graph_.nodes.size(); n-- > 0;) visit(static_cast<int32_t>(n));
    if (g_.options.fuse) FuseAfter(g_).run();
    return static_cast<Fusion&&>(g_.out);
  }

 private:
  constexpr int32_t fresh() { return next_class_++; }
  constexpr void add_use(int32_t value, int32_t group, int32_t coords, int32_t repeats, int32_t last, bool kernel,
                         int32_t depth) {
    FuseUse& use = g_.uses[static_cast<size_t>(value)];
    if (use.group == kNoGroup) {
      use = {group, coords, repeats, last, kernel, depth};
      return;
    }
    use.kernel = use.kernel || kernel;
    if (last > use.last) use.last = last;
    if (depth > use.depth) use.depth = depth;
    if (use.group != group) use.group = kManyGroups;
    if (use.coords == coords) {
      if (repeats > use.repeats) use.repeats = repeats;
    } else {
      use.coords = fresh();
      use.repeats += repeats;
    }
  }

  constexpr void visit(int32_t n) {
    const Node& node = g_.node(n);
    if (node.kind != NodeKind::op) {
      for (int k = 0; k < node.results.count; ++k) g_.out.stored[static_cast<size_t>(node.results.first + k)] = 1;
      return;
    }
    if (is_kernel(node)) return start_group(n);
    const FuseUse use = g_.uses[static_cast<size_t>(node.results.first)];
    const bool unused = use.group == kNoGroup, late = use.last >= g_.deadline(n);
    const bool stored = node.op->always_stored || g_.out.stored[static_cast<size_t>(node.results.first)];
    if (late || stored || unused || !g_.options.fuse || use.depth >= kDeepest) return start_group(n);
    if (is_view(node)) {  // belongs to every group that reads it
      pass_on(node, use.group, use);
      return;
    }
    // Computed again in every group that reads it
    if (use.group == kManyGroups && g_.weights[static_cast<size_t>(n)] < kHeavyMap) {
      pass_on(node, use.group, use);
      return;
    }
    if (use.group == kManyGroups || use.repeats > g_.options.max_repeats || !join(node, use)) return start_group(n);
    g_.group_of[static_cast<size_t>(n)] = use.group;
    pass_on(node, use.group, use);
  }

  constexpr bool join(const Node& node, const FuseUse& use) {
    FuseGroup& group = g_.groups[static_cast<size_t>(use.group)];
    if (group.nodes >= g_.options.max_nodes) return false;
    Vec<int32_t> reads;
    for (const int32_t value : group.reads) {
      if (value != node.results.first) reads.push_back(value);
    }
    for (int k = 0; k < node.operands.count; ++k) g_.add_read(reads, graph_.operand(node, k));
    if (!g_.fits(group, reads)) return false;
    group.reads = static_cast<Vec<int32_t>&&>(reads);
    ++group.nodes;
    return true;
  }

  // Tells the operands of a map at which coordinates its group reads them.
  constexpr void pass_on(const Node& node, int32_t group, const FuseUse& use) {
    const Shape& shape = graph_.value(node.results.first).shape;
    const int32_t repeats =
        node.op->reads == nullptr ? use.repeats : use.repeats * node.op->reads(call_of(graph_, node));
    for (int k = 0; k < node.operands.count; ++k) {
      const int32_t operand = graph_.operand(node, k);
      const bool same =
          node.op->keeps_order || (!node.op->reads_elsewhere && !is_view(node) && graph_.value(operand).shape == shape);
      add_use(operand, group, same ? use.coords : fresh(), repeats, use.last, use.kernel, use.depth + 1);
    }
  }

  constexpr void start_group(int32_t n) {
    const Node& node = g_.node(n);
    const auto id = static_cast<int32_t>(g_.groups.size());
    FuseGroup group;
    group.root = n;
    group.coords = fresh();
    group.nodes = 1;
    group.results = node.results.count;
    g_.group_of[static_cast<size_t>(n)] = id;
    g_.out.root[static_cast<size_t>(n)] = 1;
    for (int k = 0; k < node.results.count; ++k) g_.out.stored[static_cast<size_t>(node.results.first + k)] = 1;
    if (!is_kernel(node)) {
      for (int k = 0; k < node.operands.count; ++k) g_.add_read(group.reads, graph_.operand(node, k));
      const int32_t coords = group.coords;
      g_.groups.push_back(static_cast<FuseGroup&&>(group));
      pass_on(node, id, {id, coords, 1, n, false, 0});
      return;
    }
    g_.out.anchor[static_cast<size_t>(n)] = n;
    group.further = node.op->extra_bindings;
    for (int k = 0; k < node.operands.count; ++k) {
      group.further += !absorbs(node, k) && group.reads.contains(g_.stripped(graph_.operand(node, k)));
      g_.add_read(group.reads, graph_.operand(node, k));
    }
    g_.groups.push_back(static_cast<FuseGroup&&>(group));
    for (int k = 0; k < node.operands.count; ++k) {
      // An operand that is not absorbed is read from memory: its users are of no group.
      add_use(graph_.operand(node, k), absorbs(node, k) ? id : kManyGroups, fresh(), 1, n, true, 0);
    }
  }

  constexpr bool absorbs(const Node& node, int k) const { return g_.options.fuse && (node.op->absorbs >> k & 1) != 0; }

  // A kernel reads operands that it does not absorb from their buffers, by strides: each must be
  // memory, or a view of memory.
  constexpr void store_operands(int32_t n) {
    const Node& node = g_.node(n);
    if (!is_kernel(node)) return;
    for (int k = 0; k < node.operands.count; ++k) {
      if (absorbs(node, k)) continue;
      View view;
      const int32_t value = graph_.operand(node, k);
      int32_t base = g_.options.fuse ? strided(value, view) : value;
      if (base < 0 || !takes_binding(graph_, base)) base = value;  // a number has no buffer to view
      g_.out.stored[static_cast<size_t>(base)] = 1;
    }
  }

  // The value that this one is a strided view of once that is stored (itself at the least), or -1.
  constexpr int32_t strided(int32_t value, View& view) const {
    Vec<const Node*> views;
    for (; !g_.out.stored[static_cast<size_t>(value)]; value = graph_.operand(*views.back(), 0)) {
      const Node& from = graph_.producer(value);
      if (!is_view(from)) break;
      views.push_back(&from);
    }
    return view_through(graph_, value, views, view) ? value : -1;
  }

  FuseGroups g_;
  const Graph& graph_;
  int32_t next_class_ = 0;
};

}  // namespace internal

constexpr Fusion fuse(const Graph& graph, const Target& target, const FuseOptions& options = {}) {
  return internal::Fuser(graph, target, options).run();
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_FUSE_H_

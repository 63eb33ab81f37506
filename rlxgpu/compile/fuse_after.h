// What kernel ops compute besides: the maps that follow them, and the layouts. The last part of fuse.h, when every
// group is known: a kernel op takes over the group of maps that alone uses it, element by element, or writes for a few
// of them.
#ifndef RLXGPU_COMPILE_FUSE_AFTER_H_
#define RLXGPU_COMPILE_FUSE_AFTER_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/compile/fuse_groups.h"
#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/graph/inverse_view.h"

namespace rlxgpu::core::internal {

class FuseAfter {
 public:
  constexpr explicit FuseAfter(FuseGroups& groups) : g_(groups), graph_(groups.graph) {}

  constexpr void run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (g_.out.root[n] && is_kernel(graph_.nodes[n])) write_for_users(static_cast<int32_t>(n));
    }
  }

 private:
  constexpr void write_for_users(int32_t n) {
    const Node& node = g_.node(n);
    const int32_t result = node.op->transformed_result();
    if (!node.op->absorbs_after || node.results.count != result + 1) return;
    // The dispatches move to where the maps are: nobody may wait for what they change in place.
    if (result > 0 && g_.uses[static_cast<size_t>(node.results.first)].group != kNoGroup) return;
    const int32_t root = take_over_users(n, node.results.first + result);
    if (root >= 0) scatter_to_users(n, root == n ? node.results.first + result : g_.node(root).results.first);
  }
  // A kernel op whose result is used by one group of maps only, at the very coordinates of that group's
  // root, writes that root instead. Returns what it writes, or -1 when that must stay as it is.
  constexpr int32_t take_over_users(int32_t n, int32_t value) {
    if (g_.is_output(value)) return -1;
    const FuseUse use = g_.uses[static_cast<size_t>(value)];
    if (use.group < 0 || use.repeats != 1) return n;
    FuseGroup& users = g_.groups[static_cast<size_t>(use.group)];
    if (use.coords != users.coords) return n;
    const int32_t root = users.root;
    if (g_.out.anchor[static_cast<size_t>(root)] >= 0 || root >= g_.deadline(n)) return n;
    const FuseGroup& own = g_.groups[static_cast<size_t>(g_.group_of[static_cast<size_t>(n)])];
    Vec<int32_t> reads = own.reads;
    for (const int32_t read : users.reads) {
      if (read != value && !reads.contains(read)) reads.push_back(read);
    }
    users.further = own.further;
    if (!g_.fits(users, reads)) return n;
    users.reads = static_cast<Vec<int32_t>&&>(reads);
    hand_over(n, root, value);
    return g_.is_output(g_.node(root).results.first) ? -1 : root;
  }
  // The dispatches of n write `root` instead of `value`, its result before.
  constexpr void hand_over(int32_t n, int32_t root, int32_t value) {
    const auto before = static_cast<size_t>(graph_.value(value).node);
    g_.out.root[before] = 0;
    g_.out.anchor[before] = -1;
    g_.out.stored[static_cast<size_t>(value)] = 0;
    g_.out.root[static_cast<size_t>(root)] = 1;
    g_.out.anchor[static_cast<size_t>(root)] = n;
  }

  // What a kernel op writes (`value`) may be used by a few groups of maps only, each of which reads every element at
  // most once, through views: parts of it, or all in another order. Then it writes those instead, where they are.
  constexpr void scatter_to_users(int32_t n, int32_t value) {
    const auto root = static_cast<size_t>(graph_.value(value).node);
    const FuseUse use = g_.uses[static_cast<size_t>(value)];
    if (use.group == kNoGroup || use.kernel || graph_.value(value).shape.count() == 0) return;
    Vec<int32_t> targets, reads = g_.groups[static_cast<size_t>(g_.group_of[root])].reads;
    int32_t first = g_.deadline(n);  // all of them are written where the first is
    for (const FuseGroup& group : g_.groups) {
      if (!group.reads.contains(value)) continue;
      if (targets.size() == static_cast<size_t>(kMaxResults) || g_.out.anchor[static_cast<size_t>(group.root)] >= 0)
        return;
      Vec<Seen> seen;
      InverseView inverse;
      const int32_t written = g_.node(group.root).results.first;
      const Seen& path = seen[static_cast<size_t>(follow(written, value, group.root, seen))];
      if (!path.possible || !inverse.find(path.view, graph_.value(written).shape)) return;
      targets.push_back(group.root);
      if (group.root < first) first = group.root;
      for (const int32_t read : group.reads) {
        if (read != value && !reads.contains(read)) reads.push_back(read);
      }
    }
    const auto further = static_cast<size_t>(g_.groups[static_cast<size_t>(g_.group_of[root])].further);
    if (first == g_.deadline(n) || reads.size() + targets.size() + further > g_.target.max_storage_buffers) return;
    for (const int32_t read : reads) {
      if (graph_.value(read).node >= first) return;
    }
    hand_over(n, first, value);
    g_.groups[static_cast<size_t>(g_.group_of[static_cast<size_t>(first)])].reads = static_cast<Vec<int32_t>&&>(reads);
    int32_t last = first;
    for (const int32_t target : targets) {
      if (target == first) continue;
      g_.out.root[static_cast<size_t>(target)] = 0;
      g_.out.anchor[static_cast<size_t>(target)] = n;
      g_.out.next[static_cast<size_t>(last)] = target;
      last = target;
    }
  }

  // How a value in a group of maps depends on `value`: not at all, or each of its elements on one, at the place that
  // the view says in dense memory; or in ways that are not `possible` here.
  struct Seen {
    int32_t at = -1;
    bool depends = false, possible = true;
    View view;
  };
  constexpr int32_t follow(int32_t at, int32_t value, int32_t root, Vec<Seen>& seen) const {
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].at == at) return static_cast<int32_t>(i);
    }
    const Node& node = graph_.producer(at);
    const Shape& shape = graph_.value(at).shape;
    Seen path;
    path.at = at;
    if (at == value) {
      path.depends = true;
      path.view = {0, dense_strides(shape)};
    } else if (node.kind == NodeKind::op &&
               (graph_.value(at).node == root || !g_.out.stored[static_cast<size_t>(at)])) {
      for (int k = 0; k < node.operands.count && path.possible; ++k) {
        const int32_t operand = graph_.operand(node, k);
        const Seen from = seen[static_cast<size_t>(follow(operand, value, root, seen))];
        path.possible = from.possible;
        if (!from.depends) continue;
        View view = from.view;
        if (is_view(node)) {
          path.possible = path.possible && node.op->view(call_of(graph_, node), from.view, view);
        } else {
          path.possible = path.possible && !node.op->reads_elsewhere && graph_.value(operand).shape == shape;
        }
        if (path.depends && !(path.view == view)) path.possible = false;
        path.depends = true;
        path.view = view;
      }
    }
    seen.push_back(path);
    return static_cast<int32_t>(seen.size() - 1);
  }

  FuseGroups& g_;
  const Graph& graph_;
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_COMPILE_FUSE_AFTER_H_

// fuse: decides which nodes share a kernel. Each group becomes one kernel op's dispatches, or one
// generated kernel; only its root is written to memory.
//
//   x -> scale -> softmax -> mul -> out      scale is computed while softmax reads (OpDef::absorbs),
//                                            mul before softmax's result is stored (absorbs_after)
//
// Walks the nodes once, last to first: a map joins the group of its users when all of them are in one
// group; a view costs nothing and is re-addressed in every group that reads it, as what is made of single numbers is computed
// there. Then kernel ops take
// over the group of maps that alone uses them, element by element.
#ifndef RLXGPU_COMPILE_FUSE_H_
#define RLXGPU_COMPILE_FUSE_H_

#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/inverse_view.h"

namespace rlxgpu {

// What the passes after it need to know.
struct Fusion {
  Vec<char> stored;     // by value: it has memory of its own
  Vec<int32_t> anchor;  // by node: the kernel op whose dispatches write it (itself if it is a root); else -1
  Vec<char> root;       // by node: its group is executed at its place in the order
  Vec<int32_t> next;    // by node: another root that the same dispatches write (not executed by itself); else -1
};

struct FuseOptions {
  bool fuse = true;      // false: every node has a kernel of its own, for comparison
  int max_nodes = 48;    // maps in one kernel
  int max_repeats = 4;   // times one element may be computed again because it is read at several coordinates
};

class Fuser {
 public:
  constexpr Fuser(const Graph& graph, const Target& target, const FuseOptions& options)
      : graph_(graph), target_(target), options_(options) {}

  constexpr Fusion run() {
    const size_t values = graph_.values.size(), nodes = graph_.nodes.size();
    out_.stored.resize(values, 0);
    out_.root.resize(nodes, 0);
    out_.anchor.resize(nodes, -1);
    out_.next.resize(nodes, -1);
    use_.resize(values);
    group_of_.resize(nodes, kNone);
    for (const Output& output : graph_.outputs) out_.stored[static_cast<size_t>(output.value)] = 1;
    find_deadlines();
    find_weightless();
    for (size_t n = 0; n < nodes; ++n) store_operands(static_cast<int32_t>(n));
    for (size_t n = nodes; n-- > 0;) visit(static_cast<int32_t>(n));
    if (options_.fuse) {
      for (size_t n = 0; n < nodes; ++n) {
        if (out_.root[n] && is_kernel(graph_.nodes[n])) write_for_users(static_cast<int32_t>(n));
      }
    }
    return static_cast<Fusion&&>(out_);
  }

 private:
  static constexpr int32_t kNone = -1, kMany = -2;
  static constexpr char kHeavy = 5;

  // How the groups that read a value read it. The class says at which coordinates: equal classes mean
  // equal coordinates, so that one computation serves both.
  struct Use {
    int32_t group = kNone;
    int32_t coords = kNone;
    int32_t repeats = 0;
    int32_t last = kNone;  // the latest root among those groups
    bool kernel = false;   // some group is a kernel op's
  };
  struct Group {
    int32_t root = kNone;    // node
    int32_t coords = kNone;  // class of the root's own coordinates
    int32_t nodes = 0;
    int32_t results = 1;
    int32_t further = 0;     // further bindings: of what is bound already, since operands that a kernel reads by itself
                             // have one each, and of buffers of the kernel's own
    Vec<int32_t> reads;      // values it loads from memory, views stripped
  };

  static constexpr bool is_kernel(const Node& node) { return node.kind == NodeKind::op && node.op->at == nullptr; }
  static constexpr bool is_view(const Node& node) { return node.kind == NodeKind::op && node.op->view != nullptr; }

  constexpr const Node& node(int32_t n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  constexpr int32_t fresh() { return next_class_++; }

  // The value whose memory is read when this one is, if views are only addresses.
  constexpr int32_t stripped(int32_t value) const {
    while (!out_.stored[static_cast<size_t>(value)]) {
      const Node& from = graph_.producer(value);
      if (!is_view(from)) break;
      value = graph_.operand(from, 0);
    }
    return value;
  }
  constexpr bool takes_binding(int32_t value) const {
    const Node& from = graph_.producer(value);
    return from.kind != NodeKind::scalar && !(from.kind == NodeKind::constant && graph_.value(value).shape.count() == 1);
  }
  constexpr void add_read(Vec<int32_t>& reads, int32_t value) const {
    value = stripped(value);
    if (takes_binding(value) && !reads.contains(value)) reads.push_back(value);
  }
  constexpr bool fits(const Group& group, const Vec<int32_t>& reads) const {
    return static_cast<uint32_t>(reads.size()) + static_cast<uint32_t>(group.results + group.further) <= target_.max_storage_buffers;
  }

  constexpr void add_use(int32_t value, int32_t group, int32_t coords, int32_t repeats, int32_t last, bool kernel) {
    Use& use = use_[static_cast<size_t>(value)];
    if (use.group == kNone) {
      use = {group, coords, repeats, last, kernel};
      return;
    }
    use.kernel = use.kernel || kernel;
    if (last > use.last) use.last = last;
    if (use.group != group) use.group = kMany;
    if (use.coords == coords) {
      if (repeats > use.repeats) use.repeats = repeats;
    } else {
      use.coords = fresh();
      use.repeats += repeats;
    }
  }

  constexpr void visit(int32_t n) {
    const Node& node = this->node(n);
    if (node.kind != NodeKind::op) {
      for (int k = 0; k < node.results.count; ++k) out_.stored[static_cast<size_t>(node.results.first + k)] = 1;
      return;
    }
    if (is_kernel(node)) return start_group(n);
    const Use use = use_[static_cast<size_t>(node.results.first)];
    const bool unused = use.group == kNone, late = use.last >= deadline(n);
    const bool stored = node.op->always_stored || out_.stored[static_cast<size_t>(node.results.first)];
    if (late || stored || unused || !options_.fuse) return start_group(n);
    if (is_view(node)) {  // belongs to every group that reads it
      pass_on(node, use.group, use);
      return;
    }
    if (use.group == kMany && weight_[static_cast<size_t>(n)] < kHeavy) {  // computed again in every group that reads it
      pass_on(node, use.group, use);
      return;
    }
    if (use.group == kMany || use.repeats > options_.max_repeats || !join(node, use)) return start_group(n);
    group_of_[static_cast<size_t>(n)] = use.group;
    pass_on(node, use.group, use);
  }

  constexpr bool join(const Node& node, const Use& use) {
    Group& group = groups_[static_cast<size_t>(use.group)];
    if (group.nodes >= options_.max_nodes) return false;
    Vec<int32_t> reads;
    for (const int32_t value : group.reads) {
      if (value != node.results.first) reads.push_back(value);
    }
    for (int k = 0; k < node.operands.count; ++k) add_read(reads, graph_.operand(node, k));
    if (!fits(group, reads)) return false;
    group.reads = static_cast<Vec<int32_t>&&>(reads);
    ++group.nodes;
    return true;
  }

  // Tells the operands of a map at which coordinates its group reads them.
  constexpr void pass_on(const Node& node, int32_t group, const Use& use) {
    const Shape& shape = graph_.value(node.results.first).shape;
    const int32_t repeats = node.op->reads == nullptr ? use.repeats : use.repeats * node.op->reads(call_of(graph_, node));
    for (int k = 0; k < node.operands.count; ++k) {
      const int32_t operand = graph_.operand(node, k);
      const bool same = node.op->keeps_order || (!node.op->reads_elsewhere && !is_view(node) && graph_.value(operand).shape == shape);
      add_use(operand, group, same ? use.coords : fresh(), repeats, use.last, use.kernel);
    }
  }

  constexpr void start_group(int32_t n) {
    const Node& node = this->node(n);
    const auto id = static_cast<int32_t>(groups_.size());
    Group group;
    group.root = n;
    group.coords = fresh();
    group.nodes = 1;
    group.results = node.results.count;
    group_of_[static_cast<size_t>(n)] = id;
    out_.root[static_cast<size_t>(n)] = 1;
    for (int k = 0; k < node.results.count; ++k) out_.stored[static_cast<size_t>(node.results.first + k)] = 1;
    if (!is_kernel(node)) {
      for (int k = 0; k < node.operands.count; ++k) add_read(group.reads, graph_.operand(node, k));
      const int32_t coords = group.coords;
      groups_.push_back(static_cast<Group&&>(group));
      pass_on(node, id, {id, coords, 1, n, false});
      return;
    }
    out_.anchor[static_cast<size_t>(n)] = n;
    group.further = node.op->extra_bindings;
    for (int k = 0; k < node.operands.count; ++k) {
      group.further += !absorbs(node, k) && group.reads.contains(stripped(graph_.operand(node, k)));
      add_read(group.reads, graph_.operand(node, k));
    }
    groups_.push_back(static_cast<Group&&>(group));
    for (int k = 0; k < node.operands.count; ++k) {
      // An operand that is not absorbed is read from memory: its users are of no group.
      add_use(graph_.operand(node, k), absorbs(node, k) ? id : kMany, fresh(), 1, n, true);
    }
  }

  constexpr bool absorbs(const Node& node, int k) const { return options_.fuse && (node.op->absorbs >> k & 1) != 0; }

  // Maps of nothing but single numbers (a range, positions from a start) cost less to compute again than to store and load.
  constexpr void find_weightless() {
    weight_.resize(graph_.nodes.size(), kHeavy);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.kind == NodeKind::scalar || (node.kind == NodeKind::constant && !takes_binding(node.results.first))) weight_[n] = 0;
      if (node.kind != NodeKind::op || is_kernel(node)) continue;
      int weight = 1;
      for (int k = 0; k < node.operands.count; ++k) weight += weight_[static_cast<size_t>(graph_.value(graph_.operand(node, k)).node)];
      if (weight < kHeavy) weight_[n] = static_cast<char>(weight);
    }
  }

  // What is computed from a state must be computed before an op changes that state in place.
  constexpr void find_deadlines() {
    bool any = false;
    for (const Node& node : graph_.nodes) any = any || (node.kind == NodeKind::op && node.op->in_place >= 0);
    if (!any) return;
    const auto never = static_cast<int32_t>(graph_.nodes.size());
    Vec<int32_t> changed;  // by value: the op that changes its buffer
    changed.resize(graph_.values.size(), never);
    deadlines_.resize(graph_.nodes.size(), never);
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (node.kind == NodeKind::op && node.op->in_place >= 0) {
        changed[static_cast<size_t>(graph_.operand(node, node.op->in_place))] = static_cast<int32_t>(n);
      }
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      for (int k = 0; k < node.operands.count; ++k) {
        const int32_t operand = graph_.operand(node, k);
        const int32_t from = graph_.value(operand).node;
        int32_t by = changed[static_cast<size_t>(operand)];
        if (this->node(from).kind == NodeKind::op && !is_kernel(this->node(from)) && deadline(from) < by) by = deadline(from);
        if (by > static_cast<int32_t>(n) && by < deadlines_[n]) deadlines_[n] = by;
      }
    }
  }
  constexpr int32_t deadline(int32_t n) const {
    return deadlines_.empty() ? static_cast<int32_t>(graph_.nodes.size()) : deadlines_[static_cast<size_t>(n)];
  }

  // A kernel reads operands that it does not absorb from their buffers, by strides: each must be
  // memory, or a view of memory.
  constexpr void store_operands(int32_t n) {
    const Node& node = this->node(n);
    if (!is_kernel(node)) return;
    for (int k = 0; k < node.operands.count; ++k) {
      if (absorbs(node, k)) continue;
      View view;
      const int32_t value = graph_.operand(node, k);
      int32_t base = options_.fuse ? strided(value, view) : value;
      if (base < 0 || !takes_binding(base)) base = value;  // a number has no buffer to view
      out_.stored[static_cast<size_t>(base)] = 1;
    }
  }

  // The value that this one is a strided view of once that is stored (itself at the least), or -1.
  constexpr int32_t strided(int32_t value, View& view) const {
    const Node& from = graph_.producer(value);
    if (out_.stored[static_cast<size_t>(value)] || !is_view(from)) {
      view = {0, dense_strides(graph_.value(value).shape)};
      return value;
    }
    View inner;
    const int32_t base = strided(graph_.operand(from, 0), inner);
    return base >= 0 && from.op->view(call_of(graph_, from), inner, view) ? base : -1;
  }

  constexpr void write_for_users(int32_t n) {
    const Node& node = this->node(n);
    const int32_t result = node.op->transformed_result();
    if (!node.op->absorbs_after || node.results.count != result + 1) return;
    // The dispatches move to where the maps are: nobody may wait for what they change in place.
    if (result > 0 && use_[static_cast<size_t>(node.results.first)].group != kNone) return;
    const int32_t root = take_over_users(n, node.results.first + result);
    if (root >= 0) scatter_to_users(n, root == n ? node.results.first + result : this->node(root).results.first);
  }
  constexpr bool is_output(int32_t value) const {
    for (const Output& output : graph_.outputs) {
      if (output.value == value) return true;
    }
    return false;
  }

  // A kernel op whose result is used by one group of maps only, at the very coordinates of that group's
  // root, writes that root instead. Returns what it writes, or -1 when that must stay as it is.
  constexpr int32_t take_over_users(int32_t n, int32_t value) {
    if (is_output(value)) return -1;
    const Use use = use_[static_cast<size_t>(value)];
    if (use.group < 0 || use.repeats != 1) return n;
    Group& users = groups_[static_cast<size_t>(use.group)];
    if (use.coords != users.coords) return n;
    const int32_t root = users.root;
    if (out_.anchor[static_cast<size_t>(root)] >= 0 || root >= deadline(n)) return n;
    const Group& own = groups_[static_cast<size_t>(group_of_[static_cast<size_t>(n)])];
    Vec<int32_t> reads = own.reads;
    for (const int32_t read : users.reads) {
      if (read != value && !reads.contains(read)) reads.push_back(read);
    }
    users.further = own.further;
    if (!fits(users, reads)) return n;
    users.reads = static_cast<Vec<int32_t>&&>(reads);
    hand_over(n, root, value);
    return is_output(this->node(root).results.first) ? -1 : root;
  }
  // The dispatches of n write `root` instead of `value`, its result before.
  constexpr void hand_over(int32_t n, int32_t root, int32_t value) {
    const auto before = static_cast<size_t>(graph_.value(value).node);
    out_.root[before] = 0;
    out_.anchor[before] = -1;
    out_.stored[static_cast<size_t>(value)] = 0;
    out_.root[static_cast<size_t>(root)] = 1;
    out_.anchor[static_cast<size_t>(root)] = n;
  }

  // What a kernel op writes (`value`) may be used by a few groups of maps only, each of which reads every element at
  // most once, through views: parts of it, or all in another order. Then it writes those instead, where they are.
  constexpr void scatter_to_users(int32_t n, int32_t value) {
    const auto root = static_cast<size_t>(graph_.value(value).node);
    const Use use = use_[static_cast<size_t>(value)];
    if (use.group == kNone || use.kernel || graph_.value(value).shape.count() == 0) return;
    Vec<int32_t> targets, reads = groups_[static_cast<size_t>(group_of_[root])].reads;
    int32_t first = deadline(n);  // all of them are written where the first is
    for (const Group& group : groups_) {
      if (!group.reads.contains(value)) continue;
      if (targets.size() == static_cast<size_t>(kMaxResults) || out_.anchor[static_cast<size_t>(group.root)] >= 0) return;
      Vec<Seen> seen;
      InverseView inverse;
      const int32_t written = this->node(group.root).results.first;
      const Seen& path = seen[static_cast<size_t>(follow(written, value, group.root, seen))];
      if (!path.possible || !inverse.find(path.view, graph_.value(written).shape)) return;
      targets.push_back(group.root);
      if (group.root < first) first = group.root;
      for (const int32_t read : group.reads) {
        if (read != value && !reads.contains(read)) reads.push_back(read);
      }
    }
    const auto further = static_cast<size_t>(groups_[static_cast<size_t>(group_of_[root])].further);
    if (first == deadline(n) || reads.size() + targets.size() + further > target_.max_storage_buffers) return;
    for (const int32_t read : reads) {
      if (graph_.value(read).node >= first) return;
    }
    hand_over(n, first, value);
    groups_[static_cast<size_t>(group_of_[static_cast<size_t>(first)])].reads = static_cast<Vec<int32_t>&&>(reads);
    int32_t last = first;
    for (const int32_t target : targets) {
      if (target == first) continue;
      out_.root[static_cast<size_t>(target)] = 0;
      out_.anchor[static_cast<size_t>(target)] = n;
      out_.next[static_cast<size_t>(last)] = target;
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
    } else if (node.kind == NodeKind::op && (graph_.value(at).node == root || !out_.stored[static_cast<size_t>(at)])) {
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

  const Graph& graph_;
  const Target& target_;
  FuseOptions options_;
  Fusion out_;
  Vec<Use> use_;           // by value
  Vec<int32_t> group_of_;  // by node
  Vec<Group> groups_;
  Vec<char> weight_;        // by node: maps down to single numbers, kHeavy when there is more behind it or too many
  Vec<int32_t> deadlines_;  // by node; empty when nothing is changed in place
  int32_t next_class_ = 0;
};

constexpr Fusion fuse(const Graph& graph, const Target& target, const FuseOptions& options = {}) {
  return Fuser(graph, target, options).run();
}

}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_FUSE_H_

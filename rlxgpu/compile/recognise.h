// recognise: finds ops that are written out, and puts the ops in their place.
//
//   Graph graph = recognise(simplify(from), kWrittenOut, target);       // rlxgpu/kernels/written_out.h
//
// One loop over the nodes, operands first, into a new graph: each node is copied, then compared with the forms that end
// with its op, on what has been copied so far, where ops in smaller forms have been found already: softmax first, then
// the attention around it. Patterns are small, so the time is linear in the graph. What a form takes the place of stays
// for those who use it, and is removed by simplify() where nobody does.
#ifndef RLXGPU_COMPILE_RECOGNISE_H_
#define RLXGPU_COMPILE_RECOGNISE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/written_out.h"

namespace rlxgpu::core {

struct Recognition {
  std::string_view name;  // WrittenOut::name
  Site site;              // of the node that it ended with
};

class Recogniser {
 public:
  constexpr Recogniser(const Graph& from, std::span<const std::span<const WrittenOut>> lists, const Target& target,
                       Vec<Recognition>* found)
      : from_(from), lists_(lists), target_(target), found_(found) {}

  constexpr Graph run() {
    Graph& to = graph();
    to.names = from_.names;
    to.words = from_.words;
    new_id_.resize(from_.values.size(), -1);
    count_uses();
    order_nodes();
    for (const int32_t n : order_) {
      const Node& node = from_.node(n);
      copy(node);
      if (node.kind == NodeKind::op && node.results.count == 1) look_at(node);
    }
    for (const Output& output : from_.outputs) to.outputs.push_back({output.name, new_id(output.value)});
    return static_cast<Graph&&>(to);
  }

 private:
  // A pattern for one rank and type.
  struct Instance {
    const WrittenOut* form = nullptr;
    DType dtype = f32;
    int rank = 0, axis = 0;
    Graph graph;
    int32_t root = -1;  // -1: there is none for this rank
  };
  struct Pair {
    int32_t pattern = -1, value = -1;
  };
  static constexpr int kMostForms = 16;  // one after the other at one node

  constexpr Graph& graph() { return builder_.graph(); }
  constexpr int32_t new_id(int32_t value) const { return new_id_[static_cast<size_t>(value)]; }

  constexpr void count_uses() {
    old_uses_.resize(from_.values.size(), 0);
    for (const Node& node : from_.nodes) {
      for (int k = 0; k < node.operands.count; ++k) ++old_uses_[static_cast<size_t>(from_.operand(node, k))];
    }
    for (const Output& output : from_.outputs) ++old_uses_[static_cast<size_t>(output.value)];
  }

  // What has a name comes first, as it was. Then what each output needs, operands first, so that what belongs together
  // comes together: a product, its bias, its activation. Where an op changes a state the order says which state is
  // read.
  constexpr void order_nodes() {
    bool in_place = false;
    for (const Node& node : from_.nodes) in_place = in_place || (node.kind == NodeKind::op && node.op->in_place >= 0);
    Vec<char> placed;
    placed.resize(from_.nodes.size(), 0);
    const auto place = [&](int32_t n) {
      if (!placed[static_cast<size_t>(n)]) order_.push_back(n);
      placed[static_cast<size_t>(n)] = 1;
    };
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      if (in_place || from_.nodes[n].kind != NodeKind::op) place(static_cast<int32_t>(n));
    }
    Vec<Pair> stack;  // a node, and which of its operands is next
    for (const Output& output : from_.outputs) {
      stack.push_back({from_.value(output.value).node, 0});
      while (!stack.empty()) {
        const Pair top = stack.back();
        const Node& node = from_.node(top.pattern);
        if (placed[static_cast<size_t>(top.pattern)] || top.value == node.operands.count) {
          place(top.pattern);
          stack.pop_back();
          continue;
        }
        ++stack.back().value;
        const int32_t operand = from_.value(from_.operand(node, top.value)).node;
        if (!placed[static_cast<size_t>(operand)]) stack.push_back({operand, 0});
      }
    }
  }

  constexpr void copy(const Node& node) {
    Graph& to = graph();
    Node copy = node;
    if (node.kind == NodeKind::scalar) to.scalars.push_back(static_cast<int32_t>(to.nodes.size()));
    copy.operands = {static_cast<int32_t>(to.operands.size()), node.operands.count};
    for (int k = 0; k < node.operands.count; ++k) {
      const int32_t operand = new_id(from_.operand(node, k));
      to.operands.push_back(operand);
      uses_so_far_.resize(to.values.size(), 0);
      ++uses_so_far_[static_cast<size_t>(operand)];
    }
    copy.attrs = {static_cast<int32_t>(to.attrs.size()), node.attrs.count};
    for (const int64_t attr : from_.attributes(node)) to.attrs.push_back(attr);
    copy.results = {static_cast<int32_t>(to.values.size()), node.results.count};
    uses_.resize(to.values.size(), 0);
    for (int k = 0; k < node.results.count; ++k) {
      const int32_t old = node.results.first + k;
      new_id_[static_cast<size_t>(old)] = copy.results.first + k;
      uses_.push_back(old_uses_[static_cast<size_t>(old)]);
      Value value = from_.value(old);
      value.node = static_cast<int32_t>(to.nodes.size());
      to.values.push_back(value);
    }
    to.nodes.push_back(copy);
  }

  constexpr void look_at(const Node& old) {
    int32_t value = new_id(old.results.first);
    for (int i = 0; i < kMostForms; ++i) {
      const int32_t better = replacement_of(value);
      if (better < 0) break;
      value = better;
    }
    new_id_[static_cast<size_t>(old.results.first)] = value;
    uses_.resize(graph().values.size(), 0);
    uses_[static_cast<size_t>(value)] = old_uses_[static_cast<size_t>(old.results.first)];
  }

  constexpr int32_t replacement_of(int32_t value) {
    const OpDef* const op = graph().producer(value).op;
    if (op == nullptr) return -1;
    for (const std::span<const WrittenOut>& list : lists_) {
      for (const WrittenOut& form : list) {
        if (form.root != op) continue;
        const int rank = graph().value(value).shape.rank();
        for (int axis = form.any_axis ? 0 : rank - 1; axis < rank || (axis == rank && rank == 0); ++axis) {
          const int32_t better = replaced_by(form, axis, value);
          if (better >= 0) return better;
          if (rank == 0) break;
        }
      }
    }
    return -1;
  }

  constexpr int32_t replaced_by(const WrittenOut& form, int axis, int32_t value) {
    const TensorType type = graph().value(value);
    const Instance& instance = instance_of(form, axis, type);
    if (instance.root < 0) return -1;
    pattern_ = &instance.graph;
    bound_.clear();
    bound_.resize(pattern_->values.size(), -1);
    trail_.clear(), pairs_.clear();
    pairs_.push_back({instance.root, value});
    if (!solve(0)) return -1;
    Match match(builder_, target_, uses_, uses_so_far_);
    match.pattern_ = pattern_, match.bound_ = &bound_, match.root_ = value, match.axis_ = axis;
    const Site site = graph().producer(value).site;
    const size_t nodes = graph().nodes.size();
    const Tensor by = form.replacement(match);
    const bool fits = graph().ok() && by.given() && by.valid() && by.id() != value &&
                      static_cast<const TensorType&>(graph().value(by.id())) == type;
    graph().error.clear();
    if (!fits) return -1;
    for (size_t n = nodes; n < graph().nodes.size(); ++n) graph().nodes[n].site = site;
    if (match.replaced_ >= 0) {
      for (int32_t& id : new_id_) id = id == match.replaced_ ? match.by_ : id;
    }
    if (found_ != nullptr) found_->push_back({form.name, site});
    return by.id();
  }

  constexpr const Instance& instance_of(const WrittenOut& form, int axis, const TensorType& type) {
    for (const Instance& known : instances_) {
      if (known.form == &form && known.dtype == type.dtype && known.rank == type.shape.rank() && known.axis == axis)
        return known;
    }
    Instance instance;
    instance.form = &form, instance.dtype = type.dtype, instance.rank = type.shape.rank(), instance.axis = axis;
    Builder builder;
    GraphPattern pattern(builder, instance.dtype, instance.rank, axis);
    const Tensor root = form.pattern(pattern);
    if (builder.ok() && root.given() && root.valid()) instance.root = root.id();
    instance.graph = static_cast<Graph&&>(builder.graph());
    instances_.push_back(instance);
    return instances_.back();
  }

  // Whether all pairs from the next one on are alike, and binds the values of the pattern. Operands that may stand in
  // two ways are tried in both, with all that is still to be compared.
  constexpr bool solve(size_t next) {
    for (; next < pairs_.size(); ++next) {
      const Pair pair = pairs_[next];
      const int32_t known = bound_[static_cast<size_t>(pair.pattern)];
      if (known >= 0) {
        if (known != pair.value) return false;
        continue;
      }
      const Node& want = pattern_->producer(pair.pattern);
      if (want.kind == NodeKind::op && want.op == &kEither) {
        const Pair ways[2] = {{pattern_->operand(want, 0), pair.value}, {pattern_->operand(want, 1), pair.value}};
        return solve_with({ways, 1}, next + 1) || solve_with({ways + 1, 1}, next + 1);
      }
      if (!alike(pair)) return false;
      bind(pair);
      if (want.kind != NodeKind::op) continue;
      const Node& have = graph().producer(pair.value);
      if (want.op->commutative && want.operands.count == 2) {
        const int32_t a = pattern_->operand(want, 0), b = pattern_->operand(want, 1);
        const int32_t x = graph().operand(have, 0), y = graph().operand(have, 1);
        const Pair straight[2] = {{a, x}, {b, y}}, crossed[2] = {{a, y}, {b, x}};
        return solve_with({straight, 2}, next + 1) || solve_with({crossed, 2}, next + 1);
      }
      for (int k = 0; k < want.operands.count; ++k) {
        pairs_.push_back({pattern_->operand(want, k), graph().operand(have, k)});
      }
    }
    return true;
  }
  constexpr bool solve_with(std::span<const Pair> more, size_t next) {
    for (const Pair& pair : more) {  // soon, since most do not fit
      const Node& want = pattern_->producer(pair.pattern);
      if (bound_[static_cast<size_t>(pair.pattern)] < 0 && want.op != &kEither && !alike(pair)) return false;
    }
    const size_t pairs = pairs_.size(), trail = trail_.size();
    for (const Pair& pair : more) pairs_.push_back(pair);
    // What was put off before comes first: `next` counts on.
    if (solve(next)) return true;
    pairs_.resize(pairs);
    while (trail_.size() > trail) {
      bound_[static_cast<size_t>(trail_.back())] = -1;
      trail_.pop_back();
    }
    return false;
  }
  constexpr void bind(const Pair& pair) {
    bound_[static_cast<size_t>(pair.pattern)] = pair.value;
    trail_.push_back(pair.pattern);
  }

  // Leaving operands aside.
  constexpr bool alike(const Pair& pair) const {
    const Graph& to = builder_.graph();
    const Node &want = pattern_->producer(pair.pattern), &have = to.producer(pair.value);
    const Value &type = pattern_->value(pair.pattern), &given = to.value(pair.value);
    const bool is_number = have.kind == NodeKind::constant && given.shape.count() == 1 && given.dtype != c64;
    switch (want.kind) {
      case NodeKind::input:
        return type.dtype == given.dtype || (is_float(type.dtype) && is_float(given.dtype));
      case NodeKind::param:
        return is_number;
      case NodeKind::constant:
        return is_number &&
               is_near(number_of(to.words[static_cast<size_t>(have.words.first)], given.dtype),
                       number_of(pattern_->words[static_cast<size_t>(want.words.first)], type.dtype), given.dtype);
      case NodeKind::op:
        break;
      default:
        return false;
    }
    if (have.kind != NodeKind::op || have.op != want.op || have.operands.count != want.operands.count) return false;
    if (pair.value != have.results.first || have.attrs.count != want.attrs.count) return false;
    const int rank = to.value(to.operand(have, 0)).shape.rank();
    for (int i = 0; i < want.attrs.count; ++i) {
      int64_t a = pattern_->attributes(want)[static_cast<size_t>(i)], b = to.attributes(have)[static_cast<size_t>(i)];
      if (want.op->axis_attrs >= 0 && i >= want.op->axis_attrs) a += a < 0 ? rank : 0, b += b < 0 ? rank : 0;
      if (a != b) return false;
    }
    return true;
  }

  // Up to a rounding or two of its type.
  static constexpr bool is_near(double have, double want, DType dtype) {
    const double most = (want < 0 ? -want : want) * (dtype == f16 ? 0x1p-10 : dtype == bf16 ? 0x1p-7 : 0x1p-22);
    const double off = have < want ? want - have : have - want;
    return off <= most;
  }

  const Graph& from_;
  std::span<const std::span<const WrittenOut>> lists_;
  const Target& target_;
  Vec<Recognition>* found_;
  Builder builder_;                  // of the new graph
  Vec<int32_t> order_;               // of the old nodes
  Vec<int32_t> new_id_;              // of each old value
  Vec<int32_t> old_uses_;            // by old value
  Vec<int32_t> uses_, uses_so_far_;  // by new value
  Vec<Instance> instances_;
  const Graph* pattern_ = nullptr;  // what is being compared
  Vec<int32_t> bound_, trail_;      // by value of the pattern; those that are bound, in order
  Vec<Pair> pairs_;
};

constexpr Graph recognise(const Graph& graph, std::span<const std::span<const WrittenOut>> lists, const Target& target,
                          Vec<Recognition>* found = nullptr) {
  return Recogniser(graph, lists, target, found).run();
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_RECOGNISE_H_

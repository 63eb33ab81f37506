// simplify: the same graph with less in it. Dead nodes go, constants are folded, what is computed twice
// is computed once, and ops that change nothing (x * 1, a reshape to the same shape) vanish.
//
// One loop over the nodes, in order, into a new graph.
#ifndef RLXGPU_COMPILE_SIMPLIFY_H_
#define RLXGPU_COMPILE_SIMPLIFY_H_

#include "rlxgpu/base/hash_index.h"
#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

constexpr Call call_of(const Graph& graph, const Node& node) {
  Call call;
  call.op = node.op;
  call.attrs = graph.attributes(node);
  call.operand_count = node.operands.count;
  call.result_count = node.results.count;
  for (int k = 0; k < node.operands.count; ++k) {
    call.operand_types[static_cast<size_t>(k)] = &graph.values[static_cast<size_t>(graph.operand(node, k))];
  }
  for (int k = 0; k < node.results.count; ++k) {
    call.result_types[static_cast<size_t>(k)] = &graph.values[static_cast<size_t>(node.results.first + k)];
  }
  return call;
}

class Simplifier {
 public:
  constexpr explicit Simplifier(const Graph& from) : from_(from) {}

  constexpr Graph run() {
    find_live();
    to_.names = from_.names;
    to_.words = from_.words;
    new_id_.resize(from_.values.size(), -1);
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      if (live_[n]) visit(from_.nodes[n]);
    }
    for (const Output& output : from_.outputs) {
      to_.outputs.push_back({output.name, new_id_[static_cast<size_t>(output.value)]});
    }
    return static_cast<Graph&&>(to_);
  }

 private:
  // Whatever an output needs; inputs and run-time numbers stay, since the user sets them by name; and
  // whatever changes a state.
  constexpr void find_live() {
    live_.resize(from_.nodes.size(), 0);
    for (const Output& output : from_.outputs) live_[static_cast<size_t>(from_.value(output.value).node)] = 1;
    for (size_t n = from_.nodes.size(); n-- > 0;) {
      const Node& node = from_.nodes[n];
      if (node.kind != NodeKind::op) {
        live_[n] = live_[n] || node.kind != NodeKind::constant;
        continue;
      }
      if (node.op->in_place >= 0) live_[n] = 1;
      if (!live_[n]) continue;
      for (int k = 0; k < node.operands.count; ++k) {
        live_[static_cast<size_t>(from_.value(from_.operand(node, k)).node)] = 1;
      }
    }
  }

  constexpr void visit(const Node& node) {
    Node copy = node;
    if (node.kind == NodeKind::constant) return visit_constant(node, copy);
    if (node.kind != NodeKind::op) {
      if (node.kind == NodeKind::scalar) to_.scalars.push_back(static_cast<int32_t>(to_.nodes.size()));
      copy_attrs(node, copy);
      append(node, copy);
      return;
    }
    int32_t operands[kMaxOperands] = {};
    for (int k = 0; k < node.operands.count; ++k) operands[k] = new_id_[static_cast<size_t>(from_.operand(node, k))];
    if (node.op->fold != nullptr && node.results.count == 1 && folded(node, operands)) return;

    Hash hash;
    for (int k = 0; k < node.operands.count; ++k) hash << static_cast<uint64_t>(operands[k]);
    for (const int64_t attr : from_.attributes(node)) hash << static_cast<uint64_t>(attr);
    for (int32_t n = index_.first(hash.value()); n >= 0; n = index_.next()) {
      const Node& known = to_.node(n);
      if (!same(known, node, operands)) continue;
      for (int k = 0; k < node.results.count; ++k) new_id_[static_cast<size_t>(node.results.first + k)] = known.results.first + k;
      return;
    }
    if (node.op->in_place < 0) index_.insert(hash.value(), static_cast<int32_t>(to_.nodes.size()));
    copy.operands = {static_cast<int32_t>(to_.operands.size()), node.operands.count};
    for (int k = 0; k < node.operands.count; ++k) to_.operands.push_back(operands[k]);
    copy_attrs(node, copy);
    append(node, copy);
  }

  // Equal numbers are one number, so that what is computed from them can be found to be equal.
  constexpr void visit_constant(const Node& node, Node& copy) {
    const Value& value = from_.value(node.results.first);
    if (value.shape.count() != 1) return append(node, copy);
    Hash hash;
    hash << to_.words[static_cast<size_t>(copy.words.first)] << static_cast<uint64_t>(value.dtype);
    for (int32_t n = index_.first(hash.value()); n >= 0; n = index_.next()) {
      const Node& known = to_.node(n);
      if (!same_number(known, copy, value)) continue;
      new_id_[static_cast<size_t>(node.results.first)] = known.results.first;
      return;
    }
    index_.insert(hash.value(), static_cast<int32_t>(to_.nodes.size()));
    append(node, copy);
  }
  constexpr bool same_number(const Node& known, const Node& copy, const TensorType& type) const {
    if (known.kind != NodeKind::constant || known.words.count != copy.words.count) return false;
    if (!(static_cast<const TensorType&>(to_.value(known.results.first)) == type)) return false;
    for (int i = 0; i < copy.words.count; ++i) {
      if (to_.words[static_cast<size_t>(known.words.first + i)] != to_.words[static_cast<size_t>(copy.words.first + i)]) return false;
    }
    return true;
  }

  constexpr void copy_attrs(const Node& node, Node& copy) {
    copy.attrs = {static_cast<int32_t>(to_.attrs.size()), node.attrs.count};
    for (const int64_t attr : from_.attributes(node)) to_.attrs.push_back(attr);
  }

  constexpr void append(const Node& node, Node& copy) {
    copy.results = {static_cast<int32_t>(to_.values.size()), node.results.count};
    for (int k = 0; k < node.results.count; ++k) {
      new_id_[static_cast<size_t>(node.results.first + k)] = copy.results.first + k;
      Value value = from_.value(node.results.first + k);
      value.node = static_cast<int32_t>(to_.nodes.size());
      to_.values.push_back(value);
    }
    to_.nodes.push_back(copy);
  }

  constexpr bool folded(const Node& node, const int32_t* operands) {
    const Call call = call_of(from_, node);
    Fold fold(to_, call, {operands, static_cast<size_t>(node.operands.count)});
    if (!node.op->fold(fold)) return false;
    if (fold.same_as() >= 0) {
      // A state is not what was the same before an op changes it in place.
      const Node& from = to_.producer(operands[fold.same_as()]);
      if (from.kind == NodeKind::state || (from.kind == NodeKind::op && from.op->in_place >= 0)) return false;
      new_id_[static_cast<size_t>(node.results.first)] = operands[fold.same_as()];
      return true;
    }
    Node constant;
    constant.kind = NodeKind::constant;
    constant.site = node.site;
    constant.words = {static_cast<int32_t>(to_.words.size()), 1};
    to_.words.push_back(word_of(fold.number(), call.result().dtype));
    constant.results = node.results;
    visit_constant(node, constant);
    return true;
  }

  constexpr bool same(const Node& known, const Node& node, const int32_t* operands) const {
    if (known.op != node.op || known.operands.count != node.operands.count || known.attrs.count != node.attrs.count) return false;
    for (int k = 0; k < node.operands.count; ++k) {
      if (to_.operand(known, k) != operands[k]) return false;
    }
    for (int i = 0; i < node.attrs.count; ++i) {
      if (to_.attributes(known)[static_cast<size_t>(i)] != from_.attributes(node)[static_cast<size_t>(i)]) return false;
    }
    return true;
  }

  const Graph& from_;
  Graph to_;
  Vec<char> live_;
  Vec<int32_t> new_id_;  // of each old value
  HashIndex index_;      // nodes of the new graph
};

constexpr Graph simplify(const Graph& graph) { return Simplifier(graph).run(); }

// Why a graph cannot become a program, or nothing.
constexpr Text error_of(const Graph& graph) {
  Text error = graph.error;
  bool does = !graph.outputs.empty();
  for (size_t n = 0; !does && n < graph.nodes.size(); ++n) {
    does = graph.nodes[n].kind == NodeKind::op && graph.nodes[n].op->in_place >= 0;
  }
  if (error.empty() && !does) error << "the graph has no output and changes no state";
  return error;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_SIMPLIFY_H_

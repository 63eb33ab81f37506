// extract_group: one group of a fused graph as a graph of its own, so that it can be run by itself.
//
// Values that other groups store become inputs; weights, states, run-time numbers and constants stay what they
// are, and views between them and the group come along, so that operands have the strides they had.
#ifndef RLXGPU_COMPILE_EXTRACT_H_
#define RLXGPU_COMPILE_EXTRACT_H_

#include "rlxgpu/compile/fuse.h"
#include "rlxgpu/graph/graph.h"

namespace rlxgpu::core {

class GroupExtractor {
 public:
  constexpr GroupExtractor(const Graph& from, const Fusion& fusion, int32_t root)
      : from_(from), fusion_(fusion), root_(root) {}

  // `origin`: gets, for each value of the result, which one it is in the graph.
  constexpr Graph run(Vec<int32_t>* origin = nullptr) {
    begin();
    for (int count = 0; root_ >= 0; root_ = fusion_.next[static_cast<size_t>(root_)]) {
      const Range results = from_.node(root_).results;
      take(results.first);
      for (int k = 0; k < results.count; ++k)
        to_.outputs.push_back({named("result ", count++), new_id(results.first + k)});
    }
    return end(origin);
  }
  // What is copied, and maps and views before it that nobody stores; `root` is -1.
  constexpr Graph copy_of(int32_t value, Vec<int32_t>* origin = nullptr) {
    begin();
    take(value);
    to_.outputs.push_back({named("result ", 0), new_id(value)});
    return end(origin);
  }

 private:
  constexpr void begin() {
    new_id_.resize(from_.values.size(), -1);
    to_.names = from_.names;
    for (const int32_t scalar : from_.scalars) {  // all of them: shapes know them by their number
      copy(from_.node(scalar));
      to_.scalars.push_back(static_cast<int32_t>(to_.nodes.size()) - 1);
    }
  }
  constexpr Graph end(Vec<int32_t>* origin) {
    if (origin != nullptr) {
      origin->resize(to_.values.size(), -1);
      for (size_t v = 0; v < new_id_.size(); ++v) {
        if (new_id_[v] >= 0) (*origin)[static_cast<size_t>(new_id_[v])] = static_cast<int32_t>(v);
      }
    }
    return static_cast<Graph&&>(to_);
  }
  constexpr int32_t& new_id(int32_t value) { return new_id_[static_cast<size_t>(value)]; }
  constexpr Range named(std::string_view what, int64_t number) {
    const auto first = static_cast<int32_t>(to_.names.size());
    to_.names << what << number;
    return {first, static_cast<int32_t>(to_.names.size()) - first};
  }
  constexpr void take(int32_t value) {
    if (new_id(value) >= 0) return;
    const Node& node = from_.producer(value);
    const bool inside =
        node.kind == NodeKind::op && (!fusion_.stored[static_cast<size_t>(value)] || from_.value(value).node == root_);
    if (node.kind == NodeKind::op && !inside) return add_input(value);
    if (inside) {
      for (int k = 0; k < node.operands.count; ++k) take(from_.operand(node, k));
    }
    copy(node);
  }
  constexpr void add_input(int32_t value) {
    Node input;
    input.kind = NodeKind::input;
    input.name = named("value ", value);
    add(input, value, 1);
  }
  constexpr void copy(const Node& node) {
    Node made = node;
    made.operands.first = static_cast<int32_t>(to_.operands.size());
    for (int k = 0; k < node.operands.count; ++k) to_.operands.push_back(new_id(from_.operand(node, k)));
    made.attrs.first = static_cast<int32_t>(to_.attrs.size());
    for (const int64_t attr : from_.attributes(node)) to_.attrs.push_back(attr);
    made.words.first = static_cast<int32_t>(to_.words.size());
    for (int i = 0; i < node.words.count; ++i)
      to_.words.push_back(from_.words[static_cast<size_t>(node.words.first + i)]);
    add(made, node.results.first, node.results.count);
  }
  constexpr void add(Node& node, int32_t first_value, int32_t count) {
    node.results = {static_cast<int32_t>(to_.values.size()), count};
    for (int k = 0; k < count; ++k) {
      new_id(first_value + k) = static_cast<int32_t>(to_.values.size());
      Value value = from_.value(first_value + k);
      value.node = static_cast<int32_t>(to_.nodes.size());
      to_.values.push_back(value);
    }
    to_.nodes.push_back(node);
  }

  const Graph& from_;
  const Fusion& fusion_;
  int32_t root_;  // of those that the group writes, the one that is being taken
  Graph to_;
  Vec<int32_t> new_id_;  // by value of from_
};

// `root`: a node with Fusion::root.
constexpr Graph extract_group(const Graph& graph, const Fusion& fusion, int32_t root, Vec<int32_t>* origin = nullptr) {
  return GroupExtractor(graph, fusion, root).run(origin);
}

// An output that is a copy of `value`.
constexpr Graph extract_copy(const Graph& graph, const Fusion& fusion, int32_t value, Vec<int32_t>* origin = nullptr) {
  return GroupExtractor(graph, fusion, -1).copy_of(value, origin);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_EXTRACT_H_

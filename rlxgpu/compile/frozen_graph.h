// FrozenGraph: a graph as a constant, so that the compiler does the work of the next pass with a fresh
// budget of evaluation steps, and traces a graph type once for all targets.
//
//   constexpr NamedTensor x = find_tensor<Mlp>("x");      // what the graph says of it; no program is made
//
// A graph of more than kNodesAtOnce nodes is traced in parts, each a constant evaluation of its own: it runs build()
// from the beginning, but records only what the part before it does not hold (Builder::resume).
#ifndef RLXGPU_COMPILE_FROZEN_GRAPH_H_
#define RLXGPU_COMPILE_FROZEN_GRAPH_H_

#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"

namespace rlxgpu {

// A pool of fixed size; one element at least, for arrays may not be empty.
template <typename T, size_t kSize>
struct FrozenPool {
  T items[kSize == 0 ? 1 : kSize] = {};
  constexpr void fill(const T* from, size_t size = kSize) { copy_items(items, from, size); }
  constexpr std::span<const T> view() const { return {items, kSize}; }
  constexpr Vec<T> thaw(size_t size) const {
    Vec<T> vec;
    vec.assign(items, size);
    return vec;
  }
};

struct GraphSizes {
  size_t nodes = 0, values = 0, operands = 0, attrs = 0, words = 0, outputs = 0, scalars = 0, names = 0, error = 0;
  size_t named = 0;      // inputs, weights, states and run-time numbers; outputs
  bool stopped = false;  // there are more nodes, which the next part records
};

constexpr GraphSizes sizes_of(const Graph& g) {
  return {g.nodes.size(),   g.values.size(),  g.operands.size(), g.attrs.size(), g.words.size(),
          g.outputs.size(), g.scalars.size(), g.names.size(),    g.error.size()};
}

// Holds any graph of at most these sizes.
template <GraphSizes kMost>
struct FrozenGraph {
  GraphSizes sizes;
  FrozenPool<Node, kMost.nodes> nodes;
  FrozenPool<Value, kMost.values> values;
  FrozenPool<int32_t, kMost.operands> operands;
  FrozenPool<int64_t, kMost.attrs> attrs;
  FrozenPool<uint32_t, kMost.words> words;
  FrozenPool<Output, kMost.outputs> outputs;
  FrozenPool<int32_t, kMost.scalars> scalars;
  FrozenPool<char, kMost.names> names;

  constexpr explicit FrozenGraph(const Graph& g) : sizes(sizes_of(g)) {
    nodes.fill(g.nodes.data(), sizes.nodes), values.fill(g.values.data(), sizes.values);
    operands.fill(g.operands.data(), sizes.operands), attrs.fill(g.attrs.data(), sizes.attrs);
    words.fill(g.words.data(), sizes.words), outputs.fill(g.outputs.data(), sizes.outputs);
    scalars.fill(g.scalars.data(), sizes.scalars), names.fill(g.names.view().data(), sizes.names);
    for (Node& node : nodes.items) node.site = Site();  // its errors have been said
  }
  constexpr Graph thaw() const {
    Graph g;
    g.nodes = nodes.thaw(sizes.nodes), g.values = values.thaw(sizes.values), g.operands = operands.thaw(sizes.operands);
    g.attrs = attrs.thaw(sizes.attrs), g.words = words.thaw(sizes.words), g.outputs = outputs.thaw(sizes.outputs);
    g.scalars = scalars.thaw(sizes.scalars);
    g.names << std::string_view(names.items, sizes.names);
    return g;
  }
};

// What a graph says of an input, a weight, a state, a run-time number (of rank 0) or an output.
struct NamedTensor {
  Range name;
  NodeKind kind = NodeKind::op;  // op: an output
  bool found = false;
  TensorType type;
};

namespace internal {

template <typename G>
constexpr Graph trace() {
  Builder builder;
  G::build(builder);
  return static_cast<Graph&&>(builder.graph());
}

// A node takes clang 100 to 300 steps, of a million; one that is not recorded takes 50.
inline constexpr size_t kNodesAtOnce = 3000;
inline constexpr size_t kWhole = SIZE_MAX;  // as a part: the graph in one evaluation

template <typename G, size_t kPart>
struct FrozenPart;

constexpr bool is_named(NodeKind kind) { return kind <= NodeKind::scalar; }

template <typename G, size_t kPart>
constexpr bool trace_part(Builder& builder) {
  if constexpr (kPart == kWhole || kPart == 0) {
    builder.resume({}, kPart == kWhole ? SIZE_MAX : kNodesAtOnce);
  } else {
    builder.resume(FrozenPart<G, kPart - 1>::graph.thaw(), (kPart + 1) * kNodesAtOnce);
  }
  G::build(builder);
  Graph& graph = builder.graph();
  if (builder.stopped()) {
    graph.error.clear();
  } else {
    graph.error = error_of(graph);
  }
  return builder.stopped();
}

template <typename G, size_t kPart>
constexpr GraphSizes part_sizes() {
  Builder builder;
  const bool stopped = trace_part<G, kPart>(builder);
  GraphSizes sizes = sizes_of(builder.graph());
  sizes.stopped = stopped;
  sizes.named = sizes.outputs;
  for (const Node& node : builder.graph().nodes) sizes.named += is_named(node.kind);
  return sizes;
}

// The sizes of a part are a template argument: where the compiler's limits do not allow to compute them, another
// overload is chosen, and we can say so in our words.
template <GraphSizes kSizes>
struct FoundSizes {
  static constexpr GraphSizes kValue = kSizes;
  static constexpr bool kFound = true;
};
struct NoSizes {
  static constexpr GraphSizes kValue = {};
  static constexpr bool kFound = false;
};
template <typename G, size_t kPart>
struct PartTag {};
template <typename G, size_t kPart>
auto find_part_sizes(PartTag<G, kPart>*) -> FoundSizes<part_sizes<G, kPart>()>;
NoSizes find_part_sizes(...);

template <typename G, size_t kPart>
using PartSizes = decltype(find_part_sizes(static_cast<PartTag<G, kPart>*>(nullptr)));

// A part that is not the last, for the next one.
template <typename G, size_t kPart>
struct FrozenPart {
  static constexpr FrozenGraph<PartSizes<G, kPart>::kValue> graph = [] {
    Builder builder;
    trace_part<G, kPart>(builder);
    return FrozenGraph<PartSizes<G, kPart>::kValue>(builder.graph());
  }();
};

// The part that holds all of the graph. Code that cannot go on with tensors of unknown shape, as it must after the last
// node of a part, is traced in one evaluation.
template <typename G, size_t kPart = 0>
constexpr size_t last_part() {
  if constexpr (!PartSizes<G, kPart>::kFound) {
    return kWhole;
  } else if constexpr (PartSizes<G, kPart>::kValue.stopped) {
    return last_part<G, kPart + 1>();
  } else {
    return kPart;
  }
}

template <typename G>
inline constexpr size_t kLastPart = last_part<G>();
template <typename G>
inline constexpr bool kIsTraced = PartSizes<G, kLastPart<G>>::kFound;
template <typename G>
inline constexpr GraphSizes kTracedSizes = PartSizes<G, kLastPart<G>>::kValue;

// All that has a name, in the order of the graph; outputs last.
template <size_t kCount, size_t kChars>
struct FrozenNames {
  FrozenPool<NamedTensor, kCount> tensors;
  FrozenPool<char, kChars> names;

  constexpr explicit FrozenNames(const Graph& g) {
    size_t count = 0;
    for (const Node& node : g.nodes) {
      if (is_named(node.kind))
        tensors.items[count++] = {node.name, node.kind, true, g.values[static_cast<size_t>(node.results.first)]};
    }
    for (const Output& output : g.outputs) {
      tensors.items[count++] = {output.name, NodeKind::op, true, g.values[static_cast<size_t>(output.value)]};
    }
    names.fill(g.names.view().data());
  }
  constexpr NamedTensor find(std::string_view name, bool scalar) const {
    for (size_t i = kCount; i-- > 0;) {
      const NamedTensor& tensor = tensors.items[i];
      if ((tensor.kind == NodeKind::scalar) != scalar || static_cast<size_t>(tensor.name.count) != name.size())
        continue;
      if (std::string_view(names.items + tensor.name.first, name.size()) == name) return tensor;
    }
    return {};
  }
};
template <typename G>
constexpr Graph trace_all() {
  Builder builder;
  trace_part<G, kLastPart<G>>(builder);
  return static_cast<Graph&&>(builder.graph());
}
template <typename G>
inline constexpr FrozenNames<kTracedSizes<G>.named, kTracedSizes<G>.names> kNames{trace_all<G>()};

// A simplified graph has no more of anything than the graph it comes from, but for the words of constants
// that were folded: one for each node at the most.
constexpr GraphSizes simplified_sizes(GraphSizes sizes) {
  sizes.words += sizes.nodes;
  return sizes;
}
template <typename G>
inline constexpr FrozenGraph<simplified_sizes(kTracedSizes<G>)> kFrozenGraph{simplify(trace_all<G>())};

}  // namespace internal

// By name: an output, input, weight or state; a run-time number or extent.
template <typename G>
constexpr NamedTensor find_tensor(std::string_view name) {
  return internal::kNames<G>.find(name, false);
}
template <typename G>
constexpr NamedTensor find_scalar(std::string_view name) {
  return internal::kNames<G>.find(name, true);
}

}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_FROZEN_GRAPH_H_

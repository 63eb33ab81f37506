// FrozenGraph: a graph as a constant, so that the compiler does the work of the next pass with a fresh
// budget of evaluation steps, and traces a graph type once for all targets.
//
//   constexpr NamedTensor x = find_tensor<Mlp>("x");      // what the graph says of it; no program is made
//
// A graph of more than kManyNodes nodes is traced in parts, each a constant evaluation of its own: it runs build()
// from the beginning, but records only what the part before it does not hold (Builder::resume).
#ifndef RLXGPU_COMPILE_FROZEN_GRAPH_H_
#define RLXGPU_COMPILE_FROZEN_GRAPH_H_

#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"

namespace rlxgpu::core {

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

// How many nodes one evaluation records. To record a node takes clang 150 to 500 steps, of a million; to pass over it a
// third of that. So most graphs take one evaluation. Where a graph takes too many steps with the first number, the
// second is tried, then all nodes at once: for code that cannot go on with tensors of unknown shape, as it must after
// the last node of a part.
inline constexpr size_t kManyNodes = 2000, kFewNodes = 500, kAllNodes = SIZE_MAX;
inline constexpr size_t kNoPart = SIZE_MAX;

template <typename G, size_t kNodes, size_t kPart>
struct FrozenPart;

constexpr bool is_named(NodeKind kind) { return kind <= NodeKind::scalar; }

template <typename G, size_t kNodes, size_t kPart>
constexpr bool trace_part(Builder& builder) {
  if constexpr (kPart == 0) {
    builder.resume({}, kNodes);
  } else {
    builder.resume(FrozenPart<G, kNodes, kPart - 1>::graph.thaw(), (kPart + 1) * kNodes);
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

template <typename G, size_t kNodes, size_t kPart>
constexpr GraphSizes part_sizes() {
  Builder builder;
  const bool stopped = trace_part<G, kNodes, kPart>(builder);
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
template <typename G, size_t kNodes, size_t kPart>
struct Part {};
template <typename G, size_t kNodes, size_t kPart>
auto find_part_sizes(Part<G, kNodes, kPart>*) -> FoundSizes<part_sizes<G, kNodes, kPart>()>;
NoSizes find_part_sizes(...);

template <typename G, size_t kNodes, size_t kPart>
using PartSizes = decltype(find_part_sizes(static_cast<Part<G, kNodes, kPart>*>(nullptr)));

// A part that is not the last, for the next one.
template <typename G, size_t kNodes, size_t kPart>
struct FrozenPart {
  using Frozen = FrozenGraph<PartSizes<G, kNodes, kPart>::kValue>;
  static constexpr Frozen graph = [] {
    Builder builder;
    trace_part<G, kNodes, kPart>(builder);
    return Frozen(builder.graph());
  }();
};

// The part that holds all of the graph, or kNoPart.
template <typename G, size_t kNodes, size_t kPart = 0>
constexpr size_t last_part() {
  if constexpr (!PartSizes<G, kNodes, kPart>::kFound) {
    return kNoPart;
  } else if constexpr (PartSizes<G, kNodes, kPart>::kValue.stopped) {
    return last_part<G, kNodes, kPart + 1>();
  } else {
    return kPart;
  }
}

template <typename G, size_t kNodes, size_t kPart>
struct TracedBy {
  static constexpr GraphSizes kSizes = PartSizes<G, kNodes, kPart>::kValue;
  static constexpr bool kFound = true;
  static constexpr Graph trace() {
    Builder builder;
    trace_part<G, kNodes, kPart>(builder);
    return static_cast<Graph&&>(builder.graph());
  }
};
struct NotTraced {
  static constexpr GraphSizes kSizes = {};
  static constexpr bool kFound = false;
};
// How a graph can be traced, with the first number of nodes that will do.
template <typename G, size_t kNodes, size_t... kNext>
constexpr auto find_trace() {
  constexpr size_t kLast = last_part<G, kNodes>();
  if constexpr (kLast != kNoPart) {
    return TracedBy<G, kNodes, kLast>();
  } else if constexpr (sizeof...(kNext) > 0) {
    return find_trace<G, kNext...>();
  } else {
    return NotTraced();
  }
}
template <typename G>
using Traced = decltype(find_trace<G, kManyNodes, kFewNodes, kAllNodes>());

template <typename G>
inline constexpr bool kIsTraced = Traced<G>::kFound;
// Of a graph that is not traced: its beginning can be, so it is only too large.
template <typename G>
inline constexpr bool kIsTooLarge = PartSizes<G, 50, 0>::kValue.stopped;
template <typename G>
inline constexpr GraphSizes kTracedSizes = Traced<G>::kSizes;

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
inline constexpr FrozenNames<kTracedSizes<G>.named, kTracedSizes<G>.names> kNames{Traced<G>::trace()};

// A simplified graph has no more of anything than the graph it comes from, but for the words of constants
// that were folded: one for each node at the most.
constexpr GraphSizes simplified_sizes(GraphSizes sizes) {
  sizes.words += sizes.nodes;
  return sizes;
}
template <typename G>
inline constexpr FrozenGraph<simplified_sizes(kTracedSizes<G>)> kFrozenGraph{simplify(Traced<G>::trace())};

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

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_FROZEN_GRAPH_H_

// FrozenGraph: a graph as a constant, so that the compiler does the work of the next pass with a fresh
// budget of evaluation steps, and traces a graph type once for all targets.
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
  constexpr void fill(const T* from, size_t size = kSize) {
    for (size_t i = 0; i < size; ++i) items[i] = from[i];
  }
  constexpr std::span<const T> view() const { return {items, kSize}; }
  constexpr Vec<T> thaw(size_t size) const {
    Vec<T> vec;
    vec.assign(items, size);
    return vec;
  }
};

struct GraphSizes {
  size_t nodes = 0, values = 0, operands = 0, attrs = 0, words = 0, outputs = 0, scalars = 0, names = 0, error = 0;
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

namespace internal {

template <typename G>
constexpr Graph trace() {
  Builder builder;
  G::build(builder);
  return static_cast<Graph&&>(builder.graph());
}

// A simplified graph has no more of anything than the graph it comes from, but for the words of constants
// that were folded: one for each node at the most. So the sizes need a trace only.
template <typename G>
inline constexpr GraphSizes kGraphSizes = [] {
  GraphSizes sizes = sizes_of(trace<G>());
  sizes.words += sizes.nodes;
  return sizes;
}();

template <typename G>
inline constexpr FrozenGraph<kGraphSizes<G>> kFrozenGraph{simplify(trace<G>())};

}  // namespace internal

}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_FROZEN_GRAPH_H_

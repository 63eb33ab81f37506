// Graph: nodes, the values they produce, and the first mistake found while building it.
//
// Plain data in flat arrays, in the order the user wrote it, so that every pass is one loop. Built by
// Builder (builder.h), read by compile/. A node's operands, attributes and results are ranges of the
// pools; names are ranges of one text.
#ifndef RLXGPU_GRAPH_GRAPH_H_
#define RLXGPU_GRAPH_GRAPH_H_

#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>

#include "rlxgpu/base/span.h"
#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/shape.h"

namespace rlxgpu::core {

struct OpDef;

// A piece of a pool: [first, first + count).
struct Range {
  int32_t first = 0;
  int32_t count = 0;
  constexpr bool operator==(const Range&) const = default;
};

// Where the user wrote a thing: a last parameter `Site site = std::source_location::current()`.
struct Site {
  const char* file = "";
  uint32_t line = 0;
  const char* called = "";  // the function the user called, where messages shall not name the op behind it
  constexpr Site() = default;
  constexpr Site(std::source_location location) : file(location.file_name()), line(location.line()) {}
  constexpr Site as(const char* function) const {
    Site site = *this;
    if (*called == 0) site.called = function;  // the outermost
    return site;
  }
};

// What is known of a tensor before it has data.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  constexpr bool operator==(const TensorType&) const = default;
};

enum class NodeKind : uint8_t {
  input,     // set before every run
  param,     // a weight: set once
  state,     // kept from run to run, zero at first, changed by ops that work in place
  scalar,    // a run-time number: an immediate, or the run-time extent of an axis
  constant,  // its words are in the graph
  op,
};

struct Value : TensorType {
  int32_t node = -1;
  bool changed = false;  // an op has changed its buffer in place: it is no more
};

struct Node {
  NodeKind kind = NodeKind::op;
  const OpDef* op = nullptr;
  Range operands = {};   // of Graph::operands: value ids
  Range attrs = {};      // of Graph::attrs
  Range results = {};    // of Graph::values
  Range name = {};       // of Graph::names; of inputs, params and scalars
  Range words = {};      // of Graph::words; of constants, in storage layout
  int32_t scalar = -1;  // which run-time number this is
  Site site = {};
};

struct Output {
  Range name;
  int32_t value = -1;
};

struct Graph {
  Vec<Node> nodes;
  Vec<Value> values;
  Vec<int32_t> operands;
  Vec<int64_t> attrs;
  Vec<uint32_t> words;
  Vec<Output> outputs;
  Vec<int32_t> scalars;  // nodes of the run-time numbers, in the order of Node::scalar
  Text names;
  Text error;  // empty, or one line: "file:line: op(shapes): what is wrong"

  constexpr bool ok() const { return error.empty(); }
  constexpr std::string_view name(Range range) const {
    return names.view().substr(static_cast<size_t>(range.first), static_cast<size_t>(range.count));
  }
  constexpr int32_t operand(const Node& node, int k) const {
    return operands[static_cast<size_t>(node.operands.first + k)];
  }
  constexpr const Value& value(int32_t id) const { return values[static_cast<size_t>(id)]; }
  constexpr const Node& node(int32_t id) const { return nodes[static_cast<size_t>(id)]; }
  constexpr const Node& producer(int32_t value_id) const { return node(value(value_id).node); }
  constexpr Span<int64_t> attributes(const Node& node) const {
    return {attrs.data() + node.attrs.first, static_cast<size_t>(node.attrs.count)};
  }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_GRAPH_GRAPH_H_

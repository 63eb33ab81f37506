// reference::run evaluates a graph by the reference of each op: what every program for it must compute.
//
//   reference::Arrays y = reference::run(graph, {{"x", reference::array_of(f32, {2, 3}, {1, 2, 3, 4, 5, 6})}});
//   double first = y.at("y")[0];
//
// In double, one node after the other, each result rounded to its storage type as a store would (so a fused chain of
// f16 ops, which rounds once, may be closer to the truth). Arrays have the actual sizes: a run-time extent is given
// by its name among `numbers`, and shapes follow. What is missing or does not fit is said in RunOptions::error, and
// then there are no results; without that it ends the program.
#ifndef RLXGPU_REFERENCE_INTERPRETER_H_
#define RLXGPU_REFERENCE_INTERPRETER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/reference/op_error.h"
#include "rlxgpu/reference/shaker.h"
#include "rlxgpu/reference/storage.h"

namespace rlxgpu::core::reference {

using Arrays = std::map<std::string, Array, std::less<>>;
using Numbers = std::map<std::string, double, std::less<>>;

struct RunOptions {
  Numbers numbers = {};      // scalars and run-time extents
  Arrays* states = nullptr;  // before the run, and after it; one that is missing is zero
  bool round = true;         // false: keep every result in double
  std::function<void(const Node&, Array&)> after_each = {};  // may change an op's result, before it is rounded
  std::function<bool(const Node&, Call&)> compute =
      {};                        // true: it has filled in the results, in place of the reference
  std::string* error = nullptr;  // gets the first sentence about what is wrong
  Shaker* shaker = nullptr;      // makes every op as wrong as it may be; then `round` is its own affair
};

class Interpreter {
 public:
  Interpreter(const Graph& graph, const Arrays& inputs, const RunOptions& options)
      : graph_(graph),
        inputs_(inputs),
        options_(options),
        values_(graph.values.size()),
        buffers_(graph.values.size(), -1) {
    if (!graph.ok()) fail(std::string(graph.error.view()));
  }

  Arrays run() {
    for (size_t n = 0; n < graph_.nodes.size() && error_.empty(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.kind == NodeKind::op) {
        evaluate(node);
      } else {
        at(node.results.first) = source(node);
        if (node.kind == NodeKind::state) buffers_[static_cast<size_t>(node.results.first)] = node.results.first;
      }
    }
    if (!error_.empty()) {
      if (options_.error == nullptr) misuse(error_.c_str());
      *options_.error = error_;
      return {};
    }
    keep_states();
    Arrays outputs;
    for (const Output& output : graph_.outputs) outputs[std::string(graph_.name(output.name))] = at(output.value);
    return outputs;
  }

 private:
  void fail(std::string sentence) {
    if (error_.empty()) error_ = std::move(sentence);
  }
  Array& at(int32_t value) { return values_[static_cast<size_t>(value)]; }

  double number(const Node& scalar) {
    const std::string_view name = graph_.name(scalar.name);
    const auto found = options_.numbers.find(name);
    if (found != options_.numbers.end()) return found->second;
    fail("no number for \"" + std::string(name) + "\"");
    return 0;
  }

  // With the extents of this run.
  Shape actual(const Shape& shape) {
    Shape result;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int symbol = shape.symbol(axis);
      const double extent = symbol < 0 ? static_cast<double>(shape[axis])
                                       : number(graph_.node(graph_.scalars[static_cast<size_t>(symbol)]));
      const bool fits = extent >= 0 && extent <= static_cast<double>(shape[axis]);
      if (!fits) fail("a run-time extent is too large");
      result.push_back(Dim(fits ? static_cast<int64_t>(extent) : 0));
    }
    return result;
  }

  Array source(const Node& node) {
    const Value& value = graph_.value(node.results.first);
    const Shape shape = actual(value.shape);
    const std::string_view name = graph_.name(node.name);
    if (node.kind == NodeKind::constant) {
      const std::span<const uint32_t> words(graph_.words.data() + node.words.first,
                                            static_cast<size_t>(node.words.count));
      return unpack(value.dtype, shape, words);
    }
    if (node.kind == NodeKind::scalar) return array_of(value.dtype, shape, {rounded(number(node), value.dtype)});
    const bool state = node.kind == NodeKind::state;
    const Arrays* given = state ? options_.states : &inputs_;
    if (given == nullptr || !given->contains(name)) {
      if (state) return Array(value.dtype, shape);
      fail("no values for \"" + std::string(name) + "\"");
      return Array(value.dtype, shape);
    }
    Array array = given->find(name)->second;
    if (array.dtype != value.dtype || !(array.shape == shape)) {
      Text text;
      text << '"' << name << "\" is " << name_of(value.dtype) << shape << ", not " << name_of(array.dtype)
           << array.shape;
      fail(std::string(text.view()));
      return Array(value.dtype, shape);
    }
    if (options_.round) round_to_storage(array);
    return array;
  }

  void evaluate(const Node& node) {
    Call call;
    call.op = node.op;
    call.attrs = graph_.attributes(node);
    for (int k = 0; k < node.operands.count; ++k) call.operands.push_back(&at(graph_.operand(node, k)));
    for (int32_t id = node.results.first; id < node.results.first + node.results.count; ++id) {
      at(id) = Array(graph_.value(id).dtype, actual(graph_.value(id).shape));
      call.results.push_back(&at(id));
    }
    if (options_.shaker != nullptr) {
      options_.shaker->evaluate(call, error_of(call), [&](Call& shaken) { compute(node, shaken); });
    } else {
      compute(node, call);
    }
    for (Array* result : call.results) {
      if (options_.after_each) options_.after_each(node, *result);
      if (options_.round && options_.shaker == nullptr) round_to_storage(*result);
    }
    if (node.op->in_place >= 0) {
      const int32_t changed = graph_.operand(node, node.op->in_place);
      buffers_[static_cast<size_t>(node.results.first)] = buffers_[static_cast<size_t>(changed)];
    }
  }

  void compute(const Node& node, Call& call) {
    if (options_.compute && options_.compute(node, call)) return;
    if (node.op->reference == nullptr) return fail(std::string(node.op->name) + " has no reference");
    node.op->reference(call);
  }

  // A state holds what the last op that worked in place left in it.
  void keep_states() {
    if (options_.states == nullptr) return;
    for (size_t value = 0; value < buffers_.size(); ++value) {
      if (buffers_[value] < 0) continue;
      const Node& state = graph_.producer(buffers_[value]);
      (*options_.states)[std::string(graph_.name(state.name))] = values_[value];
    }
  }

  const Graph& graph_;
  const Arrays& inputs_;
  const RunOptions& options_;
  std::string error_;
  std::vector<Array> values_;
  std::vector<int32_t> buffers_;  // of a value: the state whose memory it is, or -1
};

inline Arrays run(const Graph& graph, const Arrays& inputs, const RunOptions& options = {}) {
  return Interpreter(graph, inputs, options).run();
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_REFERENCE_INTERPRETER_H_

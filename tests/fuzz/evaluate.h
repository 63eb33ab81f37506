// Evaluator: the values of a graph by its ops' references, in double precision, exactly as defined or with
// every op as wrong as it may be (op_error.h).
//
//   Evaluator exact(graph, seed);               exact.run();     exact.value(graph.outputs[0].value)
//   Evaluator shaken(graph, seed, &shaker);     shaken.run();    // one possible outcome on a device
//
// Exact: every result is rounded to its storage type, as reference::run does. Shaken: as rlxgpu/reference/shaker.h
// does. Tensors have their present extents. run() may be called again after the graph has grown.
#ifndef RLXGPU_TESTS_FUZZ_EVALUATE_H_
#define RLXGPU_TESTS_FUZZ_EVALUATE_H_

#include <cstdint>
#include <vector>

#include "rlxgpu/graph/graph.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/reference/shaker.h"
#include "rlxgpu/reference/storage.h"
#include "tests/fuzz/data.h"
#include "tests/fuzz/op_error.h"

namespace rlxgpu::core::fuzz {

class Evaluator {
 public:
  Evaluator(const Graph& graph, uint64_t seed, reference::Shaker* shaker = nullptr)
      : graph_(graph), seed_(seed), shaker_(shaker) {}

  void run() {
    values_.resize(graph_.values.size());
    for (; done_ < graph_.nodes.size(); ++done_) node(graph_.nodes[done_]);
  }
  const Array& value(int32_t id) const { return values_[static_cast<size_t>(id)]; }

  Shape present(const Shape& built) const {
    Shape shape;
    for (int axis = 0; axis < built.rank(); ++axis) {
      shape.push_back(built.symbol(axis) < 0 ? Dim(built[axis]) : Dim(scalar(built.symbol(axis))));
    }
    return shape;
  }

 private:
  int64_t scalar(int symbol) const {
    const Node& node = graph_.node(graph_.scalars[static_cast<size_t>(symbol)]);
    return static_cast<int64_t>(value(node.results.first)[0]);
  }
  TensorType type_of(int32_t id) const { return {graph_.value(id).dtype, present(graph_.value(id).shape)}; }

  void node(const Node& node) {
    const int32_t id = node.results.first;
    Array& out = values_[static_cast<size_t>(id)];
    switch (node.kind) {
      case NodeKind::scalar:
        out = Array(graph_.value(id).dtype, Shape());
        out[0] = number_for(out.dtype, node.attrs.count > 0 ? graph_.attributes(node)[0] : -1, seed_,
                            graph_.name(node.name));
        break;
      case NodeKind::constant:
        out = constant(node, type_of(id));
        break;
      case NodeKind::op:
        op(node);
        break;
      default:
        out = data_for(type_of(id), seed_, graph_.name(node.name));
        break;
    }
  }

  Array constant(const Node& node, const TensorType& type) const {
    return reference::unpack(type.dtype, type.shape,
                             {graph_.words.data() + node.words.first, static_cast<size_t>(node.words.count)});
  }

  void op(const Node& node) {
    reference::Call call;
    call.op = node.op;
    call.attrs = graph_.attributes(node);
    for (int k = 0; k < node.results.count; ++k) {
      const TensorType type = type_of(node.results.first + k);
      values_[static_cast<size_t>(node.results.first + k)] = Array(type.dtype, type.shape);
      call.results.push_back(&values_[static_cast<size_t>(node.results.first + k)]);
    }
    for (int k = 0; k < node.operands.count; ++k) call.operands.push_back(&value(graph_.operand(node, k)));

    const auto by_reference = [](reference::Call& given) { given.op->reference(given); };
    if (shaker_ != nullptr) return shaker_->evaluate(call, fuzz::error_of(call), by_reference);
    by_reference(call);
    for (Array* result : call.results) reference::round_to_storage(*result);
  }

  const Graph& graph_;
  uint64_t seed_;
  reference::Shaker* shaker_;
  std::vector<Array> values_;
  size_t done_ = 0;  // nodes
};

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_EVALUATE_H_

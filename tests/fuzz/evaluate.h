// Evaluator: the values of a graph by its ops' references, in double precision, exactly as defined or with
// every op as wrong as it may be (op_error.h).
//
//   Evaluator exact(graph, seed);               exact.run();     exact.value(graph.outputs[0].value)
//   Evaluator shaken(graph, seed, &random);     shaken.run();    // one possible outcome on a device
//
// Exact: every result is rounded to its storage type, as reference::run does. Shaken: results of f16 and bf16
// are rounded or not by chance, since a fused kernel keeps them in f32; or, in half of the outcomes, all are off
// by up to half an ulp, since one rounding may hide another. Tensors have their present extents. run() may be
// called again after the graph has grown.
#ifndef RLXGPU_TESTS_FUZZ_EVALUATE_H_
#define RLXGPU_TESTS_FUZZ_EVALUATE_H_

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "rlxgpu/graph/graph.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/reference/interpreter.h"
#include "tests/fuzz/data.h"
#include "tests/fuzz/op_error.h"
#include "tests/fuzz/random.h"

namespace rlxgpu::fuzz {

class Evaluator {
 public:
  Evaluator(const Graph& graph, uint64_t seed, Random* shake = nullptr)
      : graph_(graph), seed_(seed), shake_(shake), blurs_(shake != nullptr && shake->chance(0.5)) {}

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

    const OpError error = error_of(call);
    std::vector<Array> shaken;
    if (shake_ != nullptr && error.operand_ulps > 0) {
      for (const Array* operand : call.operands) shaken.push_back(shake_array(*operand, error.operand_ulps, 0));
      for (size_t k = 0; k < shaken.size(); ++k) call.operands[k] = &shaken[k];
    }
    node.op->reference(call);
    for (Array* result : call.results) finish(*result, error);
  }

  void finish(Array& result, const OpError& error) {
    if (shake_ != nullptr && error.result_ulps > 0) {
      Array shaken = shake_array(result, error.result_ulps, error.absolute + 0x1p-126);
      for (size_t i = 0; error.rounds && i < result.data.size(); ++i) {  // a cast keeps what f32 can hold
        if (rounded(result.data[i], f32) == result.data[i]) shaken.data[i] = result.data[i];
      }
      result = std::move(shaken);
    }
    if (shake_ != nullptr && error.fragile && shake_->chance(0.5)) {
      for (double& element : result.data) {
        if (!std::isfinite(element)) element = 1;
      }
    }
    if (result.dtype == f32 || !is_float(result.dtype) || shake_ == nullptr || error.rounds) {
      reference::round_to_storage(result);
    } else {
      round_by_chance(result);
    }
  }

  void round_by_chance(Array& result) {
    const bool store = shake_->chance(0.5);
    const double half_ulp = result.dtype == f16 ? 0x1p-11 : 0x1p-8;
    for (double& element : result.data) {
      element = rounded(element, f32);  // registers
      const double whole = rounded(element, result.dtype);
      if (blurs_ && std::isfinite(whole) && whole != element) {
        element += shake_->pick({-1.0, 1.0}) * half_ulp * std::fabs(element);
      } else if (store || !std::isfinite(whole)) {
        element = whole;
      }
    }
  }

  // Every float a little off: by chance a little or as far as possible.
  Array shake_array(const Array& array, double ulps, double absolute) {
    Array result = array;
    if (!is_float(array.dtype) && array.dtype != c64) return result;
    const bool far = shake_->chance(0.5);
    for (double& element : result.data) {
      const double by = far ? shake_->pick({-1.0, 1.0}) : shake_->real(-1, 1);
      if (std::isfinite(element)) element += by * (ulps * 0x1p-23 * std::fabs(element) + absolute);
    }
    return result;
  }

  const Graph& graph_;
  uint64_t seed_;
  Random* shake_;
  bool blurs_;
  std::vector<Array> values_;
  size_t done_ = 0;  // nodes
};

}  // namespace rlxgpu::fuzz

#endif  // RLXGPU_TESTS_FUZZ_EVALUATE_H_

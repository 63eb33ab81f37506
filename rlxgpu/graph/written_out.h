// WrittenOut: what an op looks like to a user who does not call it, as a graph, and what to put in its place.
//
//   constexpr Tensor silu_by_sigmoid(GraphPattern& p) {
//     const Tensor x = p.any("x");
//     return x * sigmoid(x);
//   }
//   constexpr Tensor to_silu(Match& m) { return silu(m["x"]); }
//   inline constexpr WrittenOut kSiluForms[] = {{"silu", &kMul, silu_by_sigmoid, to_silu}};
//
// A pattern is ordinary code over tensors: the pass (compile/recognise.h) builds it for the rank and the type of what
// it looks at, and compares node by node. Operands of commutative ops may stand in either order; numbers are equal up
// to rounding. Forms are kept in lists, one for each family, which the planner is given: a graph in which an op is
// written out does not hold the op, so it cannot say what it looks like.
#ifndef RLXGPU_GRAPH_WRITTEN_OUT_H_
#define RLXGPU_GRAPH_WRITTEN_OUT_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

// Stands for either of its operands, in patterns.
inline constexpr OpDef kEither = {
    .name = "either",
    .infer = [](Infer& infer) { infer.result(infer.dtype(0), infer.shape(0)); },
};

class GraphPattern {
 public:
  // `axis` runs over those of the rank, for forms that have one.
  constexpr GraphPattern(Builder& builder, DType dtype, int rank, int axis)
      : builder_(builder), dtype_(dtype), rank_(rank), axis_(axis) {}

  constexpr int rank() const { return rank_; }
  constexpr int axis() const { return axis_; }
  // Any tensor, of any shape; `rank` is for the shape rules of what is made of it.
  constexpr Tensor any(std::string_view name) { return any(name, rank_); }
  constexpr Tensor any(std::string_view name, int rank) {
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(2);
    return builder_.input(name, dtype_, shape);
  }
  // Any single number that is known.
  constexpr Tensor number(std::string_view name) { return builder_.param(name, dtype_, Shape()); }
  constexpr Tensor either(Tensor a, Tensor b) { return apply(kEither, {a, b}, Site()); }
  constexpr Tensor literal(double value) { return builder_.literal(value, dtype_); }

 private:
  Builder& builder_;
  DType dtype_;
  int rank_, axis_;
};

// Where a pattern was found, in the graph that is being made: `m["x"]` may be used like any tensor of it.
class Match {
 public:
  constexpr Match(Builder& builder, const Target& target, const Vec<int32_t>& uses, const Vec<int32_t>& uses_so_far)
      : builder_(builder), target_(target), uses_(uses), uses_so_far_(uses_so_far) {}

  // What stands for p.any(name).
  constexpr Tensor operator[](std::string_view name) const { return {&builder_, bound(name)}; }
  // What stands for p.number(name), or for a literal of that name.
  constexpr double number(std::string_view name) const { return number_of(bound(name)); }
  constexpr int axis() const { return axis_; }
  constexpr Tensor root() const { return {&builder_, root_}; }
  constexpr const Target& target() const { return target_; }
  constexpr const Graph& graph() const { return builder_.graph(); }
  constexpr const Node& producer(Tensor value) const { return graph().producer(value.id()); }
  constexpr bool is(Tensor value, const OpDef& op) const {
    return producer(value).kind == NodeKind::op && producer(value).op == &op;
  }
  constexpr Tensor operand(Tensor value, int k) const { return {&builder_, graph().operand(producer(value), k)}; }
  constexpr Call call(Tensor value) const {
    const Node& node = producer(value);
    Call call = {.op = node.op, .operand_count = node.operands.count, .attrs = graph().attributes(node)};
    for (int k = 0; k < node.operands.count; ++k) {
      call.operand_types[k] = &graph().values[static_cast<size_t>(graph().operand(node, k))];
    }
    return call;
  }
  // Whether it is one number that is known.
  constexpr bool is_number(Tensor value) const {
    return producer(value).kind == NodeKind::constant && value.shape().count() == 1 && value.dtype() != c64;
  }
  constexpr double number(Tensor value) const { return number_of(value.id()); }
  // How often a value is read in the whole graph, outputs included, and by nodes before this one.
  constexpr int uses(Tensor value) const { return count(uses_, value); }
  constexpr int uses_so_far(Tensor value) const { return count(uses_so_far_, value); }
  // Nodes behind this one that read `value` read `by`.
  constexpr void replace(Tensor value, Tensor by) { replaced_ = value.id(), by_ = by.id(); }
  constexpr Site site() const { return producer(root()).site; }

 private:
  friend class Recogniser;
  constexpr int count(const Vec<int32_t>& uses, Tensor value) const {
    const auto id = static_cast<size_t>(value.id());
    return id < uses.size() ? uses[id] : 0;
  }
  constexpr int32_t bound(std::string_view name) const {
    for (const Node& node : pattern_->nodes) {
      if (node.kind != NodeKind::op && node.name.count > 0 && pattern_->name(node.name) == name)
        return (*bound_)[static_cast<size_t>(node.results.first)];
    }
    return -1;
  }
  constexpr double number_of(int32_t value) const {
    const Node& node = graph().producer(value);
    return rlxgpu::core::number_of(graph().words[static_cast<size_t>(node.words.first)], graph().value(value).dtype);
  }

  Builder& builder_;
  const Target& target_;
  const Vec<int32_t>&uses_, &uses_so_far_;  // by value
  const Graph* pattern_ = nullptr;
  const Vec<int32_t>* bound_ = nullptr;  // by value of the pattern
  int32_t root_ = -1, replaced_ = -1, by_ = -1;
  int axis_ = 0;
};

struct WrittenOut {
  std::string_view name;        // of what it is
  const OpDef* root = nullptr;  // the op that the written-out form ends with
  Tensor (*pattern)(GraphPattern&) = nullptr;
  // What takes its place: a tensor of the root's type. Tensor(): this is something else after all.
  Tensor (*replacement)(Match&) = nullptr;
  bool any_axis = false;  // GraphPattern::axis is tried for all; otherwise it is the last one
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::GraphPattern, core::Match, core::WrittenOut;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_WRITTEN_OUT_H_

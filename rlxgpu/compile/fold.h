// Fold: what an op may say when simplify.h asks whether a node is needed at all.
//
//   constexpr bool mul_fold(Fold& fold) {
//     if (fold.is(1, 1.0)) return fold.operand(0);                    // x * 1 is x
//     if (fold.known(0) && fold.known(1)) return fold.number(fold.at(0) * fold.at(1));
//     return false;
//   }
//
// Only operands of one element are known. operand(k) refuses (returns false) unless operand k has the
// result's type; number(v) unless the result has one element and is not complex.
#ifndef RLXGPU_COMPILE_FOLD_H_
#define RLXGPU_COMPILE_FOLD_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/element.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

class Fold {
 public:
  constexpr Fold(const Graph& graph, const Call& call, std::span<const int32_t> operands)
      : graph_(graph), call_(call), operands_(operands) {}

  constexpr const Call& call() const { return call_; }
  constexpr bool known(int k) const {
    const Node& node = producer(k);
    return node.kind == NodeKind::constant && call_.operand(k).shape.count() == 1 && call_.operand(k).dtype != c64;
  }
  constexpr double at(int k) const { return number_of(graph_.words[static_cast<size_t>(producer(k).words.first)], call_.operand(k).dtype); }
  constexpr bool is(int k, double value) const { return known(k) && at(k) == value; }

  constexpr bool operand(int k) {
    if (!(call_.operand(k) == call_.result())) return false;
    same_as_ = k;
    return true;
  }
  constexpr bool number(double value) {
    if (call_.result().shape.count() != 1 || call_.result().dtype == c64) return false;
    number_ = value;
    return true;
  }

  constexpr int same_as() const { return same_as_; }  // -1: a number
  constexpr double number() const { return number_; }

 private:
  constexpr const Node& producer(int k) const { return graph_.producer(operands_[static_cast<size_t>(k)]); }

  const Graph& graph_;
  const Call& call_;
  std::span<const int32_t> operands_;
  int same_as_ = -1;
  double number_ = 0;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_FOLD_H_

// GradientRule: what a gradient of an op's results is to its operands, as a graph.
//
//   constexpr void square_gradient(Gradient& g) { g.give(0, g.given() * g.operand(0) * 2.0f); }
//   inline constexpr GradientRule kSquareGradients[] = {{&kSquare, square_gradient}};
//
// Rules are in tables beside the ops (rlxgpu/kernels/<family>/gradient.h), not in the OpDef, so that only programs that ask
// for gradients contain them. A rule appends ordinary nodes, so it has a gradient as well. A rule that gives nothing
// says that nothing flows back.
#ifndef RLXGPU_GRADIENT_RULE_H_
#define RLXGPU_GRADIENT_RULE_H_

#include <cstdint>
#include <span>

#include "rlxgpu/base/span.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

// One node on the way back: its operands and results, the gradients given to its results, and those it gives on.
class Gradient {
 public:
  constexpr Gradient(Builder& builder, const Node& node, const Tensor* given, Site site)
      : builder_(builder), node_(node), site_(site) {
    for (int k = 0; k < kMaxResults; ++k) given_[k] = given[k];
    for (const int64_t attr : builder.graph().attributes(node)) attrs_.push_back(attr);
  }

  constexpr Builder& builder() const { return builder_; }
  constexpr Site site() const { return site_; }  // of the call of gradients(): errors are the user's there
  constexpr int count() const { return node_.operands.count; }
  constexpr Tensor operand(int k) const { return {&builder_, builder_.graph().operand(node_, k)}; }
  constexpr Tensor result(int k = 0) const { return {&builder_, node_.results.first + k}; }
  constexpr int64_t attr(int i) const { return attrs_[static_cast<size_t>(i)]; }
  constexpr float attr_float(int i) const { return std::bit_cast<float>(static_cast<uint32_t>(attr(i))); }
  constexpr Span<int64_t> attrs() const { return {attrs_.data(), attrs_.size()}; }

  constexpr bool has(int k) const { return given_[k].given(); }       // whether anything depends on result k
  constexpr Tensor given(int k = 0) const { return given_[k]; }       // of the shape of result k
  constexpr bool wanted(int k) const { return wanted_[k]; }           // whether operand k leads to what is asked for
  constexpr void give(int k, Tensor gradient) { to_[k] = gradient; }  // of the shape and type of operand k

  template <typename... Parts>
  constexpr void fail(const Parts&... parts) {
    builder_.fail(site_, "gradients: ", node_.op->name, " (", node_.site.file, ':', node_.site.line, "): ", parts...);
  }

 private:
  friend class GradientWalk;
  Builder& builder_;
  Node node_;  // a copy: nodes move as the graph grows
  Site site_;
  Vec<int64_t> attrs_;
  Tensor given_[kMaxResults];
  bool wanted_[kMaxOperands] = {};
  Tensor to_[kMaxOperands];
};

struct GradientRule {
  const OpDef* op = nullptr;
  void (*rule)(Gradient&) = nullptr;
};
using GradientRules = std::span<const GradientRule>;

}  // namespace rlxgpu::core

#endif  // RLXGPU_GRADIENT_RULE_H_

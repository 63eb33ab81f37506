// GradientWalk: from a tensor back to those it was computed from, by rules that are given. The function for users is
// gradients() in rlxgpu/kernels/gradient/gradients.h, which knows the rules of all families and how gradients are added.
//
//   Vec<Tensor> all = GradientWalk(y, one, {x, w}, tables, add, site).run();
//
// One pass forwards marks what depends on a target; one backwards visits only those nodes, each once, the last first.
// Gradients of a value that is used several times are added in the order of the visits: the same on every run.
#ifndef RLXGPU_GRADIENT_WALK_H_
#define RLXGPU_GRADIENT_WALK_H_

#include <cstdint>
#include <span>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/gradient/rule.h"
#include "rlxgpu/graph/builder.h"

namespace rlxgpu::core {

class GradientWalk {
 public:
  using Add = Tensor (*)(Tensor, Tensor, Site);
  constexpr GradientWalk(Tensor from, Tensor seed, std::span<const Tensor> targets,
                         std::span<const GradientRules> tables, Add add, Site site)
      : builder_(from.builder()),
        from_(from),
        seed_(seed),
        targets_(targets),
        tables_(tables),
        add_(add),
        site_(site) {}

  // The gradient to each target; Tensor() where nothing depends on it, or after an error.
  constexpr Vec<Tensor> run() {
    const int32_t last = builder_.graph().value(from_.id()).node;
    mark(last);
    gradients_.resize(marked_.size());
    gradients_[static_cast<size_t>(from_.id())] = seed_;
    for (int32_t n = last; n >= 0 && builder_.ok(); --n) visit(n);
    Vec<Tensor> found;
    for (const Tensor& target : targets_) {
      const auto id = static_cast<size_t>(target.id());
      found.push_back(builder_.ok() && id < gradients_.size() ? gradients_[id] : Tensor());
    }
    return found;
  }

 private:
  // Only floats have gradients: what passes through an integer or a comparison ends there.
  constexpr void mark(int32_t last) {
    const Graph& graph = builder_.graph();
    const Node& end = graph.node(last);
    marked_.resize(static_cast<size_t>(end.results.first + end.results.count), 0);
    for (const Tensor& target : targets_) {
      if (static_cast<size_t>(target.id()) < marked_.size()) marked_[static_cast<size_t>(target.id())] = 1;
    }
    for (int32_t n = 0; n <= last; ++n) {
      const Node& node = graph.node(n);
      bool reached = false;
      for (int k = 0; k < node.operands.count && !reached; ++k)
        reached = marked_[static_cast<size_t>(graph.operand(node, k))] != 0;
      for (int32_t v = node.results.first; reached && v < node.results.first + node.results.count; ++v) {
        const DType dtype = graph.value(v).dtype;
        if (is_float(dtype) || dtype == c64) marked_[static_cast<size_t>(v)] = 1;
      }
    }
  }

  constexpr const GradientRule* rule_of(const OpDef* op) const {
    for (const GradientRules& table : tables_) {
      for (const GradientRule& rule : table) {
        if (rule.op == op) return &rule;
      }
    }
    return nullptr;
  }

  constexpr void visit(int32_t n) {
    const Node node = builder_.graph().node(n);
    if (node.kind != NodeKind::op) return;
    Tensor given[kMaxResults];
    bool any = false, wanted = false;
    for (int k = 0; k < node.results.count; ++k) {
      given[k] = gradients_[static_cast<size_t>(node.results.first + k)];
      any = any || given[k].given();
    }
    for (int k = 0; any && k < node.operands.count; ++k) wanted = wanted || marked(builder_.graph().operand(node, k));
    if (!wanted) return;
    Gradient gradient(builder_, node, given, site_);
    for (int k = 0; k < node.operands.count; ++k) gradient.wanted_[k] = marked(gradient.operand(k).id());
    const GradientRule* const rule = rule_of(node.op);
    if (rule == nullptr) return gradient.fail("this op has no rule for its gradient");
    rule->rule(gradient);
    for (int k = 0; k < node.operands.count && builder_.ok(); ++k) {
      if (gradient.wanted_[k] && gradient.to_[k].given()) collect(gradient, k);
    }
  }

  constexpr void collect(Gradient& gradient, int k) {
    const Tensor operand = gradient.operand(k), part = gradient.to_[k];
    if (!(part.shape() == operand.shape()) || part.dtype() != operand.dtype()) {
      return gradient.fail("its rule gives operand ", k, " a gradient of ", name_of(part.dtype()), part.shape(),
                           ", not ", name_of(operand.dtype()), operand.shape());
    }
    Tensor& sum = gradients_[static_cast<size_t>(operand.id())];
    sum = sum.given() ? add_(sum, part, site_) : part;
  }

  constexpr bool marked(int32_t value) const { return marked_[static_cast<size_t>(value)] != 0; }

  Builder& builder_;
  Tensor from_, seed_;
  std::span<const Tensor> targets_;
  std::span<const GradientRules> tables_;
  Add add_;
  Site site_;
  Vec<uint8_t> marked_;    // by value: it depends on a target
  Vec<Tensor> gradients_;  // by value
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_GRADIENT_WALK_H_

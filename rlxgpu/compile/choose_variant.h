// Which variant of a kernel op computes a call: of those that accept it the first that prefers it, unless a choice or a
// chooser says otherwise (choice.h), and never one that is known to be wrong on the device.
#ifndef RLXGPU_COMPILE_CHOOSE_VARIANT_H_
#define RLXGPU_COMPILE_CHOOSE_VARIANT_H_

#include <cstdint>
#include <span>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/choice.h"
#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/equal_groups.h"
#include "rlxgpu/compile/lowering.h"

namespace rlxgpu::core {

// Who decides between the variants of a call.
struct VariantChoice {
  std::span<const Choice> choices = {};
  Chooser chooser = {};
  std::span<const Suspect> distrusted = {};  // known to be wrong: not used
  Vec<Suspect>* suspects = nullptr;          // to be told which variants with probes are used; may be null
};

namespace internal {

// The first variant that prefers the call goes before all others.
constexpr void put_preferred_first(const Call& call, const Target& target, Vec<const Variant*>& accepted) {
  for (size_t i = 0; i < accepted.size(); ++i) {
    const Variant* const variant = accepted[i];
    if (variant->prefers != nullptr && !variant->prefers(call, target)) continue;
    for (size_t before = i; before > 0; --before) accepted[before] = accepted[before - 1];
    accepted[0] = variant;
    return;
  }
}

// The first of them, unless the chooser or a choice says otherwise.
constexpr const Variant* best_of(const Call& call, const Vec<const Variant*>& accepted, const VariantChoice& choice) {
  const Variant* best = accepted.empty() ? nullptr : accepted[0];
  if (choice.chooser.choose != nullptr && accepted.size() > 1) {
    const int index = choice.chooser.choose(choice.chooser.context, call, span_of(accepted));
    if (index > 0 && static_cast<size_t>(index) < accepted.size()) best = accepted[static_cast<size_t>(index)];
  }
  for (const Variant* const variant : accepted) {
    for (const Choice& wanted : choice.choices) {
      if (wanted.op == call.op->name && wanted.variant == variant->name) best = variant;
    }
  }
  return best;
}

constexpr bool is_distrusted(const Call& call, const Variant& variant, std::span<const Suspect> distrusted) {
  if (distrusted.empty() || variant.probe == nullptr) return false;
  Text line;
  append_call(line, call);
  for (const Suspect& wrong : distrusted) {
    if (wrong.op == call.op->name && wrong.variant == variant.name && wrong.call.view() == line.view()) return true;
  }
  return false;
}

}  // namespace internal

// The variant's dispatches, for the kernel op `anchor` of the group that ends in `root`.
constexpr void emit_best_variant(Lowering& lowering, const VariantChoice& choice, int32_t anchor, int32_t root) {
  const Graph& graph = lowering.graph();
  const Node& node = graph.node(anchor);
  Call call = call_of(graph, node);
  View views[kMaxOperands];
  for (int k = 0; k < node.operands.count; ++k) {
    if (lowering.strided(graph.operand(node, k), views[k]) >= 0) call.operand_views[static_cast<size_t>(k)] = &views[k];
  }
  GroupShape group;
  if (choice.chooser.choose != nullptr) {
    Vec<int32_t> seen;
    for (int32_t made = root; made >= 0; made = lowering.next_root(made))
      describe(lowering, graph.node(made).results.first, made, seen, group);
    Vec<const OpDef*> maps;
    bool before = false;  // the kernel: views of its operands are their strides
    for (const OpDef* const op : group.ops) {
      before = before || op == node.op;
      if (op->at != nullptr && !(before && op->view != nullptr)) maps.push_back(op);
    }
    group.ops = maps;
    call.fused = span_of(group.ops);
  }
  Vec<const Variant*> accepted;
  for (const Variant& variant : node.op->variants) {
    if (variant.accepts != nullptr && !variant.accepts(call, lowering.target())) continue;
    if (!internal::is_distrusted(call, variant, choice.distrusted)) accepted.push_back(&variant);
  }
  internal::put_preferred_first(call, lowering.target(), accepted);
  const Variant* const chosen = internal::best_of(call, accepted, choice);
  if (chosen == nullptr) return lowering.fail(node.op->name, ": no kernel variant accepts ", call.operand(0).shape);
  if (choice.suspects != nullptr && chosen->probe != nullptr) choice.suspects->push_back(suspect_of(call, *chosen));
  Emit emit(lowering, call, anchor, root, chosen->name);
  chosen->emit(emit);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_CHOOSE_VARIANT_H_

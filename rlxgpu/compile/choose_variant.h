// Which variant of a kernel op computes a call, and with which parameters: of those that accept it the first that
// prefers it, with its defaults, unless a choice or a chooser says otherwise (choice.h), and never one that is known to
// be wrong on the device.
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

struct Chosen {
  const Variant* variant = nullptr;
  ParameterValues parameters = {};  // all of them
};

// The first of them, unless the chooser or a choice says otherwise.
constexpr Chosen best_of(Lowering& lowering, const Call& call, const Vec<const Variant*>& accepted,
                         const VariantChoice& choice) {
  const Target& target = lowering.target();
  Chosen best = {accepted.empty() ? nullptr : accepted[0], {}};
  if (choice.chooser.choose != nullptr && !accepted.empty()) {
    ParameterValues given;
    const int index = choice.chooser.choose(choice.chooser.context, call, span_of(accepted), given);
    if (index > 0 && static_cast<size_t>(index) < accepted.size()) best.variant = accepted[static_cast<size_t>(index)];
    if (complete_parameters(*best.variant, call, target, given)) best.parameters = given;
  }
  for (const Variant* const variant : accepted) {
    for (const Choice& wanted : choice.choices) {
      const VariantName name(wanted.variant);
      if (wanted.op != call.op->name || name.name != variant->name) continue;
      Parameters given(variant->parameters.list);
      Text error;
      if (!parse_parameters(variant->name, name.parameters, given, error)) {
        lowering.fail(wanted.op, '/', error);
        return {};
      }
      ParameterValues values = given.values();
      if (name.parameters.empty() || complete_parameters(*variant, call, target, values)) best = {variant, values};
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

// The defaults of a variant must be valid: what is wrong with them is said to its author.
constexpr bool complete_defaults(Lowering& lowering, const Call& call, Chosen& chosen) {
  if (complete_parameters(*chosen.variant, call, lowering.target(), chosen.parameters)) return true;
  const ParameterRules& rules = chosen.variant->parameters;
  Parameters p(rules.list, chosen.parameters);
  if (rules.defaults != nullptr) rules.defaults(call, lowering.target(), p);
  Text error;
  for (size_t i = 0; i < rules.list.size(); ++i) {
    if (error.empty() && !p.given(rules.list[i].name))
      error << chosen.variant->name << " has no default of " << rules.list[i].name;
  }
  if (error.empty() && !p.unknown().empty()) {
    error << chosen.variant->name << " declares no parameter " << p.unknown();
  } else if (error.empty() && check_range(chosen.variant->name, p, error)) {
    error << chosen.variant->name;
    append_parameters(error, p);
    error << " is not valid for this call, and these are its defaults";
  }
  lowering.fail(call.op->name, '/', error);
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
  internal::Chosen chosen = internal::best_of(lowering, call, accepted, choice);
  if (chosen.variant == nullptr)
    return lowering.fail(node.op->name, ": no kernel variant accepts ", call.operand(0).shape);
  if (!internal::complete_defaults(lowering, call, chosen)) return;
  if (choice.suspects != nullptr && chosen.variant->probe != nullptr)
    choice.suspects->push_back(suspect_of(call, *chosen.variant));
  Text& names = lowering.program().names;
  const auto first = static_cast<int32_t>(names.size());
  names << call.op->name << '/' << chosen.variant->name;
  append_parameters(names, Parameters(chosen.variant->parameters.list, chosen.parameters));
  lowering.set_spec({first, static_cast<int32_t>(names.size()) - first});
  Emit emit(lowering, call, anchor, root, *chosen.variant, chosen.parameters);
  chosen.variant->emit(emit);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_CHOOSE_VARIANT_H_

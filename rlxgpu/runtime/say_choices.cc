#include "rlxgpu/runtime/say_choices.h"

#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/check_choices.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu::core::internal {
namespace {

// What a pattern does to a program.
struct Effect {
  bool op = false, variant = false;  // it matches one of the graph
  bool used = false;                 // and that computes a step
};

Effect effect_of(const VariantPattern& pattern, std::span<const OpDef* const> ops, const ProgramView& program) {
  Effect effect;
  for (const OpDef* const op : ops) {
    for (const Variant& variant : op->variants) {
      effect.op = effect.op || pattern.matches(op->name, pattern.variant);
      if (!pattern.matches(op->name, variant.name)) continue;
      effect.variant = true;
      effect.used = effect.used || is_used({op->name, variant.name}, program);
    }
  }
  return effect;
}

// Kernels of the program, each label once.
std::string kernels_of(const ProgramView& program) {
  std::string list;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    bool known = false;
    for (size_t before = 0; before < s; ++before)
      known = known || program.name(program.steps[before].label) == program.name(program.steps[s].label);
    if (!known) absl::StrAppend(&list, list.empty() ? "" : ", ", program.name(program.steps[s].label));
  }
  return list;
}

}  // namespace

void say_choices(const Device& device, const Graph& graph, const ProgramView& program, std::span<const Choice> choices,
                 std::string_view label) {
  if (!device || (choices.empty() && !switches().changes_variants())) return;
  DeviceState& state = *device.state();
  const std::vector<const OpDef*> ops = kernel_ops(graph);
  const std::string where = label.empty() ? "the program" : absl::StrCat("\"", label, "\"");
  const auto is_new = [&](const std::string& sentence) {
    const std::lock_guard lock(state.said_mutex);
    return state.said.insert(sentence).second;
  };
  for (const Choice& choice : choices) {
    if (is_used(choice, program)) continue;
    bool known = false;
    for (const OpDef* const op : ops) known = known || op->name == choice.op;
    const std::string sentence = absl::StrCat(
        "rlxgpu: choices: ", choice.op, "/", choice.variant, " does nothing in ", where,
        known ? ", where no call takes it; the kernels are " : ", which has no such op; the kernels are ",
        kernels_of(program));
    if (state.log && is_new(sentence)) state.log(sentence);
  }
  if (ops.empty()) return;
  const auto look_at = [&](std::string_view name, const VariantPattern& pattern, bool force) {
    const Effect effect = effect_of(pattern, ops, program);
    std::string sentence = absl::StrCat(name, "=", pattern.op, "/", pattern.variant);
    if (!effect.op) {
      absl::StrAppend(&sentence, ": ", where, " has no such op; it has ", variants_of(ops));
    } else if (!effect.variant) {
      absl::StrAppend(&sentence, " is no kernel of ", where, "; there are ", variants_of(ops));
    } else if (force && !effect.used) {
      absl::StrAppend(&sentence, " is taken by no call of ", where, "; the kernels are ", kernels_of(program));
    } else if (!force && effect.used) {
      absl::StrAppend(&sentence, " is used in ", where, " nevertheless: nothing else accepts its call");
    } else {
      return;
    }
    if (is_new(sentence)) switches().say(sentence);
  };
  for (const VariantPattern& pattern : switches().force) look_at("RLXGPU_FORCE", pattern, true);
  for (const VariantPattern& pattern : switches().forbid) look_at("RLXGPU_FORBID", pattern, false);
}

}  // namespace rlxgpu::core::internal

// What decides between kernel variants when a program is planned at run time: switches, then the tuner's file.
#include "rlxgpu/compile/choice.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/session.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/runtime/tuning_file.h"

namespace rlxgpu::core::internal {
namespace {

bool any_matches(const std::vector<VariantPattern>& patterns, const Call& call, const Variant& variant) {
  for (const VariantPattern& pattern : patterns) {
    if (pattern.matches(call.op->name, variant.name)) return true;
  }
  return false;
}

// The variant that was measured to be best, or "".
std::string tuned_variant(DeviceState& device, const Call& call) {
  Text line;
  append_call(line, call);
  const std::lock_guard lock(device.tuning_mutex);
  const auto found = device.tuned.find(std::string(line.view()));
  return found == device.tuned.end() ? std::string() : found->second;
}

int choose(void* context, const Call& call, std::span<const Variant* const> accepted) {
  const Switches& set = switches();
  const std::string tuned = tuned_variant(*static_cast<DeviceState*>(context), call);
  int first_allowed = -1, best = -1;
  for (size_t i = 0; i < accepted.size(); ++i) {
    if (any_matches(set.force, call, *accepted[i])) return static_cast<int>(i);
    if (any_matches(set.forbid, call, *accepted[i])) continue;
    if (first_allowed < 0) first_allowed = static_cast<int>(i);
    if (accepted[i]->name == tuned) best = static_cast<int>(i);
  }
  return best >= 0 ? best : first_allowed;
}

}  // namespace

Chooser chooser_of(const Device& device) {
  if (!device) return {};
  DeviceState& state = *device.state();
  std::call_once(state.tuning_read, [&state] {
    if (state.tuning_path.empty()) return;
    const TuningData data = TuningFile(state.tuning_path, state.log).load();
    const auto adapter = data.adapters.find(state.adapter.label());
    if (adapter == data.adapters.end()) return;
    const std::lock_guard lock(state.tuning_mutex);
    for (const auto& [call, choice] : adapter->second.choices) state.tuned.emplace(call, choice.variant);
  });
  const std::lock_guard lock(state.tuning_mutex);
  if (state.tuned.empty() && !switches().changes_variants()) return {};
  return {choose, &state};
}

void note_constant_program() {
  if (switches().verify) {
    static std::once_flag said;
    std::call_once(said, [] {
      switches().say(
          "RLXGPU_VERIFY does not look at an Executable<G, target>, which has no graph at run time; Executable<G> "
          "is verified");
    });
  }
  if (!switches().changes_variants()) return;
  static std::once_flag said;
  std::call_once(said, [] {
    switches().say(
        "RLXGPU_FORCE and RLXGPU_FORBID do not change an Executable<G, target>, whose kernels the compiler "
        "chose; Executable<G> is planned for its device and obeys them");
  });
}

}  // namespace rlxgpu::core::internal

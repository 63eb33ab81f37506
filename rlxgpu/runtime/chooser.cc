// What decides between kernel variants when a program is planned at run time: switches, then the tuner's file.
#include <set>

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

void say_once(const std::string& sentence) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(sentence).second) switches().say(sentence);
}

// Whether a switch asks for this variant, with values of its parameters, perhaps.
bool forced(const Call& call, const Variant& variant, ParameterValues& given) {
  for (const VariantPattern& pattern : switches().force) {
    if (!pattern.matches(call.op->name, variant.name)) continue;
    Parameters p(variant.parameters.list);
    Text error;
    if (parse_parameters(variant.name, pattern.parameters, p, error)) {
      given = p.values();
    } else {
      say_once("RLXGPU_FORCE: " + std::string(call.op->name) + '/' + std::string(error.view()));
    }
    return true;
  }
  return false;
}

int choose(void* context, const Call& call, std::span<const Variant* const> accepted, ParameterValues& given) {
  const Switches& set = switches();
  const std::string answer = tuned_variant(*static_cast<DeviceState*>(context), call);
  const VariantName tuned(answer);
  int first_allowed = -1, best = -1;
  for (size_t i = 0; i < accepted.size(); ++i) {
    if (forced(call, *accepted[i], given)) return static_cast<int>(i);
    if (any_matches(set.forbid, call, *accepted[i])) continue;
    if (first_allowed < 0) first_allowed = static_cast<int>(i);
    if (accepted[i]->name == tuned.name) best = static_cast<int>(i);
  }
  if (best < 0) return first_allowed;
  Parameters p(accepted[static_cast<size_t>(best)]->parameters.list);
  Text unknown;  // of a version whose parameters were others: the defaults
  if (parse_parameters(tuned.name, tuned.parameters, p, unknown)) given = p.values();
  return best;
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

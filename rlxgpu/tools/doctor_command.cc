#include "rlxgpu/tools/doctor_command.h"

#include <vector>

#include "absl/status/statusor.h"
#include "rlxgpu/runtime/adapter.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/tools/model_check.h"

namespace rlxgpu::core::tools {

int doctor_command(const DoctorCommand& command, std::ostream& out, std::ostream& err) {
  LoadedModel loaded;
  if (const int code = load_model(command, command.seed, err, loaded); code != 0) return code;
  std::vector<std::string> names = {command.adapter};
  if (command.adapter.empty()) {
    const Result<std::vector<AdapterInfo>> adapters = list_adapters();
    if (!adapters.ok()) return fail(adapters.status(), err);
    names.clear();
    for (const AdapterInfo& adapter : *adapters) names.push_back(adapter.label());
  }
  if (names.empty()) return err << "this machine has no adapter\n", 1;
  bool right = true;
  size_t compared = 0, unverified = 0;
  for (const std::string& name : names) {
    Result<Device> device = open_device({.adapter = name});
    if (!device.ok()) return fail(device.status(), err);
    out << "adapter   " << device->label() << "\n";
    for (const Sizes sizes : {Sizes::free, Sizes::baked}) {
      const bool baked = sizes == Sizes::baked;
      if (command.baked != command.free && baked != command.baked) continue;
      out << "kernels   with their sizes " << (baked ? "baked\n" : "free\n") << std::flush;
      Result<std::vector<StepVerdict>> steps = verify_steps(*device, loaded, sizes, err);
      if (!steps.ok()) return fail(steps.status(), err);
      right = report_steps(*steps, loaded.model, out) && right;
      for (const StepVerdict& step : *steps) ++(step.kind == StepVerdict::Kind::unverified ? unverified : compared);
    }
  }
  out << "verdict   "
      << (!right            ? "WRONG: see above; the way out is a switch: docs/switches.md"
          : compared == 0   ? "NOT COMPARED: of no step could the result be judged"
          : unverified == 0 ? "every step is right"
                            : "every step that could be compared is right")
      << "\n";
  return right && compared > 0 ? 0 : 1;
}

}  // namespace rlxgpu::core::tools

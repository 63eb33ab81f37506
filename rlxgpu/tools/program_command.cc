#include "rlxgpu/tools/program_command.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/tools/examples.h"
#include "rlxgpu/tools/program_json.h"

namespace rlxgpu::core::tools {
namespace {

void list_examples(std::ostream& out) {
  for (const Example& example : examples()) out << absl::StrFormat("  %-16s%s\n", example.name, example.what);
}

void list_examples_as_json(std::ostream& out) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Example& example : examples())
    list.push_back({{"name", std::string(example.name)}, {"what", std::string(example.what)}});
  out << list.dump(2) << "\n";
}

// The first step that runs kernel k gives it its name.
std::string_view label_of(const ProgramView& program, size_t k) {
  for (const Step& step : program.steps) {
    if (step.kernel == static_cast<int32_t>(k)) return program.name(step.label);
  }
  return "unused";
}

}  // namespace

int program_command(const ProgramCommand& command, std::ostream& out, std::ostream& err) {
  if (command.name.empty()) {
    if (command.json) return list_examples_as_json(out), 0;
    out << "rlxgpu program NAME prints the program of one of these graphs:\n";
    list_examples(out);
    return 0;
  }
  const Example* example = find_example(command.name);
  if (example == nullptr) {
    err << "there is no example \"" << command.name << "\"; there are:\n";
    list_examples(err);
    return 2;
  }
  Target target = kPortable;
  if (command.here) {
    const absl::StatusOr<Device> device = open_device({.log = [&](std::string_view line) { err << line << "\n"; }});
    if (!device.ok()) {
      err << device.status().message() << "\n";
      return 1;
    }
    target = device->target();
  }
  Vec<Recognition> found;
  absl::StatusOr<RenderedProgram> program = render(*example, target, &found);
  if (!program.ok()) {
    err << program.status() << "\n";
    return 1;
  }
  if (command.recognised) {
    for (const Recognition& one : found) {
      out << absl::StrFormat("%-28s%s:%d\n", one.name, one.site.file, one.site.line);
    }
    out << found.size() << " recognised; " << program->program.steps.size() << " dispatches\n";
    return 0;
  }
  if (command.json) {
    out << to_json(program->view(), program->texts()).dump(2) << "\n";
    return 0;
  }
  out << listing(program->view()).view();
  for (size_t k = 0; command.wgsl && k < program->kernels.size(); ++k) {
    out << "\n// kernel " << k << ": " << label_of(program->view(), k) << "\n" << program->kernels[k];
  }
  return 0;
}

}  // namespace rlxgpu::core::tools

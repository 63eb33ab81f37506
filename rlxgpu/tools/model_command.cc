#include "rlxgpu/tools/model_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/kernels/recognised.h"
#include "rlxgpu/load/onnx/model_def.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/runtime/calibration.h"
#include "rlxgpu/tools/model_check.h"
#include "rlxgpu/tools/model_input.h"
#include "rlxgpu/tools/npy.h"
#include "rlxgpu/tools/profile_table.h"

namespace rlxgpu::core::tools {
namespace {

using onnx::HostTensor;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) absl::StrAppend(&text, text.size() > 1 ? "," : "", extent);
  return text + "]";
}
std::string shape_text(const onnx::PortDef& port) {
  if (!port.has_shape) return "of any shape";
  std::string text = "[";
  for (const onnx::PortDef::Extent& extent : port.shape) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "",
                    extent.size >= 0        ? absl::StrCat(extent.size)
                    : extent.symbol.empty() ? "?"
                                            : extent.symbol);
  }
  return text + "]";
}
std::string bytes_text(uint64_t bytes) {
  Text text;
  append_bytes(text, bytes);
  return std::string(text.view());
}

}  // namespace

int inspect_command(const InspectCommand& command, std::ostream& out, std::ostream& err) {
  absl::StatusOr<onnx::LoadOptions> options = options_of(command);
  if (!options.ok()) return err << options.status().message() << "\n", 2;
  absl::StatusOr<ModelFile> file = open_model(command.model);
  if (!file.ok()) return fail(file.status(), err);
  const onnx::GraphDef& graph = file->def.graph;
  std::set<std::string> constants;
  uint64_t elements = 0, bytes = 0;
  for (const auto& [name, tensor] : graph.constants)
    constants.insert(name), elements += static_cast<uint64_t>(tensor.count()), bytes += tensor.bytes().size();
  out << command.model << ": " << graph.nodes.size() << " nodes"
      << (file->def.producer.empty() ? "" : " from " + file->def.producer);
  for (const auto& [domain, version] : file->def.opsets)
    out << ", opset " << version << (domain.empty() ? "" : " of " + domain);
  out << "\n";
  const auto list = [&](std::string_view what, const std::vector<onnx::PortDef>& ports) {
    for (const onnx::PortDef& port : ports) {
      if (constants.contains(port.name)) continue;
      out << absl::StrFormat("  %-8s%-24s%s%s\n", what, port.name,
                             port.other_type.empty() ? onnx::name_of(port.type) : std::string_view(port.other_type),
                             port.other_type.empty() ? shape_text(port) : "");
    }
  };
  list("input", graph.inputs);
  list("output", graph.outputs);
  out << "  weights " << elements << " in " << graph.constants.size() << " tensors, " << bytes_text(bytes) << "\n";

  fill_extents(file->def, *options, err);
  Result<onnx::Model> model = onnx::load(command.model, *options);
  if (!model.ok()) return fail(model.status(), err);
  out << "  ops     ";
  std::vector<std::pair<std::string, int>> ops = model->ops;
  std::stable_sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (size_t i = 0; i < ops.size(); ++i) out << (i > 0 ? ", " : "") << ops[i].first << " " << ops[i].second;
  out << "\n";

  // Planned for the device that would run it, or for any.
  Result<Device> device = open_device();
  const Target target = device.ok() ? device->target() : kPortable;
  const Program program = compile(recognised(model->graph.graph(), target), target);
  if (!program.error.empty()) return err << program.error.view() << "\n", 1;
  uint64_t scratch = 0;
  Work work{.launches = static_cast<int>(program.steps.size()), .read_backs = 1};
  for (const BufferDecl& buffer : program.buffers) scratch += buffer.role == BufferRole::param ? 0 : buffer.bytes;
  for (const Step& step : program.steps) work.flops += step.flops, work.bytes += step.bytes;
  out << absl::StrFormat("  program %d dispatches of %d kernels, %.3g GFLOP, %s besides weights", program.steps.size(),
                         program.kernels.specs.size(), work.flops * 1e-9, bytes_text(scratch))
      << "\n";
  if (device.ok()) {
    const std::map<std::string, Calibration> known = load_calibrations();
    const auto calibration = known.find(device->adapter().label());
    out << "  time    ";
    if (calibration != known.end() && calibration->second.known()) {
      out << absl::StrFormat("about %.3g ms on %s, by its calibration\n",
                             estimated_seconds(calibration->second, work) * 1e3, device->adapter().label());
    } else {
      out << "not estimated: `rlxgpu calibrate` has not measured " << device->adapter().label() << "\n";
    }
  }
  if (command.program) out << "\n" << listing(view_of(program, target)).view();
  return 0;
}

int run_command(const RunCommand& command, std::ostream& out, std::ostream& err) {
  if (command.runs < 1) return err << "--runs " << command.runs << ": at least one run has to be timed\n", 2;
  if (!command.output_dir.empty()) {  // before the work whose results it is for
    std::error_code code;
    std::filesystem::create_directories(command.output_dir, code);
    if (code || !std::filesystem::is_directory(command.output_dir))
      return err << "--output-dir " << command.output_dir
                 << " cannot be made: " << (code ? code.message() : "there is a file of this name") << "\n",
             1;
  }
  LoadedModel loaded;
  if (const int code = load_model(command, command.seed, err, loaded); code != 0) return code;
  const onnx::Model* const model = &loaded.model;
  Result<Device> device = open_device({.adapter = command.adapter});
  if (!device.ok()) return err << device.status().ToString() << "\n", 1;
  DynamicOptions dynamic;
  if (command.baked) dynamic.sizes = Sizes::baked;
  const auto start = std::chrono::steady_clock::now();
  Result<onnx::Session> session = onnx::Session::create(*device, *model, dynamic);
  if (!session.ok()) return fail(session.status(), err);
  const auto seconds_since = [](std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
  };
  const Engine& engine = session->executable().engine();
  out << absl::StrFormat("adapter   %s\nloaded    after %.2f s: %.1f MB of weights, %.1f MB besides\n", device->label(),
                         seconds_since(start), static_cast<double>(engine.weights().device_bytes()) * 1e-6,
                         static_cast<double>(engine.device_bytes()) * 1e-6)
      << std::flush;

  onnx::HostTensors got;
  for (const onnx::Port& port : model->inputs) {
    if (Status status = session->set(port.name, loaded.inputs.find(port.name)->second); !status.ok())
      return fail(status, err);
  }
  double best = 0;
  for (int64_t run = 0; run <= command.runs; ++run) {  // the first one has drivers compile
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = session->run().wait(); !status.ok()) return fail(status, err);
    const double took = seconds_since(begin);
    if (run == 0) {
      out << absl::StrFormat("first run after %.2f s\n", seconds_since(start));
    } else {
      best = run == 1 ? took : std::min(best, took);
    }
  }
  out << absl::StrFormat("run       %.3f ms, best of %d\n", best * 1e3, command.runs);
  std::set<std::string> files;
  for (const onnx::Port& port : model->outputs) {
    Result<HostTensor> tensor = session->get(port.name);
    if (!tensor.ok()) return fail(tensor.status(), err);
    out << "output    " << port.name << " " << onnx::name_of(port.type) << shape_text(port.shape);
    if (!command.output_dir.empty()) {
      std::string name = port.name;
      std::replace(name.begin(), name.end(), '/', '_');
      while (!files.insert(name).second) name += '_';  // "a/b" and "a_b"
      const std::string path = (std::filesystem::path(command.output_dir) / (name + ".npy")).string();
      if (Status status = write_npy(path, *tensor); !status.ok()) return fail(status, err);
      out << " to " << path;
    }
    out << "\n";
    got.emplace(port.name, *std::move(tensor));
  }
  if (command.profile || !command.trace.empty()) {
    Result<std::vector<StepProfile>> steps = best_profile(session->executable().engine(), 3);
    if (!steps.ok()) return fail(steps.status(), err);
    const StepName named = [&](const StepProfile& step) { return model->node_of(step.line); };
    if (command.profile) out << profile_table(*steps, named);
    if (!command.trace.empty()) {
      if (Status status = write_trace(command.trace, *steps, named); !status.ok()) return fail(status, err);
      out << "trace     " << command.trace << "\n";
    }
  }
  if (!command.check) return 0;
  ModelReference reference(loaded);
  const bool right = check_outputs(reference, got, out, err);
  Result<std::vector<StepVerdict>> steps = verify_steps(*device, loaded, dynamic.sizes, err);
  if (!steps.ok()) return fail(steps.status(), err);
  return report_steps(*steps, *model, out) && right ? 0 : 1;
}

}  // namespace rlxgpu::core::tools

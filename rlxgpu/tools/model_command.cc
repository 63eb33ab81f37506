#include "rlxgpu/tools/model_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/onnx/model_def.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/calibration.h"
#include "rlxgpu/tools/npy.h"
#include "rlxgpu/tools/profile_table.h"

namespace rlxgpu::tools {
namespace {

using onnx::ElementType;
using onnx::HostTensor;

absl::StatusOr<std::pair<std::string, std::string>> split_pair(const std::string& text, std::string_view option) {
  const size_t at = text.find('=');
  if (at == std::string::npos)
    return absl::InvalidArgumentError(absl::StrCat(option, " ", text, ": NAME=VALUE is wanted"));
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

absl::StatusOr<onnx::LoadOptions> options_of(const ModelCommand& command) {
  onnx::LoadOptions options;
  for (const std::string& extent : command.extents) {
    absl::StatusOr<std::pair<std::string, std::string>> pair = split_pair(extent, "--extent");
    if (!pair.ok()) return pair.status();
    if (!absl::SimpleAtoi(pair->second, &options.extents[pair->first]))
      return absl::InvalidArgumentError(absl::StrCat("--extent ", extent, ": no number"));
  }
  for (const std::string& input : command.inputs) {
    absl::StatusOr<std::pair<std::string, std::string>> pair = split_pair(input, "--input");
    if (!pair.ok()) return pair.status();
    Result<HostTensor> tensor = read_npy(pair->second);
    if (!tensor.ok()) return tensor.status();
    options.given.emplace(pair->first, *tensor);
  }
  return options;
}

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

// A model file, what it says, and the sizes that nobody gave.
struct File {
  MappedFile bytes;
  onnx::ModelDef def;
};
absl::StatusOr<File> open(const std::string& path) {
  Result<MappedFile> bytes = MappedFile::open(path);
  if (!bytes.ok()) return bytes.status();
  Result<onnx::ModelDef> def = onnx::parse_model(bytes->bytes(), std::filesystem::path(path).parent_path().string());
  if (!def.ok()) return def.status();
  return File{*std::move(bytes), *std::move(def)};
}
void fill_extents(const onnx::ModelDef& def, onnx::LoadOptions& options, std::ostream& err) {
  for (const onnx::PortDef& port : def.graph.inputs) {
    if (options.given.contains(port.name)) continue;
    for (const onnx::PortDef::Extent& extent : port.shape) {
      bool from_input = false;
      for (const onnx::PortDef& other : def.graph.inputs) {
        for (const onnx::PortDef::Extent& named : other.shape)
          from_input = from_input || (options.given.contains(other.name) && named.symbol == extent.symbol);
      }
      if (extent.size >= 0 || extent.symbol.empty() || from_input || options.extents.contains(extent.symbol)) continue;
      options.extents[extent.symbol] = 1;
      err << "extent \"" << extent.symbol << "\" is taken as 1: --extent " << extent.symbol << "=N for another\n";
    }
  }
}

// Floats in [-1, 1], integers 0 or 1: small enough to be indices of almost anything.
HostTensor random_tensor(const onnx::Port& port, std::mt19937& random) {
  int64_t count = 1;
  for (const int64_t extent : port.shape) count *= extent;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const double unit = std::uniform_real_distribution<double>(0, 1)(random);
    values.push_back(onnx::is_float(port.type) ? 2 * unit - 1 : unit < 0.5 ? 0 : 1);
  }
  if (port.type == ElementType::c64)
    return HostTensor::of_bytes(port.type, port.shape, std::vector<std::byte>(static_cast<size_t>(count) * 8));
  return HostTensor::of_numbers(port.type, port.shape, values);
}

reference::Array array_of(const HostTensor& tensor) {
  reference::Array array(*onnx::carrier_of(tensor.type()), onnx::shape_of(tensor.shape()));
  Result<std::vector<std::byte>> bytes = onnx::carried(tensor);
  if (!bytes.ok()) return array;
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(bytes->data()), bytes->size() / 4);
  return reference::unpack(array.dtype, array.shape, words);
}

// What the ops' references give, against what the device gave. True: close enough.
bool check_outputs(const onnx::Model& model, const onnx::HostTensors& given, const onnx::HostTensors& got,
                   std::ostream& out) {
  reference::Arrays data;
  for (const onnx::Port& port : model.inputs) {
    if (!port.graph_name.empty()) data[port.graph_name] = array_of(given.find(port.name)->second);
  }
  for (const onnx::Parameter& parameter : model.parameters) data[parameter.name] = array_of(parameter.elements);
  const reference::Arrays exact = reference::run(model.graph.graph(), data, {.round = false});
  const reference::Arrays stored = reference::run(model.graph.graph(), data);
  bool right = true;
  for (const onnx::Port& port : model.outputs) {
    const reference::Array &want = exact.at(port.graph_name), &rounded = stored.at(port.graph_name),
                           have = array_of(got.find(port.name)->second);
    double worst = 0, allowed = 0, greatest = 0;
    bool nan = false;
    for (size_t i = 0; i < want.data.size(); ++i) {
      if (std::isnan(want.data[i]) && std::isnan(have.data[i])) continue;
      if (want.data[i] == have.data[i]) continue;
      worst = std::max(worst, std::abs(want.data[i] - have.data[i]));
      allowed = std::max(allowed, std::abs(want.data[i] - rounded.data[i]));
      nan = nan || std::isnan(want.data[i]) != std::isnan(have.data[i]);
      greatest = std::max(greatest, std::abs(want.data[i]));
    }
    // Rounding every value to its type is the measure for what the device may differ by.
    allowed = 8 * allowed + 1e-6 * greatest;
    const bool close = worst <= allowed && !nan;
    right = right && close;
    out << absl::StrFormat("check     %s differs from the double reference by at most %.1e (storage allows %.1e): %s\n",
                           port.name, worst, allowed, close ? "right" : "WRONG");
  }
  return right;
}

int fail(const absl::Status& status, std::ostream& err) {
  err << status.message() << "\n";
  return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) || absl::IsNotFound(status) ? 1 : 2;
}

}  // namespace

int inspect_command(const InspectCommand& command, std::ostream& out, std::ostream& err) {
  absl::StatusOr<onnx::LoadOptions> options = options_of(command);
  if (!options.ok()) return err << options.status().message() << "\n", 2;
  absl::StatusOr<File> file = open(command.model);
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
  const Program program = compile(model->graph.graph(), target);
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
  absl::StatusOr<onnx::LoadOptions> options = options_of(command);
  if (!options.ok()) return err << options.status().message() << "\n", 2;
  absl::StatusOr<File> file = open(command.model);
  if (!file.ok()) return fail(file.status(), err);
  for (const auto& [name, tensor] : options->given) {
    const auto& ports = file->def.graph.inputs;
    if (std::none_of(ports.begin(), ports.end(), [&](const onnx::PortDef& port) { return port.name == name; })) {
      return err << "the model has no input \"" << name << "\"\n", 2;
    }
  }
  fill_extents(file->def, *options, err);
  Result<onnx::Model> model = onnx::load(command.model, *options);
  if (!model.ok()) return fail(model.status(), err);
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

  std::mt19937 random(static_cast<uint32_t>(command.seed));
  onnx::HostTensors given = options->given, got;
  for (const onnx::Port& port : model->inputs) {
    if (!given.contains(port.name)) given.emplace(port.name, random_tensor(port, random));
    if (Status status = session->set(port.name, given.find(port.name)->second); !status.ok()) return fail(status, err);
  }
  double best = 0;
  for (int64_t run = 0; run < std::max<int64_t>(command.runs, 1) + 1; ++run) {  // the first one has drivers compile
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = session->run().wait(); !status.ok()) return fail(status, err);
    const double took = seconds_since(begin);
    if (run == 0) {
      out << absl::StrFormat("first run after %.2f s\n", seconds_since(start));
    } else {
      best = run == 1 ? took : std::min(best, took);
    }
  }
  out << absl::StrFormat("run       %.3f ms, best of %d\n", best * 1e3, std::max<int64_t>(command.runs, 1));
  if (!command.output_dir.empty()) {
    std::error_code code;
    std::filesystem::create_directories(command.output_dir, code);
  }
  for (const onnx::Port& port : model->outputs) {
    Result<HostTensor> tensor = session->get(port.name);
    if (!tensor.ok()) return fail(tensor.status(), err);
    out << "output    " << port.name << " " << onnx::name_of(port.type) << shape_text(port.shape);
    if (!command.output_dir.empty()) {
      std::string name = port.name;
      std::replace(name.begin(), name.end(), '/', '_');
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
  return !command.check || check_outputs(*model, given, got, out) ? 0 : 1;
}

}  // namespace rlxgpu::tools

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/onnx/batch_norm.h"
#include "rlxgpu/load/onnx/importer.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/load/weight_part.h"

namespace rlxgpu::core::onnx {
namespace {

Status error_of(const std::vector<NodeError>& errors) {
  std::string text;
  bool unsupported = true;
  for (const NodeError& error : errors) {
    unsupported = unsupported && error.refusal.unsupported;
    absl::StrAppend(&text, errors.size() > 1 ? "\n  " : "", error.node, " (", error.op, "): ", error.refusal.why);
  }
  if (errors.size() > 1) text = absl::StrCat(errors.size(), " things in the way of this ONNX model:", text);
  return unsupported ? absl::UnimplementedError(text) : absl::InvalidArgumentError(text);
}

void count_ops(std::span<const NodeDef> nodes, std::map<std::string, int>& counts) {
  for (const NodeDef& node : nodes) {
    ++counts[node.domain.empty() ? node.op : node.domain + "." + node.op];
    for (const Attribute& a : node.attributes) {
      if (a.graph != nullptr) count_ops(a.graph->nodes, counts);
    }
  }
}

}  // namespace

Result<Model> import_model(const ModelDef& def, const LoadOptions& options) {
  if (def.opsets.empty()) return absl::InvalidArgumentError("the ONNX model names no opset");
  if (const auto own = def.opsets.find(""); own != def.opsets.end() && own->second > kLastOpset) {
    return absl::UnimplementedError(absl::StrCat("the ONNX model is of opset ", own->second, ": ", kFirstOpset, " to ",
                                                 kLastOpset, " are supported"));
  }
  std::set<int> bound;
  for (;;) {
    Model model;
    Importer importer(*model.graph, def, options);
    importer.import_model(bound);
    const size_t before = bound.size();
    for (const int input : importer.wanted()) bound.insert(input);
    if (bound.size() > before) continue;  // again, with these known from the beginning
    if (!importer.errors().empty()) return error_of(importer.errors());
    model.inputs = std::move(importer.inputs);
    model.outputs = std::move(importer.outputs);
    model.parameters = std::move(importer.parameters);
    model.opsets = def.opsets;
    model.nodes = std::move(importer.nodes);
    std::map<std::string, int> counts;
    count_ops(def.graph.nodes, counts);
    for (const FunctionDef& function : def.functions) count_ops(function.nodes, counts);
    model.ops.assign(counts.begin(), counts.end());
    return model;
  }
}

namespace {

// Keeps the first `count` slices along an axis.
void cut(std::vector<std::byte>& bytes, std::vector<int64_t>& shape, int axis, int64_t count, DType dtype) {
  int64_t outer = 1, inner = bytes_of(dtype);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i < static_cast<size_t>(axis)) outer *= shape[i];
    if (i > static_cast<size_t>(axis)) inner *= shape[i];
  }
  int64_t& extent = shape[static_cast<size_t>(axis)];
  count = std::clamp<int64_t>(count, 0, extent);
  for (int64_t o = 0; o < outer; ++o)
    std::copy_n(bytes.begin() + o * extent * inner, count * inner, bytes.begin() + o * count * inner);
  extent = count;
  bytes.resize(storage_bytes(u8, outer * count * inner));
}

absl::Status in_file(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

const Port* find(const std::vector<Port>& ports, std::string_view name) {
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

}  // namespace

const Port* Model::find_input(std::string_view name) const { return find(inputs, name); }
const Port* Model::find_output(std::string_view name) const { return find(outputs, name); }

Status upload(const Parameter& parameter, const Weights& weights) {
  Result<std::vector<std::byte>> bytes = to_device_bytes(parameter.elements);
  if (!bytes.ok())
    return absl::InvalidArgumentError(absl::StrCat("weight \"", parameter.name, "\": ", bytes.status().message()));
  bytes->resize(storage_bytes(*carrier_of(parameter.elements.type()), parameter.elements.count()));
  return weights.set(parameter.name, *carrier_of(parameter.elements.type()), shape_of(parameter.elements.shape()),
                     *bytes);
}

Status Model::upload(const Weights& weights) const {
  uint64_t expected = 0;
  for (const Parameter& parameter : parameters) {
    const uint64_t bytes = storage_bytes(*carrier_of(parameter.elements.type()), parameter.elements.count());
    expected += (bytes + 255) / 256 * 256;
  }
  weights.reserve(expected);
  for (const Parameter& parameter : parameters) {
    if (Status status = onnx::upload(parameter, weights); !status.ok()) return status;
  }
  return {};
}

Result<ModelDef> read_model(std::span<const std::byte> bytes, const std::string& folder) {
  Result<ModelDef> def = parse_model(bytes, folder);
  if (def.ok()) fold_batch_norms(def->graph);
  return def;
}

Result<ModelDef> read_model(const std::string& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  Result<ModelDef> def = read_model(file->bytes(), folder.empty() ? "." : folder.string());
  return def.ok() ? std::move(def) : in_file(path, def.status());
}

Result<Model> load(std::span<const std::byte> bytes, const LoadOptions& options, const std::string& folder) {
  Result<ModelDef> def = read_model(bytes, folder);
  if (!def.ok()) return def.status();
  return import_model(*def, options);
}

Result<Model> load(const std::string& path, const LoadOptions& options) {
  Result<ModelDef> def = read_model(path);
  if (!def.ok()) return def.status();
  Result<Model> model = import_model(*def, options);
  return model.ok() ? std::move(model) : in_file(path, model.status());
}

Result<Session> Session::create(const Device& device, const Model& model, const DynamicOptions& options,
                                PreparedWeights* prepared) {
  DynamicOptions with_weights = options;
  Weights file = options.engine.weights;  // as the model has them
  if (!file) {
    file = Weights(device), with_weights.engine.weights = Weights(device);
    if (Status status = model.upload(file); !status.ok()) return status;
  }
  Result<DynamicGraph> rest = prepare_weights(device, model.graph.graph(), file, with_weights.engine.weights, prepared);
  if (!rest.ok()) return rest.status();
  file = {};  // before the model's own buffers are made
  Result<Executable<DynamicGraph>> executable = Executable<DynamicGraph>::create(device, *rest, with_weights);
  if (!executable.ok()) return executable.status();
  Session session;
  session.executable_ = *std::move(executable);
  session.inputs_ = model.inputs;
  session.outputs_ = model.outputs;
  return session;
}

Status Session::set(std::string_view name, const HostTensor& elements) {
  const Port* port = find(inputs_, name);
  if (port == nullptr) return absl::NotFoundError(absl::StrCat("the model has no input \"", name, "\""));
  if (elements.type() != port->type || elements.shape() != port->shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("input \"", name, "\" is of another type or shape than the model was loaded for"));
  }
  if (port->bound) {
    const auto same = [](std::span<const std::byte> a, std::span<const std::byte> b) {
      return std::ranges::equal(a, b);
    };
    if (same(port->elements.bytes(), elements.bytes())) return {};
    return absl::FailedPreconditionError(
        absl::StrCat("input \"", name, "\" decides shapes: load the model again with its new elements"));
  }
  if (executable_.count(port->graph_name) < 0) return {};  // nothing reads it
  Result<std::vector<std::byte>> bytes = to_device_bytes(elements);
  if (!bytes.ok()) return absl::InvalidArgumentError(absl::StrCat("input \"", name, "\": ", bytes.status().message()));
  return executable_.set_elements(port->graph_name, *carrier_of(port->type), elements.count(), bytes->data());
}

Result<HostTensor> Session::get(std::string_view name) {
  const Port* port = find(outputs_, name);
  if (port == nullptr) return absl::NotFoundError(absl::StrCat("the model has no output \"", name, "\""));
  const DType dtype = *carrier_of(port->type);
  const int64_t count = executable_.count(port->graph_name);
  std::vector<std::byte> bytes(storage_bytes(dtype, count));
  if (Status status = executable_.get_elements(port->graph_name, dtype, count, bytes.data()); !status.ok())
    return status;
  std::vector<int64_t> shape = port->shape;
  if (!port->count_name.empty()) {
    int32_t found = 0;
    if (Status status = executable_.get_elements(port->count_name, i32, 1, &found); !status.ok()) return status;
    cut(bytes, shape, port->count_axis, found, dtype);
  }
  return from_device_bytes(port->type, shape, bytes);
}

}  // namespace rlxgpu::core::onnx

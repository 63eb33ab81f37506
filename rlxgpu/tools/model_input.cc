#include "rlxgpu/tools/model_input.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/tools/npy.h"

namespace rlxgpu::core::tools {
namespace {

using onnx::ElementType;
using onnx::HostTensor;

absl::StatusOr<std::pair<std::string, std::string>> split_pair(const std::string& text, std::string_view option) {
  const size_t at = text.find('=');
  if (at == std::string::npos)
    return absl::InvalidArgumentError(absl::StrCat(option, " ", text, ": NAME=VALUE is wanted"));
  return std::pair(text.substr(0, at), text.substr(at + 1));
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

}  // namespace

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

absl::StatusOr<ModelFile> open_model(const std::string& path) {
  Result<MappedFile> bytes = MappedFile::open(path);
  if (!bytes.ok()) return bytes.status();
  Result<onnx::ModelDef> def = onnx::parse_model(bytes->bytes(), std::filesystem::path(path).parent_path().string());
  if (!def.ok()) return def.status();
  return ModelFile{*std::move(bytes), *std::move(def)};
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

int fail(const absl::Status& status, std::ostream& err) {
  err << status.message() << "\n";
  const bool wrong = absl::IsDataLoss(status);  // found by verification
  return wrong || absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) || absl::IsNotFound(status) ? 1 : 2;
}

void fill_inputs(LoadedModel& loaded, uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (const onnx::Port& port : loaded.model.inputs) {
    if (!loaded.inputs.contains(port.name)) loaded.inputs.emplace(port.name, random_tensor(port, random));
  }
}

int load_model(const ModelCommand& command, uint64_t seed, std::ostream& err, LoadedModel& loaded) {
  absl::StatusOr<onnx::LoadOptions> options = options_of(command);
  if (!options.ok()) return err << options.status().message() << "\n", 2;
  absl::StatusOr<ModelFile> file = open_model(command.model);
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
  loaded.model = *std::move(model);
  loaded.inputs = options->given;
  fill_inputs(loaded, seed);
  return 0;
}

}  // namespace rlxgpu::core::tools

#include "rlxgpu/tools/export_command.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/kernels/recognised.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/load/weight_part.h"
#include "rlxgpu/tools/bundle.h"
#include "rlxgpu/tools/examples.h"

namespace rlxgpu::core::tools {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<RenderedProgram> plan(const Graph& graph) {
  CompileOptions options;
  options.check = true;
  RenderedProgram rendered = rlxgpu::core::render(compile(recognised(graph, kPortable), kPortable, options), kPortable);
  if (!rendered.program.error.empty()) return absl::InvalidArgumentError(rendered.program.error.view());
  return rendered;
}

Json ports_json(const std::vector<onnx::Port>& ports) {
  Json list = Json::array();
  for (const onnx::Port& port : ports) {
    Json entry = {{"name", port.name},
                  {"type", std::string(onnx::name_of(port.type))},
                  {"shape", port.shape},
                  {"tensor", port.graph_name},
                  {"bound", port.bound}};
    if (!port.count_name.empty()) entry["count"] = {{"tensor", port.count_name}, {"axis", port.count_axis}};
    list.push_back(std::move(entry));
  }
  return list;
}

absl::Status export_model(const ExportCommand& command, const onnx::Model& model) {
  std::vector<std::vector<std::byte>> bytes;
  bytes.reserve(model.parameters.size());
  std::vector<StoredTensor> weights;
  for (const onnx::Parameter& parameter : model.parameters) {
    Result<std::vector<std::byte>> elements = onnx::to_device_bytes(parameter.elements);
    if (!elements.ok())
      return absl::InvalidArgumentError(absl::StrCat("weight \"", parameter.name, "\": ", elements.status().message()));
    const DType carrier = *onnx::carrier_of(parameter.elements.type());
    elements->resize(static_cast<size_t>(parameter.elements.count()) * static_cast<size_t>(bytes_of(carrier)));
    bytes.push_back(*std::move(elements));
    weights.push_back({parameter.name, stored_as(carrier), parameter.elements.shape(), bytes.back()});
  }
  const WeightPart part = split_weights(model.graph.graph());
  const absl::StatusOr<RenderedProgram> rest = plan(part.rest.graph());
  if (!rest.ok()) return rest.status();
  std::vector<BundleProgram> programs = {{"main", &*rest}};
  absl::StatusOr<RenderedProgram> once;
  if (!part.names.empty()) {
    once = plan(part.once.graph());
    if (!once.ok()) return once.status();
    programs.push_back({"prepare", &*once, /*once=*/true});
  }
  return write_bundle(command.web, programs, weights,
                      {{"inputs", ports_json(model.inputs)}, {"outputs", ports_json(model.outputs)}});
}

}  // namespace

int export_command(const ExportCommand& command, std::ostream& out, std::ostream& err) {
  const auto finish = [&](const absl::Status& status) {
    if (!status.ok()) return fail(status, err);
    out << "wrote " << command.web << "/manifest.json and the files that it names\n";
    return 0;
  };
  if (!absl::EndsWith(command.model, ".onnx")) {
    const Example* example = find_example(command.model);
    if (example == nullptr) {
      err << "\"" << command.model
          << "\" is neither an .onnx file nor an example; `rlxgpu program` lists the examples\n";
      return 2;
    }
    const absl::StatusOr<RenderedProgram> program = render(*example);
    if (!program.ok()) return fail(program.status(), err);
    const BundleProgram programs[] = {{"main", &*program}};
    return finish(write_bundle(command.web, programs, {}));
  }
  absl::StatusOr<onnx::LoadOptions> options = options_of(command);
  if (!options.ok()) return err << options.status().message() << "\n", 2;
  const absl::StatusOr<ModelFile> file = open_model(command.model);
  if (!file.ok()) return fail(file.status(), err);
  fill_extents(file->def, *options, err);
  const Result<onnx::Model> model = onnx::load(command.model, *options);
  return finish(model.ok() ? export_model(command, *model) : absl::Status(model.status()));
}

}  // namespace rlxgpu::core::tools

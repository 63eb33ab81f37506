#include "rlxgpu/models/language_model.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rlxgpu/load/gguf_weights.h"

namespace rlxgpu::core {

struct LanguageModel::Loaded {
  Device device;
  Gguf file;
  Metadata meta;
  const ModelArchitecture* architecture = nullptr;
  Weights weights;
  LoadModelOptions options;

  Loaded(const Device& on, Gguf from, const LoadModelOptions& as)
      : device(on), file(std::move(from)), meta(file), weights(on), options(as) {}
};

namespace {

std::string known_names() {
  return absl::StrJoin(model_architectures(), ", ",
                       [](std::string* out, const ModelArchitecture& a) { absl::StrAppend(out, a.name); });
}

}  // namespace

Result<LanguageModel> LanguageModel::load(const Device& device, const std::string& path,
                                          const LoadModelOptions& options) {
  Result<Gguf> file = Gguf::open(path);
  if (!file.ok()) return file.status();
  auto loaded = std::make_shared<Loaded>(device, *std::move(file), options);
  const std::string& name = loaded->meta.architecture();
  loaded->architecture = find_model_architecture(name);
  if (loaded->architecture == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": rlxgpu has no architecture \"", name, "\"; it has ", known_names()));
  }
  const LanguageModel model(loaded);
  const Result<DynamicGraph> graph = model.graph({.embeddings = loaded->architecture->encoder});
  if (!graph.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", graph.status().message()));
  if (Status status = load_weights(loaded->file, graph->graph(), loaded->weights, {.progress = options.progress});
      !status.ok())
    return status;
  return model;
}

const Device& LanguageModel::device() const { return loaded_->device; }
const Gguf& LanguageModel::file() const { return loaded_->file; }
const Metadata& LanguageModel::metadata() const { return loaded_->meta; }
const ModelArchitecture& LanguageModel::architecture() const { return *loaded_->architecture; }
const Weights& LanguageModel::weights() const { return loaded_->weights; }

int64_t LanguageModel::vocabulary() const {
  const GgufTensor* table = loaded_->file.find("output.weight");
  if (table == nullptr) table = loaded_->file.find("token_embd.weight");
  return table == nullptr || table->shape.empty() ? 0 : table->shape[0];
}

Result<DynamicGraph> LanguageModel::graph(const models::NetPlan& plan) const {
  DynamicGraph graph;
  models::Net net(*graph, loaded_->file, loaded_->meta, plan);
  loaded_->architecture->build(net);
  if (!graph->ok()) return absl::InvalidArgumentError(graph.graph().error.view());
  return graph;
}

Result<Executable<DynamicGraph>> LanguageModel::program(const models::NetPlan& plan, const States& memory) const {
  Result<DynamicGraph> graph = this->graph(plan);
  if (!graph.ok()) return graph.status();
  return Executable<DynamicGraph>::create(
      loaded_->device, *graph,
      {.engine = {.label = loaded_->meta.architecture(), .weights = loaded_->weights, .states = memory},
       .sizes = loaded_->options.sizes});
}

}  // namespace rlxgpu::core

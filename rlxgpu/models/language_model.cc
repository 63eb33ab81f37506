#include "rlxgpu/models/language_model.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rlxgpu {

struct LanguageModel::Loaded {
  Device device;
  Gguf file;
  Metadata meta;
  const Architecture* architecture = nullptr;
  Weights weights;
  LoadModelOptions options;

  Loaded(const Device& on, Gguf from, const LoadModelOptions& as)
      : device(on), file(std::move(from)), meta(file), weights(on), options(as) {}
};

namespace {

// A file's bytes as the elements of a param, filled up to whole words.
Status upload(const Weights& weights, const Graph& graph, const Node& param, const GgufTensor& tensor) {
  const Value& value = graph.value(param.results.first);
  const size_t bytes = storage_bytes(value.dtype, value.shape.count());
  if (tensor.data.size() == bytes) return weights.set(tensor.name, value.dtype, value.shape, tensor.data);
  std::vector<std::byte> filled(bytes);
  std::copy(tensor.data.begin(), tensor.data.end(), filled.begin());
  return weights.set(tensor.name, value.dtype, value.shape, filled);
}

std::string known_names() {
  return absl::StrJoin(architectures(), ", ", [](std::string* out, const Architecture& a) { absl::StrAppend(out, a.name); });
}

}  // namespace

Result<LanguageModel> LanguageModel::load(const Device& device, const std::string& path, const LoadModelOptions& options) {
  Result<Gguf> file = Gguf::open(path);
  if (!file.ok()) return file.status();
  auto loaded = std::make_shared<Loaded>(device, *std::move(file), options);
  const std::string& name = loaded->meta.architecture();
  loaded->architecture = find_architecture(name);
  if (loaded->architecture == nullptr) {
    return absl::UnimplementedError(absl::StrCat(path, ": rlxgpu has no architecture \"", name, "\"; it has ", known_names()));
  }
  const LanguageModel model(loaded);
  const Result<DynamicGraph> graph = model.graph({.embeddings = loaded->architecture->encoder});
  if (!graph.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", graph.status().message()));
  uint64_t total = 0, done = 0;
  std::vector<std::pair<const Node*, const GgufTensor*>> params;
  for (const Node& node : graph->graph().nodes) {
    if (node.kind != NodeKind::param) continue;
    const GgufTensor* const tensor = loaded->file.find(graph->graph().name(node.name));
    params.emplace_back(&node, tensor);
    total += tensor->data.size() + 255;
  }
  loaded->weights.reserve(total);
  for (const auto& [node, tensor] : params) {
    if (Status status = upload(loaded->weights, graph->graph(), *node, *tensor); !status.ok()) return status;
    done += tensor->data.size() + 255;
    if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(total));
  }
  return model;
}

const Device& LanguageModel::device() const { return loaded_->device; }
const Gguf& LanguageModel::file() const { return loaded_->file; }
const Metadata& LanguageModel::metadata() const { return loaded_->meta; }
const Architecture& LanguageModel::architecture() const { return *loaded_->architecture; }
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

}  // namespace rlxgpu

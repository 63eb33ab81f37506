// LanguageModel: a GGUF file on a device, from which programs are made.
//
//   Result<LanguageModel> model = LanguageModel::load(device, "model.gguf");
//   States memory(device);
//   auto prompt = model->program({.tokens = 512, .any_count = true, .context = 4096}, memory);
//   auto next = model->program({.context = 4096}, memory);            // one token: {"tokens"}, {"before"} -> "logits"
//
// Weights lie on the device as in the file and are shared by all programs. The file stays mapped. A handle: copies are
// cheap. Generator (rlxgpu/generate/generator.h) does all of this.
#ifndef RLXGPU_MODELS_LANGUAGE_MODEL_H_
#define RLXGPU_MODELS_LANGUAGE_MODEL_H_

#include <functional>
#include <memory>
#include <string>

#include "rlxgpu/dynamic.h"
#include "rlxgpu/load/gguf.h"
#include "rlxgpu/models/architectures.h"
#include "rlxgpu/models/metadata.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/weights.h"

namespace rlxgpu::core {

struct LoadModelOptions {
  std::function<bool(uint64_t done, uint64_t bytes)> progress = {};  // while weights are loaded; false stops
  Sizes sizes = Sizes::baked;                                        // of its programs' kernels
};

class LanguageModel {
 public:
  static Result<LanguageModel> load(const Device& device, const std::string& path,
                                    const LoadModelOptions& options = {});

  const Device& device() const;
  const Gguf& file() const;
  const Metadata& metadata() const;
  const ModelArchitecture& architecture() const;
  const Weights& weights() const;
  int64_t vocabulary() const;  // rows of logits: the tokenizer's tokens may be fewer

  // The graph of a plan, or what is missing in the file.
  Result<DynamicGraph> graph(const models::NetPlan& plan) const;
  Result<Executable<DynamicGraph>> program(const models::NetPlan& plan, const States& memory) const;

 private:
  struct Loaded;
  explicit LanguageModel(std::shared_ptr<const Loaded> loaded) : loaded_(std::move(loaded)) {}
  std::shared_ptr<const Loaded> loaded_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::LanguageModel, core::LoadModelOptions;
}  // namespace rlxgpu

#endif  // RLXGPU_MODELS_LANGUAGE_MODEL_H_

// Debian's libllama as a judge: the same file, on the CPU, in f32.
#ifndef RLXGPU_TESTS_LANGUAGE_LLAMA_CPP_H_
#define RLXGPU_TESTS_LANGUAGE_LLAMA_CPP_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llama.h"

namespace rlxgpu::core::testing {

class LlamaCpp {
 public:
  // `embeddings`: a vector for each token instead of logits. `vocabulary_only`: for its tokenizer.
  LlamaCpp(const std::string& path, uint32_t context, bool embeddings = false, bool vocabulary_only = false);

  bool ok() const { return model_ != nullptr && (context_ != nullptr || vocabulary_only_); }
  const llama_model* model() const { return model_.get(); }
  const llama_vocab* vocabulary() const { return llama_model_get_vocab(model_.get()); }
  void clear() const { llama_memory_clear(llama_get_memory(context_.get()), true); }
  // What it says after these tokens, which follow those before; of embeddings all rows.
  std::vector<float> next(std::span<const uint32_t> tokens) const;

 private:
  struct Free {
    void operator()(llama_model* p) const { llama_model_free(p); }
    void operator()(llama_context* p) const { llama_free(p); }
  };
  bool vocabulary_only_ = false, embeddings_ = false;
  std::unique_ptr<llama_model, Free> model_;
  std::unique_ptr<llama_context, Free> context_;
};

// Writes small models with random weights, whose architectures match an expression, and says where.
std::filesystem::path random_models(const std::string& expression);

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_LANGUAGE_LLAMA_CPP_H_

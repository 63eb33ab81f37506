#include "tests/language/llama_cpp.h"

#include <algorithm>
#include <cstdlib>

#include "ggml-backend.h"

namespace rlxgpu::core::testing {

LlamaCpp::LlamaCpp(const std::string& path, uint32_t context, bool embeddings, bool vocabulary_only)
    : vocabulary_only_(vocabulary_only), embeddings_(embeddings) {
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  static const bool loaded = (ggml_backend_load_all(), true);
  static_cast<void>(loaded);
  llama_model_params model = llama_model_default_params();
  model.n_gpu_layers = 0;
  model.vocab_only = vocabulary_only;
  model_.reset(llama_model_load_from_file(path.c_str(), model));
  if (model_ == nullptr || vocabulary_only) return;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = context;
  params.n_threads = params.n_threads_batch = 2;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.swa_full = true;
  params.embeddings = embeddings;
  if (embeddings) params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  context_.reset(llama_init_from_model(model_.get(), params));
}

std::vector<float> LlamaCpp::next(std::span<const uint32_t> tokens) const {
  std::vector<llama_token> given(tokens.begin(), tokens.end());
  const llama_batch batch = llama_batch_get_one(given.data(), static_cast<int32_t>(given.size()));
  const bool encoder = llama_model_has_encoder(model_.get());
  if ((encoder ? llama_encode(context_.get(), batch) : llama_decode(context_.get(), batch)) != 0) return {};
  if (!embeddings_) {
    const float* const logits = llama_get_logits_ith(context_.get(), -1);
    if (logits == nullptr) return {};
    return {logits, logits + llama_vocab_n_tokens(vocabulary())};
  }
  std::vector<float> all;
  const int width = llama_model_n_embd(model_.get());
  for (size_t i = 0; i < given.size(); ++i) {
    const float* const row = llama_get_embeddings_ith(context_.get(), static_cast<int32_t>(i));
    if (row == nullptr) return {};
    all.insert(all.end(), row, row + width);
  }
  return all;
}

std::filesystem::path random_models(const std::string& expression) {
  const char* const scratch = std::getenv("TEST_TMPDIR");
  const std::filesystem::path folder = std::filesystem::path(scratch == nullptr ? "/tmp" : scratch) / "random_models";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string command = "/usr/libexec/*/llama.cpp-tests/test-llama-archs -s 7 -a '" + expression + "' -o '" +
                              folder.string() + "' >'" + folder.string() + "/log' 2>&1";
  if (std::system(command.c_str()) != 0) return {};
  return folder;
}

}  // namespace rlxgpu::core::testing

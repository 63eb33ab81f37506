// A Llama so small that the plain program says 64 tokens in no time, with shared heads and sizes that are ragged.
#ifndef RLXGPU_TESTS_MODELS_SMALL_LLAMA_H_
#define RLXGPU_TESTS_MODELS_SMALL_LLAMA_H_

#include "docs/examples/llama.h"

namespace rlxgpu::core::testing {

inline constexpr examples::LlamaSize kLlama = {.layers = 2,
                                               .width = 32,
                                               .heads = 4,
                                               .kv_heads = 2,
                                               .head = 8,
                                               .hidden = 56,
                                               .vocabulary = 61,
                                               .context = 80,
                                               .few_tokens = 4};
inline constexpr examples::LlamaSize kLlamaSampled = [] {
  examples::LlamaSize size = kLlama;
  size.sampled = true;
  return size;
}();

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_MODELS_SMALL_LLAMA_H_

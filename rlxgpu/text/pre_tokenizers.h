// How models that merge pairs of bytes find words, by the name that GGUF files give to it (tokenizer.ggml.pre).
#ifndef RLXGPU_TEXT_PRE_TOKENIZERS_H_
#define RLXGPU_TEXT_PRE_TOKENIZERS_H_

#include <string_view>
#include <vector>

namespace rlxgpu::core {

// Expressions, each of which cuts every piece that is left by those before into its matches and what is between them.
// None for a name that is not known.
std::vector<std::string_view> word_expressions(std::string_view pre);

}  // namespace rlxgpu::core

#endif  // RLXGPU_TEXT_PRE_TOKENIZERS_H_

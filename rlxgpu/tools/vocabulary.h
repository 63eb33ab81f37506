// Vocabulary: the tokens of Llama's tokenizer as npm's llama-tokenizer-js holds them, and texts from them.
//
//   absl::StatusOr<Vocabulary> words = Vocabulary::open("llama-tokenizer.js");
//   words->text({1126, 3237});                      // "And Mr"
#ifndef RLXGPU_TOOLS_VOCABULARY_H_
#define RLXGPU_TOOLS_VOCABULARY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace rlxgpu::core::tools {

class Vocabulary {
 public:
  // The file's string llama_vocab_base64: lines in base64, one for each token.
  static absl::StatusOr<Vocabulary> open(const std::string& path);
  static absl::StatusOr<Vocabulary> parse(std::string_view script);

  size_t size() const { return tokens_.size(); }
  // Special tokens and unknown numbers are left out, as is the space before the first word.
  std::string text(std::span<const int32_t> tokens) const;

 private:
  std::vector<std::string> tokens_;  // as they stand in a text
};

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_VOCABULARY_H_

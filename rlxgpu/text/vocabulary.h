// Vocabulary: a model's tokens, as its GGUF file lists them: texts, kinds, scores, and which of them are special.
#ifndef RLXGPU_TEXT_VOCABULARY_H_
#define RLXGPU_TEXT_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rlxgpu/load/gguf.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

using Token = uint32_t;
inline constexpr Token kNoToken = 0xffffffff;

enum class TokenKind : uint8_t { undefined, normal, unknown, control, user_defined, unused, byte };

struct Vocabulary {
  std::string model;  // "llama", "gpt2", "t5", "bert"
  std::string pre;    // how words are found, where pairs of bytes are merged
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<TokenKind> kinds;
  std::unordered_map<std::string_view, Token> by_text;  // of equal texts the last
  std::vector<Token> special;  // control, user-defined and unknown ones, the longest text first
  Token bos = kNoToken, eos = kNoToken, unknown = kNoToken, sep = kNoToken, pad = kNoToken;
  std::vector<Token> ends;  // tokens behind which a text ends
  bool add_bos = false, add_eos = false, space_prefix = false, collapse_spaces = false, ignore_merges = false;

  size_t size() const { return texts.size(); }
  Token find(std::string_view text) const {
    const auto found = by_text.find(text);
    return found == by_text.end() ? kNoToken : found->second;
  }
  TokenKind kind(Token token) const { return token < kinds.size() ? kinds[token] : TokenKind::normal; }
  Token byte(uint8_t value) const;  // "<0x0A>", or the byte itself; kNoToken when there is none

  static Result<Vocabulary> of(const Gguf& file);
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;  // by_text points to texts
  Vocabulary& operator=(Vocabulary&&) = default;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_TEXT_VOCABULARY_H_

// Tokenizer: texts to tokens and back, as a model's GGUF file says.
//
//   Result<Tokenizer> tokenizer = Tokenizer::of(*file);
//   std::vector<Token> tokens = tokenizer->encode("Hello");            // with what begins and ends a text
//   std::string text = tokenizer->decode(tokens);
//   for (Token t : answer) std::cout << tokenizer->piece(t);           // raw bytes: a letter may be in two tokens
//
// Byte-level pairs ("gpt2") with the words' expressions of each family, SentencePiece's pairs ("llama") and unigrams
// ("t5"). A name of words' expressions that is not known is refused: what it would give is not what the model was
// trained with. Special tokens in a text ("<|im_end|>") are only recognised where they are asked for: what users write
// must not have them.
#ifndef RLXGPU_TEXT_TOKENIZER_H_
#define RLXGPU_TEXT_TOKENIZER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/load/gguf.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/text/vocabulary.h"

namespace rlxgpu::core {

struct EncodeOptions {
  bool ends = true;      // with the tokens that begin and end a text, if the model wants such
  bool special = false;  // texts of control tokens are these tokens
};

// What tells one kind of tokenizer from another. Thread-safe.
class TokenMaker {
 public:
  virtual ~TokenMaker() = default;
  // The tokens of a text without special ones. `first`: nothing but a special token is before it.
  virtual void encode(std::string_view text, bool first, std::vector<Token>& to) const = 0;
  virtual std::string bytes(Token token) const = 0;  // of a normal token
};

class Tokenizer {
 public:
  static Result<Tokenizer> of(const Gguf& file);

  std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // A token's bytes; those of a control token only if `special`.
  std::string piece(Token token, bool special = false) const;
  std::string decode(std::span<const Token> tokens, bool special = false) const;
  bool ends(Token token) const;  // a text, or an answer
  const Vocabulary& vocabulary() const { return *vocabulary_; }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const TokenMaker> maker_;
};

// The kinds, in files of their own.
Result<std::shared_ptr<const TokenMaker>> byte_pairs(const Gguf& file, const Vocabulary& vocabulary);
Result<std::shared_ptr<const TokenMaker>> sentence_pieces(const Vocabulary& vocabulary);
Result<std::shared_ptr<const TokenMaker>> unigrams(const Gguf& file, const Vocabulary& vocabulary);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::EncodeOptions, core::Token, core::Tokenizer, core::Vocabulary;
}  // namespace rlxgpu

#endif  // RLXGPU_TEXT_TOKENIZER_H_

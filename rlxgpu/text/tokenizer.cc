#include "rlxgpu/text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace rlxgpu::core {
namespace {

// A part of a text: a special token, or what is between such.
struct Fragment {
  std::string_view text;
  Token token = kNoToken;
};

// Every special token, the longest first, is cut out of what those before have left.
std::vector<Fragment> fragments_of(const Vocabulary& v, std::string_view text, bool special) {
  std::vector<Fragment> fragments = {{text}};
  for (const Token token : v.special) {
    if (!special && v.kind(token) != TokenKind::user_defined) continue;
    const std::string_view wanted = v.texts[token];
    std::vector<Fragment> cut;
    for (const Fragment& fragment : fragments) {
      std::string_view rest = fragment.text;
      for (size_t at; fragment.token == kNoToken && (at = rest.find(wanted)) != std::string_view::npos;
           rest.remove_prefix(at + wanted.size())) {
        if (at > 0) cut.push_back({rest.substr(0, at)});
        cut.push_back({wanted, token});
      }
      if (fragment.token != kNoToken || !rest.empty()) cut.push_back({rest, fragment.token});
    }
    fragments = std::move(cut);
  }
  return fragments;
}

}  // namespace

Result<Tokenizer> Tokenizer::of(const Gguf& file) {
  Result<Vocabulary> read = Vocabulary::of(file);
  if (!read.ok()) return read.status();
  Tokenizer tokenizer;
  const auto vocabulary = std::make_shared<const Vocabulary>(*std::move(read));
  const std::string& model = vocabulary->model;
  if (model != "gpt2" && model != "llama" && model != "t5") {
    return absl::UnimplementedError(
        absl::StrCat("the tokenizer \"", model,
                     "\" is not one that rlxgpu has: gpt2 (pairs of bytes), llama (SentencePiece), t5 (unigrams)"));
  }
  Result<std::shared_ptr<const TokenMaker>> maker = model == "gpt2"    ? byte_pairs(file, *vocabulary)
                                                    : model == "llama" ? sentence_pieces(*vocabulary)
                                                                       : unigrams(file, *vocabulary);
  if (!maker.ok()) return maker.status();
  tokenizer.vocabulary_ = vocabulary;
  tokenizer.maker_ = *std::move(maker);
  return tokenizer;
}

std::vector<Token> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const Vocabulary& v = *vocabulary_;
  std::vector<Token> tokens;
  if (options.ends && v.add_bos && v.bos != kNoToken) tokens.push_back(v.bos);
  bool first = true;
  for (const Fragment& fragment : fragments_of(v, text, options.special)) {
    if (fragment.token != kNoToken) {
      tokens.push_back(fragment.token);
    } else if (!fragment.text.empty()) {
      maker_->encode(fragment.text, first, tokens);
    }
    first = fragment.token != kNoToken;
  }
  if (options.ends && v.add_eos && v.eos != kNoToken) tokens.push_back(v.eos);
  return tokens;
}

std::string Tokenizer::piece(Token token, bool special) const {
  const Vocabulary& v = *vocabulary_;
  if (token >= v.size()) return {};
  switch (v.kind(token)) {
    case TokenKind::control:
    case TokenKind::unknown:
      return special ? v.texts[token] : std::string();
    case TokenKind::user_defined:
      return v.texts[token];
    default:
      return maker_->bytes(token);
  }
}

std::string Tokenizer::decode(std::span<const Token> tokens, bool special) const {
  std::string text;
  bool first = true;  // the prefix of the very first piece is none of the text's
  for (const Token token : tokens) {
    std::string bytes = piece(token, special);
    const TokenKind kind = vocabulary_->kind(token);
    if (first && vocabulary_->space_prefix && kind == TokenKind::normal && absl::StartsWith(bytes, " "))
      bytes.erase(0, 1);
    first = first && kind == TokenKind::control;
    text += bytes;
  }
  return text;
}

bool Tokenizer::ends(Token token) const {
  return std::find(vocabulary_->ends.begin(), vocabulary_->ends.end(), token) != vocabulary_->ends.end();
}

}  // namespace rlxgpu::core

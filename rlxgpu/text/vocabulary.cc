#include "rlxgpu/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace rlxgpu::core {
namespace {

// Texts that end a turn or a text, whatever the file says of their tokens.
constexpr std::string_view kEnds[] = {"<|eot_id|>",
                                      "<|im_end|>",
                                      "<|end|>",
                                      "<|return|>",
                                      "<|call|>",
                                      "<|flush|>",
                                      "<|calls|>",
                                      "<end_of_turn>",
                                      "<|endoftext|>",
                                      "</s>",
                                      "<|eom_id|>",
                                      "<EOT>",
                                      "_<EOT>",
                                      "[EOT]",
                                      "[EOS]",
                                      "<|end_of_text|>",
                                      "<end_of_utterance>",
                                      "<eos>",
                                      "<turn|>",
                                      "<|tool_response>",
                                      "<｜end▁of▁sentence｜>",
                                      "[e~["};

void set_ends(const Gguf& file, Vocabulary& v) {
  const auto add = [&](Token token) {
    if (token < v.size() && std::find(v.ends.begin(), v.ends.end(), token) == v.ends.end()) v.ends.push_back(token);
  };
  add(v.eos);
  for (const std::string_view name : {"eot", "eom", "fim_pad", "fim_rep", "fim_sep"}) {
    if (const auto id = file.integer(absl::StrCat("tokenizer.ggml.", name, "_token_id"))) add(static_cast<Token>(*id));
  }
  const bool harmony = v.find("<|return|>") != kNoToken && v.find("<|call|>") != kNoToken;
  const bool tools = v.find("<|tool_response>") != kNoToken;
  for (const std::string_view text : kEnds) {
    if ((harmony && text == "<|end|>") || (tools && text == "</s>")) continue;
    const Token token = v.find(text);
    if (token != kNoToken && v.kind(token) != TokenKind::normal) add(token);
  }
}

}  // namespace

Token Vocabulary::byte(uint8_t value) const {
  const Token named = find(absl::StrFormat("<0x%02X>", value));
  if (named != kNoToken) return named;
  return find(std::string(1, static_cast<char>(value)));
}

Result<Vocabulary> Vocabulary::of(const Gguf& file) {
  Vocabulary v;
  v.model = file.text("tokenizer.ggml.model").value_or("");
  v.pre = file.text("tokenizer.ggml.pre").value_or("default");
  const auto texts = file.texts("tokenizer.ggml.tokens");
  if (!texts) return absl::InvalidArgumentError("the file has no tokenizer: tokenizer.ggml.tokens is missing");
  for (size_t i = 0; i < texts->size(); ++i) {
    v.texts.push_back((*texts)[i].empty() ? absl::StrCat("[EMPTY_", i, "]") : std::string((*texts)[i]));
  }
  for (const double score : file.numbers("tokenizer.ggml.scores").value_or(std::vector<double>())) {
    v.scores.push_back(static_cast<float>(score));
  }
  v.scores.resize(v.size());
  for (const int64_t kind : file.integers("tokenizer.ggml.token_type").value_or(std::vector<int64_t>())) {
    v.kinds.push_back(kind >= 0 && kind <= 6 ? static_cast<TokenKind>(kind) : TokenKind::undefined);
  }
  v.kinds.resize(v.size(), TokenKind::normal);
  for (Token token = 0; token < v.size(); ++token) {
    v.by_text[v.texts[token]] = token;
    const TokenKind kind = v.kinds[token];
    if (kind == TokenKind::control || kind == TokenKind::user_defined || kind == TokenKind::unknown)
      v.special.push_back(token);
  }
  std::stable_sort(v.special.begin(), v.special.end(),
                   [&](Token a, Token b) { return v.texts[a].size() > v.texts[b].size(); });

  const bool pieces = v.model == "llama", pairs = v.model == "gpt2", unigrams = v.model == "t5";
  const auto id = [&](std::string_view name, Token otherwise) {
    const auto found = file.integer(absl::StrCat("tokenizer.ggml.", name, "_token_id"));
    const Token token = found && *found >= 0 ? static_cast<Token>(*found) : otherwise;
    return token < v.size() ? token : kNoToken;
  };
  const auto flag = [&](std::string_view name, bool otherwise) {
    return file.flag(absl::StrCat("tokenizer.ggml.", name)).value_or(otherwise);
  };
  constexpr std::array<std::string_view, 11> kLlama3 = {"llama3",    "llama-v3",     "llama-bpe", "falcon3",
                                                        "falcon-h1", "pixtral",      "midm-2.0",  "lfm2",
                                                        "tekken",    "jina-v5-nano", "chameleon"};
  const bool llama3 = std::find(kLlama3.begin(), kLlama3.end(), v.pre) != kLlama3.end();
  v.bos = id("bos", pieces ? 1 : pairs ? 11 : kNoToken);
  v.eos = id("eos", pieces ? 2 : pairs ? 11 : unigrams ? 1 : kNoToken);
  v.unknown = id("unknown", pieces ? 0 : unigrams ? 2 : kNoToken);
  v.sep = id("seperator", kNoToken), v.pad = id("padding", kNoToken);  // the files spell it so
  v.add_bos = flag("add_bos_token", pieces || (pairs && llama3));
  v.add_eos = flag("add_eos_token", unigrams);
  v.space_prefix = flag("add_space_prefix", pieces);
  v.collapse_spaces = flag("remove_extra_whitespaces", false);
  v.ignore_merges = pairs && llama3 && v.pre != "chameleon";
  set_ends(file, v);
  return v;
}

}  // namespace rlxgpu::core

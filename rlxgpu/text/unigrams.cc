// Unigrams: of all ways to cut a text into tokens the one with the greatest sum of scores (Viterbi), after the text has
// been normalised by the model's own table.
#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "rlxgpu/text/tokenizer.h"
#include "rlxgpu/text/utf8.h"

namespace rlxgpu::core {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581

// A double array of prefixes, xor-compressed, and the texts that replace them.
class Replacements {
 public:
  explicit Replacements(const std::vector<int64_t>& bytes) {
    std::string all;
    for (const int64_t byte : bytes) all.push_back(static_cast<char>(byte));
    if (all.size() < 4) return;
    uint32_t size = 0;
    std::memcpy(&size, all.data(), 4);
    if (size > all.size() - 4) return;
    units_.resize(size / 4);
    std::memcpy(units_.data(), all.data() + 4, units_.size() * 4);
    texts_ = all.substr(4 + size);
  }

  // The longest prefix that is replaced: its bytes, and by what; no bytes when there is none.
  std::pair<size_t, std::string_view> at(std::string_view text) const {
    std::pair<size_t, std::string_view> found = {0, {}};
    if (units_.empty()) return found;
    size_t node = base(0);
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte == 0) break;
      node ^= byte;
      if (node >= units_.size() || (units_[node] & 0x800000ff) != byte) break;
      const bool leaf = (units_[node] >> 8 & 1) != 0;
      node ^= base(node);
      if (!leaf || node >= units_.size()) continue;
      const size_t offset = units_[node] & 0x7fffffff;
      if (offset < texts_.size()) found = {i + 1, std::string_view(texts_.c_str() + offset)};
    }
    return found;
  }

 private:
  size_t base(size_t node) const { return static_cast<size_t>(units_[node] >> 10) << ((units_[node] & 0x200) >> 6); }
  std::vector<uint32_t> units_;
  std::string texts_;
};

class Unigrams : public TokenMaker {
 public:
  Unigrams(const Vocabulary& vocabulary, Replacements replacements)
      : v_(vocabulary), replacements_(std::move(replacements)) {
    float least = std::numeric_limits<float>::infinity();
    for (Token token = 0; token < v_.size(); ++token) {
      if (v_.kinds[token] == TokenKind::normal) least = std::min(least, v_.scores[token]);
      longest_ = std::max(longest_, v_.texts[token].size());
    }
    unknown_score_ = static_cast<double>(least) - 10;
  }

  void encode(std::string_view given, bool, std::vector<Token>& to) const override {
    const std::string text = normalised(given);
    struct Best {
      double score = -std::numeric_limits<double>::infinity();
      Token token = kNoToken;
      size_t from = 0;
    };
    std::vector<Best> best(text.size() + 1);
    best[0].score = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t step = std::max<size_t>(1, code_point_bytes(text, at));
      bool one = false;  // a token for this code point alone
      for (size_t size = 1; size <= std::min(longest_, text.size() - at); ++size) {
        const Token token = v_.find(std::string_view(text).substr(at, size));
        if (token == kNoToken) continue;
        const TokenKind kind = v_.kinds[token];
        if (kind == TokenKind::control || kind == TokenKind::unused || kind == TokenKind::unknown) continue;
        one = one || size == step;
        const double score =
            best[at].score + (kind == TokenKind::user_defined ? 0.0 : static_cast<double>(v_.scores[token]));
        if (score > best[at + size].score) best[at + size] = {score, token, at};
      }
      if (!one && best[at].score + unknown_score_ > best[at + step].score)
        best[at + step] = {best[at].score + unknown_score_, v_.unknown, at};
      at += step;
    }
    std::vector<Token> reversed;
    for (size_t at = text.size(); at > 0; at = best[at].from) {
      const Token token = best[at].token;
      if (token == v_.unknown && !reversed.empty() && reversed.back() == token) continue;  // neighbours are one
      reversed.push_back(token);
    }
    to.insert(to.end(), reversed.rbegin(), reversed.rend());
  }

  std::string bytes(Token token) const override { return absl::StrReplaceAll(v_.texts[token], {{kSpace, " "}}); }

 private:
  std::string normalised(std::string_view given) const {
    std::string text;
    bool after_space = true;
    const auto put = [&](char byte) {
      if (byte == ' ') {
        if (!v_.collapse_spaces) text += kSpace;
        after_space = true;
        return;
      }
      if (after_space && (v_.collapse_spaces ? v_.space_prefix || !text.empty() : false)) text += kSpace;
      after_space = false;
      text += byte;
    };
    if (!v_.collapse_spaces && v_.space_prefix) text += kSpace;
    for (size_t at = 0; at < given.size();) {
      const auto [bytes, by] = replacements_.at(given.substr(at));
      if (bytes > 0) {
        for (const char byte : by) put(byte);
        at += bytes;
        continue;
      }
      const size_t size = code_point_bytes(given, at);
      const std::string_view kept = size > 0 ? given.substr(at, size) : std::string_view("\xef\xbf\xbd");
      for (const char byte : kept) put(byte);
      at += std::max<size_t>(1, size);
    }
    return text;
  }

  const Vocabulary& v_;
  Replacements replacements_;
  size_t longest_ = 0;
  double unknown_score_ = 0;
};

}  // namespace

Result<std::shared_ptr<const TokenMaker>> unigrams(const Gguf& file, const Vocabulary& vocabulary) {
  Replacements replacements(file.integers("tokenizer.ggml.precompiled_charsmap").value_or(std::vector<int64_t>()));
  return std::shared_ptr<const TokenMaker>(std::make_shared<Unigrams>(vocabulary, std::move(replacements)));
}

}  // namespace rlxgpu::core

// SentencePiece's pairs: of all neighbours whose text is a token, those with the greatest score become one. What is no
// token in the end is written as bytes.
#include <algorithm>
#include <cstdlib>
#include <queue>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "rlxgpu/text/tokenizer.h"

namespace rlxgpu::core {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581

class SentencePieces : public TokenMaker {
 public:
  explicit SentencePieces(const Vocabulary& vocabulary) : v_(vocabulary) {}

  void encode(std::string_view given, bool first, std::vector<Token>& to) const override {
    const std::string text =
        absl::StrReplaceAll(absl::StrCat(v_.space_prefix && first ? " " : "", given), {{" ", kSpace}});
    std::vector<Symbol> symbols;
    for (size_t at = 0; at < text.size();) {
      constexpr size_t kSizes[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
      const size_t size = std::min(kSizes[static_cast<unsigned char>(text[at]) >> 4], text.size() - at);
      const int i = static_cast<int>(symbols.size());
      symbols.push_back({.previous = i - 1, .next = i + 1, .first = at, .size = size});
      at += size;
    }
    if (symbols.empty()) return;
    symbols.back().next = -1;
    std::priority_queue<Pair> queue;
    const auto offer = [&](int left, int right) {
      if (left < 0 || right < 0) return;
      const Symbol &a = symbols[static_cast<size_t>(left)], &b = symbols[static_cast<size_t>(right)];
      const std::string_view whole = std::string_view(text).substr(a.first, a.size + b.size);
      const Token token = v_.find(whole);
      if (token == kNoToken) return;
      queue.push({v_.scores[token], left, right, whole.size()});
    };
    for (size_t i = 1; i < symbols.size(); ++i) offer(static_cast<int>(i) - 1, static_cast<int>(i));
    while (!queue.empty()) {
      const Pair pair = queue.top();
      queue.pop();
      Symbol &left = symbols[static_cast<size_t>(pair.left)], &right = symbols[static_cast<size_t>(pair.right)];
      if (left.size == 0 || right.size == 0 || left.size + right.size != pair.size) continue;
      left.size += right.size, left.next = right.next, right.size = 0;
      if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = pair.left;
      offer(left.previous, pair.left), offer(pair.left, left.next);
    }
    for (int i = 0; i >= 0; i = symbols[static_cast<size_t>(i)].next) {
      const Symbol& symbol = symbols[static_cast<size_t>(i)];
      put(std::string_view(text).substr(symbol.first, symbol.size), to);
    }
  }

  std::string bytes(Token token) const override {
    const std::string& text = v_.texts[token];
    if (v_.kind(token) == TokenKind::byte && text.size() == 6) {
      return std::string(1, static_cast<char>(std::strtol(text.substr(3, 2).c_str(), nullptr, 16)));
    }
    return absl::StrReplaceAll(text, {{kSpace, " "}});
  }

 private:
  struct Symbol {
    int previous = -1, next = -1;
    size_t first = 0, size = 0;
  };
  struct Pair {
    float score;
    int left, right;
    size_t size;
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };

  void put(std::string_view text, std::vector<Token>& to) const {
    if (const Token token = v_.find(text); token != kNoToken) return to.push_back(token);
    for (const char byte : text) {
      const Token token = v_.byte(static_cast<uint8_t>(byte));
      if (token != kNoToken)
        to.push_back(token);
      else if (v_.unknown != kNoToken)
        to.push_back(v_.unknown);
    }
  }

  const Vocabulary& v_;
};

}  // namespace

Result<std::shared_ptr<const TokenMaker>> sentence_pieces(const Vocabulary& vocabulary) {
  return std::shared_ptr<const TokenMaker>(std::make_shared<SentencePieces>(vocabulary));
}

}  // namespace rlxgpu::core

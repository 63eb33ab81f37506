// Tokens that are made by merging pairs: first words are found, then of each word's bytes the pair that was learned
// first is merged, again and again. Bytes are written as letters: 0x20 is U+0120.
#include <array>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/text/pre_tokenizers.h"
#include "rlxgpu/text/regex.h"
#include "rlxgpu/text/tokenizer.h"
#include "rlxgpu/text/utf8.h"

namespace rlxgpu::core {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Letters {
  std::array<std::string, 256> of_byte;
  std::map<char32_t, char> byte_of;
  Letters() {
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const char32_t letter = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
      append_utf8(of_byte[static_cast<size_t>(byte)], letter);
      byte_of[letter] = static_cast<char>(byte);
    }
  }
};
const Letters& letters() {
  static const Letters all;
  return all;
}

class BytePairs : public TokenMaker {
 public:
  BytePairs(const Vocabulary& vocabulary, std::vector<Regex> words, std::unordered_map<std::string, int> ranks)
      : v_(vocabulary), words_(std::move(words)), ranks_(std::move(ranks)) {}

  void encode(std::string_view given, bool, std::vector<Token>& to) const override {
    const std::string text = valid_utf8(given);
    std::vector<std::string_view> pieces = {text};
    for (const Regex& words : words_) {
      std::vector<std::string_view> cut;
      for (const std::string_view piece : pieces) {
        size_t done = 0;
        for (const auto& [first, last] : words.matches(piece)) {
          if (first > done) cut.push_back(piece.substr(done, first - done));
          cut.push_back(piece.substr(first, last - first));
          done = last;
        }
        if (done < piece.size()) cut.push_back(piece.substr(done));
      }
      pieces = std::move(cut);
    }
    for (const std::string_view piece : pieces) encode_word(piece, to);
  }

  std::string bytes(Token token) const override {
    const std::string& text = v_.texts[token];
    std::string bytes;
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      const auto known = letters().byte_of.find(next_code_point(text, at));
      if (known != letters().byte_of.end()) {
        bytes += known->second;
      } else {
        bytes += text.substr(begin, at - begin);
      }
    }
    return bytes;
  }

 private:
  struct Symbol {
    int previous = -1, next = -1;
    size_t first = 0, size = 0;  // a merged one has none
  };
  struct Pair {
    int rank, left, right;
    size_t size;
    bool operator<(const Pair& other) const { return std::tie(rank, left) > std::tie(other.rank, other.left); }
  };

  void encode_word(std::string_view bytes, std::vector<Token>& to) const {
    std::string word;
    std::vector<Symbol> symbols;
    for (const char byte : bytes) {
      const std::string& letter = letters().of_byte[static_cast<unsigned char>(byte)];
      const int i = static_cast<int>(symbols.size());
      symbols.push_back({.previous = i - 1, .next = i + 1, .first = word.size(), .size = letter.size()});
      word += letter;
    }
    if (symbols.empty()) return;
    symbols.back().next = -1;
    if (v_.ignore_merges) {
      if (const Token whole = v_.find(word); whole != kNoToken) return to.push_back(whole);
    }
    std::priority_queue<Pair> queue;
    const auto offer = [&](int left, int right) {
      if (left < 0 || right < 0) return;
      const Symbol &a = symbols[static_cast<size_t>(left)], &b = symbols[static_cast<size_t>(right)];
      const std::string_view whole(word);
      const auto rank = ranks_.find(absl::StrCat(whole.substr(a.first, a.size), " ", whole.substr(b.first, b.size)));
      if (rank != ranks_.end()) queue.push({rank->second, left, right, a.size + b.size});
    };
    for (size_t i = 1; i < symbols.size(); ++i) offer(static_cast<int>(i) - 1, static_cast<int>(i));
    while (!queue.empty()) {
      const Pair pair = queue.top();
      queue.pop();
      Symbol &left = symbols[static_cast<size_t>(pair.left)], &right = symbols[static_cast<size_t>(pair.right)];
      if (left.size == 0 || right.size == 0 || left.next != pair.right || left.size + right.size != pair.size) continue;
      left.size += right.size, left.next = right.next, right.size = 0;
      if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = pair.left;
      offer(left.previous, pair.left), offer(pair.left, left.next);
    }
    for (int i = 0; i >= 0; i = symbols[static_cast<size_t>(i)].next) {
      const Symbol& symbol = symbols[static_cast<size_t>(i)];
      const std::string_view text = std::string_view(word).substr(symbol.first, symbol.size);
      if (const Token token = v_.find(text); token != kNoToken) {
        to.push_back(token);
        continue;
      }
      for (size_t at = 0; at < text.size();) {  // a merged text that is no token: its letters
        const size_t begin = at;
        next_code_point(text, at);
        if (const Token token = v_.find(text.substr(begin, at - begin)); token != kNoToken) to.push_back(token);
      }
    }
  }

  const Vocabulary& v_;
  std::vector<Regex> words_;
  std::unordered_map<std::string, int> ranks_;  // of "left right"
};

}  // namespace

Result<std::shared_ptr<const TokenMaker>> byte_pairs(const Gguf& file, const Vocabulary& vocabulary) {
  const std::vector<std::string_view> expressions = word_expressions(vocabulary.pre);
  if (expressions.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("rlxgpu does not know how \"", vocabulary.pre, "\" (tokenizer.ggml.pre) finds words"));
  }
  std::vector<Regex> words;
  for (const std::string_view expression : expressions) {
    Result<Regex> compiled = Regex::compile(expression);
    if (!compiled.ok()) return compiled.status();
    words.push_back(*std::move(compiled));
  }
  std::unordered_map<std::string, int> ranks;
  int rank = 0;
  for (const std::string_view merge : file.texts("tokenizer.ggml.merges").value_or(std::vector<std::string_view>())) {
    ranks.emplace(std::string(merge), rank++);
  }
  return std::shared_ptr<const TokenMaker>(std::make_shared<BytePairs>(vocabulary, std::move(words), std::move(ranks)));
}

}  // namespace rlxgpu::core

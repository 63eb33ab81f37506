#include "docs/examples/sentence_pieces.h"

#include <algorithm>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace examples {
namespace {

constexpr size_t kReserved = 6;
constexpr std::string_view kSpace = "\u2581";

// Where each character begins, and the end.
std::vector<size_t> characters(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

}  // namespace

rlxgpu::Result<SentencePieces> SentencePieces::open(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(path, " cannot be read"));
  const nlohmann::json list = nlohmann::json::parse(file, nullptr, false);
  if (!list.is_array()) return absl::InvalidArgumentError(absl::StrCat(path, " is not a list of pieces"));
  SentencePieces made;
  for (size_t i = kReserved; i < list.size(); ++i) {
    const bool pair = list[i].is_array() && list[i].size() == 2 && list[i][0].is_string();
    if (!pair || !(list[i][1].is_number() || list[i][1].is_null())) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": entry ", i, " is not a piece and its score"));
    }
    const auto text = list[i][0].get<std::string>();
    const double score = list[i][1].is_null() ? 0 : list[i][1].get<double>();  // none counts as 0
    made.pieces_[text] = {score, static_cast<int32_t>(i)};
    made.longest_ = std::max(made.longest_, characters(text).size() - 1);
  }
  return made;
}

std::vector<int32_t> SentencePieces::encode(std::string_view text) const {
  if (text.empty()) return {};
  std::string marked(kSpace);
  for (const char c : text) marked += c == ' ' ? kSpace : std::string_view(&c, 1);
  const std::vector<size_t> starts = characters(marked);
  const size_t count = starts.size() - 1;
  struct Best {
    double score = 0;  // 0: no way leads here yet, as in the original
    int32_t number = 0;
    size_t length = 1;
  };
  std::vector<Best> best(count + 1);
  for (size_t end = 1; end <= count; ++end) {
    for (size_t start = end > longest_ ? end - longest_ : 0; start < end; ++start) {
      const auto found = pieces_.find(marked.substr(starts[start], starts[end] - starts[start]));
      Piece piece;
      if (found != pieces_.end()) {
        piece = found->second;
      } else if (end - start > 1 || knows_prefix(marked, starts, start)) {
        continue;  // a character is unknown only where no piece begins
      }
      const double score = piece.score + best[start].score;
      if (best[end].score == 0 || score >= best[end].score) best[end] = {score, piece.number, end - start};
    }
  }
  std::vector<int32_t> numbers;
  for (size_t at = count; at > 0; at -= best[at].length) {
    if (numbers.empty() || numbers.back() != 0 || best[at].number != 0)
      numbers.push_back(best[at].number);  // unknowns are one
  }
  std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

// Whether any piece begins at a character.
bool SentencePieces::knows_prefix(const std::string& marked, const std::vector<size_t>& starts, size_t start) const {
  for (size_t end = start + 1; end < starts.size() && end - start <= longest_; ++end) {
    if (pieces_.contains(marked.substr(starts[start], starts[end] - starts[start]))) return true;
  }
  return false;
}

}  // namespace examples

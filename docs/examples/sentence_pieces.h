// SentencePieces: a sentence as numbers of pieces, the way the sentence encoder was trained: of all ways to cut it, the
// one whose pieces have the greatest sum of scores.
//
//   Result<SentencePieces> pieces = SentencePieces::open("vocabulary.json");
//   pieces->encode("How are you?");                    // {728, 31, 33, 54}
//
// Text is UTF-8, composed as it is stored (the original also applies NFKC, which changes nothing in plain text).
#ifndef DOCS_EXAMPLES_SENTENCE_PIECES_H_
#define DOCS_EXAMPLES_SENTENCE_PIECES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rlxgpu/runtime/status.h"

namespace examples {

class SentencePieces {
 public:
  // A list of [piece, score]; the first six are no pieces of text.
  static rlxgpu::Result<SentencePieces> open(const std::string& path);

  std::vector<int32_t> encode(std::string_view text) const;

 private:
  bool knows_prefix(const std::string& marked, const std::vector<size_t>& starts, size_t start) const;

  struct Piece {
    double score = 0;
    int32_t number = 0;
  };
  std::unordered_map<std::string, Piece> pieces_;
  size_t longest_ = 0;  // in characters
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_SENTENCE_PIECES_H_

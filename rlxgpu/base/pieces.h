// Pieces: a long text made of constants that stay where they are and of text written here.
//
//   pieces.text() << "const kRows = " << rows << ";\n";
//   pieces.quote(kKernelBody);          // not copied: it must be a constant
//
// The compiler copies text one character at a time, which would be most of its work on a kernel.
#ifndef RLXGPU_BASE_PIECES_H_
#define RLXGPU_BASE_PIECES_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"

namespace rlxgpu::core {

struct Piece {
  const char* quoted = nullptr;  // null: of the written text
  uint32_t start = 0, size = 0;
};

class Pieces {
 public:
  constexpr Text& text() { return text_; }
  constexpr void quote(std::string_view constant) {
    if (constant.size() < 32) {  // not worth a piece
      text_ << constant;
      return;
    }
    close();
    pieces_.push_back({constant.data(), 0, static_cast<uint32_t>(constant.size())});
  }
  // Ends the text that was written since the last quote; call it before looking.
  constexpr void close() {
    if (text_.size() > closed_) pieces_.push_back({nullptr, closed_, static_cast<uint32_t>(text_.size()) - closed_});
    closed_ = static_cast<uint32_t>(text_.size());
  }
  constexpr const Vec<Piece>& pieces() const { return pieces_; }
  constexpr std::string_view written() const { return text_.view(); }

 private:
  Text text_;
  uint32_t closed_ = 0;
  Vec<Piece> pieces_;
};

// Appends the whole text to anything with append(pointer, size).
template <typename String>
constexpr void join(const Piece* pieces, size_t count, std::string_view written, String& out) {
  for (size_t i = 0; i < count; ++i) {
    const char* from = pieces[i].quoted != nullptr ? pieces[i].quoted : written.data() + pieces[i].start;
    out.append(from, pieces[i].size);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_BASE_PIECES_H_

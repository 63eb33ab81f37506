// Text builds a string piece by piece, at compile time or at run time.
//
//   constexpr auto size = [] { Text t; t << "let x" << 3 << " = " << Hex{255} << ";"; return t.size(); }();
//
// Integers are written in decimal, Hex values as 0x and eight digits (how floats enter WGSL: as bit
// patterns, so that no digit is lost).
#ifndef RLXGPU_BASE_TEXT_H_
#define RLXGPU_BASE_TEXT_H_

#include <concepts>
#include <cstdint>
#include <string_view>

#include "rlxgpu/base/vec.h"

namespace rlxgpu::core {

struct Hex {
  uint32_t value;
};

class Text {
 public:
  constexpr Text() = default;
  constexpr explicit Text(std::string_view text) { *this << text; }
  constexpr Text(const Text& other) { *this << other.view(); }
  constexpr Text(Text&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  constexpr Text& operator=(Text other) noexcept {
    char* const data = data_;
    const size_t capacity = capacity_;
    data_ = other.data_, size_ = other.size_, capacity_ = other.capacity_;
    other.data_ = data, other.capacity_ = capacity;
    return *this;
  }
  constexpr ~Text() { delete[] data_; }

  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr std::string_view view() const { return {data_, size_}; }
  constexpr void clear() { size_ = 0; }
  constexpr void append(const char* from, size_t size) { *this << std::string_view(from, size); }

  constexpr Text& operator<<(std::string_view piece) {
    const size_t size = size_ + piece.size();
    if (size > capacity_) grow(size);
    copy_items(data_ + size_, piece.data(), piece.size());
    size_ = size;
    return *this;
  }
  constexpr Text& operator<<(const char* piece) { return *this << std::string_view(piece); }
  constexpr Text& operator<<(const Text& piece) { return *this << piece.view(); }
  constexpr Text& operator<<(char c) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = c;
    return *this;
  }
  template <std::integral Int>
  constexpr Text& operator<<(Int value) {
    char digits[21] = {};
    int n = 0;
    uint64_t rest = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    do {
      digits[n++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) digits[n++] = '-';
    if (size_ + static_cast<size_t>(n) > capacity_) grow(size_ + static_cast<size_t>(n));
    while (n > 0) data_[size_++] = digits[--n];
    return *this;
  }
  constexpr Text& operator<<(Hex hex) {
    *this << "0x";
    for (int shift = 28; shift >= 0; shift -= 4) *this << "0123456789abcdef"[hex.value >> shift & 15];
    return *this;
  }

 private:
  constexpr void grow(size_t size) {
    const size_t capacity = size < 96 ? 96 : 2 * size;
    char* const grown = new char[capacity]();
    copy_items(grown, data_, size_);
    delete[] data_;
    data_ = grown;
    capacity_ = capacity;
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_BASE_TEXT_H_

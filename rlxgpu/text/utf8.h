// UTF-8, with bytes that are none.
//
//   size_t at = 0;
//   while (at < text.size()) { const char32_t c = next_code_point(text, at); ... }
//   valid_utf8("a\xff")               // "a\xEF\xBF\xBD": what is no UTF-8 becomes U+FFFD
#ifndef RLXGPU_TEXT_UTF8_H_
#define RLXGPU_TEXT_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace rlxgpu::core {

inline constexpr char32_t kReplacement = 0xfffd;

// Bytes of the code point that begins there: 1 to 4; 0 when there is none.
constexpr size_t code_point_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  const size_t count = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (count == 0 || at + count > text.size()) return 0;
  for (size_t i = 1; i < count; ++i) {
    if (byte(at + i) >> 6 != 2) return 0;
  }
  const unsigned second = count > 1 ? byte(at + 1) : 0x80;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool none = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || none ? 0 : count;
}

// The code point there, or U+FFFD for a byte that begins none; `at` moves behind it.
constexpr char32_t next_code_point(std::string_view text, size_t& at) {
  const size_t count = code_point_bytes(text, at);
  if (count == 0) return ++at, kReplacement;
  constexpr unsigned kMasks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t value = static_cast<unsigned char>(text[at]) & kMasks[count];
  for (size_t i = 1; i < count; ++i) value = value << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
  at += count;
  return value;
}

constexpr void append_utf8(std::string& to, char32_t c) {
  const auto put = [&](char32_t byte) { to.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  if (c < 0x10000) return put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
}

inline std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (size_t at = 0; at < text.size();) append_utf8(valid, next_code_point(text, at));
  return valid;
}

// How many bytes at the end are the beginning of a code point whose rest may follow.
constexpr size_t unfinished_bytes(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >> 6 == 2) continue;
    const size_t count = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return count > back ? back : 0;
  }
  return 0;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_TEXT_UTF8_H_

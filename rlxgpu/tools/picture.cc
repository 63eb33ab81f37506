#include "rlxgpu/tools/picture.h"

#include <algorithm>
#include <array>

namespace rlxgpu::core::tools {
namespace {

struct Glyph {
  char letter;
  uint8_t rows[7];  // five bits each, the left one highest
};
constexpr Glyph kGlyphs[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},      {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {31, 2, 4, 2, 1, 17, 14}},     {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},       {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},   {'.', {0, 0, 0, 0, 0, 12, 12}},      {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'k', {16, 16, 18, 20, 24, 20, 18}}, {'H', {17, 17, 17, 31, 17, 17, 17}}, {'z', {0, 0, 31, 2, 4, 8, 31}},
    {'s', {0, 0, 14, 16, 14, 1, 30}},    {'d', {1, 1, 13, 19, 17, 17, 15}},   {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'m', {0, 0, 26, 21, 21, 17, 17}},   {'e', {0, 0, 14, 17, 31, 16, 14}},   {'l', {12, 4, 4, 4, 4, 4, 14}},
};

void big(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift & 255));
}

uint32_t crc_of(std::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
      table[i] = c;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 255] ^ crc >> 8;
  return ~crc;
}

void chunk(std::string& out, std::string_view name, std::string_view data) {
  big(out, static_cast<uint32_t>(data.size()));
  const std::string named = std::string(name) + std::string(data);
  out += named;
  big(out, crc_of(named));
}

// As zlib has it, in blocks that are stored as they are: no compressor is needed, and pictures are small.
std::string stored(std::string_view data) {
  std::string out = "\x78\x01";
  uint32_t a = 1, b = 0;  // Adler-32
  for (const char c : data) a = (a + static_cast<uint8_t>(c)) % 65521, b = (b + a) % 65521;
  do {
    const size_t size = std::min<size_t>(data.size(), 65535);
    out.push_back(size == data.size() ? '\1' : '\0');
    for (const size_t value : {size, ~size})
      out.push_back(static_cast<char>(value & 255)), out.push_back(static_cast<char>(value >> 8 & 255));
    out.append(data.substr(0, size));
    data.remove_prefix(size);
  } while (!data.empty());
  big(out, b << 16 | a);
  return out;
}

}  // namespace

Picture::Picture(int width, int height, Color background)
    : width_(width), height_(height), pixels_(static_cast<size_t>(width) * static_cast<size_t>(height), background) {}

void Picture::set(int x, int y, Color color) {
  if (x >= 0 && x < width_ && y >= 0 && y < height_) pixels_[static_cast<size_t>(y * width_ + x)] = color;
}

void Picture::fill(int x, int y, int width, int height, Color color) {
  for (int j = y; j < y + height; ++j) {
    for (int i = x; i < x + width; ++i) set(i, j, color);
  }
}

void Picture::text(int x, int y, std::string_view text, Color color) {
  for (const char letter : text) {
    for (const Glyph& glyph : kGlyphs) {
      if (glyph.letter != letter) continue;
      for (int row = 0; row < 7; ++row) {
        for (int col = 0; col < 5; ++col) {
          if (glyph.rows[row] >> (4 - col) & 1) fill(x + 2 * col, y + 2 * row, 2, 2, color);
        }
      }
    }
    x += 12;
  }
}

std::string Picture::png() const {
  std::string out = "\x89PNG\r\n\x1a\n", header, rows;
  big(header, static_cast<uint32_t>(width_)), big(header, static_cast<uint32_t>(height_));
  header += std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, red green blue
  for (int y = 0; y < height_; ++y) {
    rows.push_back('\0');  // no filter
    for (int x = 0; x < width_; ++x) {
      const Color c = at(x, y);
      for (const uint8_t part : {c.r, c.g, c.b}) rows.push_back(static_cast<char>(part));
    }
  }
  chunk(out, "IHDR", header);
  chunk(out, "IDAT", stored(rows));
  chunk(out, "IEND", "");
  return out;
}

}  // namespace rlxgpu::core::tools

// Picture: pixels that can be written on and saved as PNG.
//
//   Picture p(640, 480, {255, 255, 255});
//   p.text(10, 10, "1.5 kHz", {0, 0, 0});
//   std::string png = p.png();
//
// The letters are those that axes need: digits, signs and the letters of some units.
#ifndef RLXGPU_TOOLS_PICTURE_H_
#define RLXGPU_TOOLS_PICTURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rlxgpu::core::tools {

struct Color {
  uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Color&) const = default;
};

class Picture {
 public:
  Picture(int width, int height, Color background);

  int width() const { return width_; }
  int height() const { return height_; }
  void set(int x, int y, Color color);  // outside: nothing
  Color at(int x, int y) const { return pixels_[static_cast<size_t>(y * width_ + x)]; }
  void fill(int x, int y, int width, int height, Color color);
  // Letters are 5 x 7 with a column between, twice as large; y is their top.
  void text(int x, int y, std::string_view text, Color color);
  static int text_width(std::string_view text) { return static_cast<int>(text.size()) * 12; }
  static constexpr int kTextHeight = 14;

  std::string png() const;

 private:
  int width_, height_;
  std::vector<Color> pixels_;
};

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_PICTURE_H_

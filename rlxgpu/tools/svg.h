// Svg: a drawing, written line by line. Coordinates in pixels, y down.
#ifndef RLXGPU_TOOLS_SVG_H_
#define RLXGPU_TOOLS_SVG_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace rlxgpu::core::tools {

class Svg {
 public:
  void line(double x0, double y0, double x1, double y1, std::string_view color, double width = 1, bool dashed = false) {
    absl::StrAppendFormat(
        &body_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\"%s/>\n", x0,
        y0, x1, y1, color, width, dashed ? " stroke-dasharray=\"5 4\"" : "");
  }
  void bar(double x, double y, double width, double height, std::string_view color) {
    absl::StrAppendFormat(&body_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y,
                          width, height, color);
  }
  // `title` shows up when the pointer rests on it.
  void dot(double x, double y, std::string_view color, std::string_view title) {
    absl::StrAppendFormat(
        &body_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" fill-opacity=\"0.8\"><title>%s</title></circle>\n",
        x, y, color, escaped(title));
  }
  // `anchor`: start, middle or end.
  void text(double x, double y, std::string_view content, std::string_view anchor = "start", int size = 12,
            bool bold = false) {
    absl::StrAppendFormat(&body_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\"%s>%s</text>\n", x, y,
                          anchor, size, bold ? " font-weight=\"bold\"" : "", escaped(content));
  }
  std::string finish(double width, double height) const {
    return absl::StrFormat(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
               "font-family=\"sans-serif\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
               width, height, width, height) +
           body_ + "</svg>\n";
  }

 private:
  static std::string escaped(std::string_view text) {
    return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
  }
  std::string body_;
};

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_SVG_H_

// ProgressBar: one line that grows, on a terminal; nothing elsewhere.
//
//   ProgressBar bar(std::cerr, on_terminal);
//   bar.show(3, 10, "f32 512");      // [######--------------] 3/10 f32 512
//
// The line is erased when the bar goes.
#ifndef RLXGPU_TOOLS_PROGRESS_BAR_H_
#define RLXGPU_TOOLS_PROGRESS_BAR_H_

#include <ostream>
#include <string>
#include <string_view>

namespace rlxgpu::core::tools {

class ProgressBar {
 public:
  ProgressBar(std::ostream& out, bool on_terminal) : out_(out), on_(on_terminal) {}
  ~ProgressBar() {
    if (on_) out_ << "\r\033[K" << std::flush;
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(int done, int total, std::string_view what) {
    if (on_) out_ << "\r\033[K" << text(done, total, what) << std::flush;
  }
  static std::string text(int done, int total, std::string_view what) {
    constexpr int kWidth = 20;
    const int full = total > 0 ? kWidth * done / total : kWidth;
    return "[" + std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(kWidth - full), '-') +
           "] " + std::to_string(done) + "/" + std::to_string(total) + " " + std::string(what.substr(0, 90));
  }

 private:
  std::ostream& out_;
  const bool on_;
};

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_PROGRESS_BAR_H_

// Regex: a Unicode regular expression (PCRE2), compiled once.
//
//   Result<Regex> words = Regex::compile(R"( ?\p{L}+| ?\p{N}+)");
//   for (const auto& [first, last] : words->matches(text)) ...        // in bytes; text is valid UTF-8
#ifndef RLXGPU_TEXT_REGEX_H_
#define RLXGPU_TEXT_REGEX_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);

  // Where it matches, one after the other, as byte offsets. Empty matches are left out.
  std::vector<std::pair<size_t, size_t>> matches(std::string_view text) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_TEXT_REGEX_H_

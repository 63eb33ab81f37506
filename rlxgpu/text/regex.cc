#define PCRE2_CODE_UNIT_WIDTH 8
#include "rlxgpu/text/regex.h"

#include <pcre2.h>

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rlxgpu::core {

struct Regex::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

Result<Regex> Regex::compile(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE at = 0;
  auto code = std::make_shared<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK, &error, &at, nullptr);
  if (code->code == nullptr) {
    std::array<PCRE2_UCHAR, 256> text = {};
    pcre2_get_error_message(error, text.data(), text.size());
    return absl::InvalidArgumentError(
        absl::StrCat("the expression ", pattern, ": ", reinterpret_cast<const char*>(text.data()), " at ", at));
  }
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // without it, it is slower
  Regex regex;
  regex.code_ = std::move(code);
  return regex;
}

std::vector<std::pair<size_t, size_t>> Regex::matches(std::string_view text) const {
  std::vector<std::pair<size_t, size_t>> found;
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(code_->code, nullptr), pcre2_match_data_free);
  const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data.get());
  size_t at = 0;
  while (at < text.size()) {
    const int count = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data.get(), nullptr);
    if (count < 0) break;
    found.emplace_back(ends[0], ends[1]);
    at = ends[1];
  }
  return found;
}

}  // namespace rlxgpu::core

// workgroup_size: what @workgroup_size of a WGSL text amounts to, constants and their sums and products put in.
//
//   static_assert(workgroup_size("const kLanes = 8u; @compute @workgroup_size(kLanes * 2u)").count() == 16);
//
// For rendered kernel files, whose sizes are made of numbers, constants, + - * / and parentheses; `found` is false for
// anything else.
#ifndef RLXGPU_WGSL_WORKGROUP_SIZE_H_
#define RLXGPU_WGSL_WORKGROUP_SIZE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rlxgpu::core {

struct WorkgroupSize {
  uint32_t x = 1, y = 1, z = 1;
  bool found = false;
  constexpr uint32_t count() const { return x * y * z; }
};

namespace internal {

class WgslConstants {
 public:
  constexpr explicit WgslConstants(std::string_view wgsl) : wgsl_(wgsl) {}
  constexpr bool ok() const { return ok_; }

  constexpr int64_t sum(std::string_view& text) {
    int64_t value = product(text);
    while (ok_) {
      const char sign = next(text);
      if (sign != '+' && sign != '-') break;
      text.remove_prefix(1);
      const int64_t right = product(text);
      value = sign == '+' ? value + right : value - right;
    }
    return value;
  }
  // The first character that is no space; the text begins there.
  static constexpr char next(std::string_view& text) {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n')) text.remove_prefix(1);
    return text.empty() ? '\0' : text[0];
  }

 private:
  constexpr int64_t product(std::string_view& text) {
    int64_t value = factor(text);
    while (ok_) {
      const char sign = next(text);
      if (sign != '*' && sign != '/') break;
      text.remove_prefix(1);
      const int64_t right = factor(text);
      if (sign == '/' && right == 0) return fail();
      value = sign == '*' ? value * right : value / right;
    }
    return value;
  }
  constexpr int64_t factor(std::string_view& text) {
    const char first = next(text);
    if (first == '(') {
      text.remove_prefix(1);
      const int64_t value = sum(text);
      if (next(text) != ')') return fail();
      text.remove_prefix(1);
      return value;
    }
    size_t size = 0;
    while (size < text.size() && is_name(text[size])) ++size;
    const std::string_view word = text.substr(0, size);
    text.remove_prefix(size);
    if (word.empty() || ++depth_ > 60) return fail();
    return first >= '0' && first <= '9' ? number(word) : constant(word);
  }
  constexpr int64_t number(std::string_view word) {
    int64_t value = 0;
    if (word.ends_with('u') || word.ends_with('i')) word.remove_suffix(1);
    for (const char c : word) {
      if (c < '0' || c > '9') return fail();
      value = 10 * value + (c - '0');
    }
    return value;
  }
  constexpr int64_t constant(std::string_view name) {
    for (size_t at = wgsl_.find("const "); at != std::string_view::npos; at = wgsl_.find("const ", at + 1)) {
      std::string_view rest = wgsl_.substr(at + 6);
      next(rest);
      if (!rest.starts_with(name) || (rest.size() > name.size() && is_name(rest[name.size()]))) continue;
      const size_t equals = rest.find('='), end = rest.find(';');
      if (equals == std::string_view::npos || end == std::string_view::npos || equals > end) return fail();
      std::string_view value = rest.substr(equals + 1, end - equals - 1);
      const int64_t found = sum(value);
      return next(value) == '\0' ? found : fail();
    }
    return fail();
  }
  constexpr int64_t fail() {
    ok_ = false;
    return 0;
  }
  static constexpr bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  std::string_view wgsl_;
  bool ok_ = true;
  int depth_ = 0;
};

}  // namespace internal

constexpr WorkgroupSize workgroup_size(std::string_view wgsl) {
  constexpr std::string_view kMark = "@workgroup_size(";
  const size_t at = wgsl.find(kMark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = wgsl.substr(at + kMark.size());
  internal::WgslConstants constants(wgsl);
  uint32_t sizes[3] = {1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    sizes[axis] = static_cast<uint32_t>(constants.sum(rest));
    const char end = internal::WgslConstants::next(rest);
    if (!constants.ok() || (end != ',' && end != ')')) return {};
    if (end == ')') break;
    rest.remove_prefix(1);
  }
  return {sizes[0], sizes[1], sizes[2], true};
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_WORKGROUP_SIZE_H_

// WgslReader reads WGSL token by token, and knows where it is as far as sizes are concerned.
//
//   WgslReader reader(text);
//   for (std::string_view token = reader.next(); reader.kind() != WgslReader::Kind::end; token = reader.next()) ...
#ifndef RLXGPU_WGSL_READER_H_
#define RLXGPU_WGSL_READER_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace rlxgpu::core::internal {

class WgslReader {
 public:
  enum class Kind : uint8_t { blank, word, number, sign, end };

  explicit WgslReader(std::string_view text) : text_(text) {}

  // The next token, comments and spaces (blank) included.
  std::string_view next() {
    const size_t start = at_;
    if (at_ == text_.size()) return token_(Kind::end, start);
    const char c = text_[at_];
    if (is_space(c) || text_.substr(at_).starts_with("//") || text_.substr(at_).starts_with("/*")) {
      skip_blank();
      return token_(Kind::blank, start);
    }
    if (is_word(c)) {
      const bool number = c >= '0' && c <= '9';
      // 1.5e-3f is one number; its sign and point are part of it.
      while (at_ < text_.size() && (is_word(text_[at_]) || (number && (text_[at_] == '.' || is_exponent_sign()))))
        ++at_;
      return seen(token_(number ? Kind::number : Kind::word, start));
    }
    bool pair = false;
    for (const std::string_view sign : {"<<", ">>", "==", "!=", "<=", ">=", "&&", "||"})
      pair = pair || text_.substr(at_).starts_with(sign);
    at_ += pair && !in_array() ? 2 : 1;  // array<vec2<f32>> ends with two signs
    return seen(token_(Kind::sign, start));
  }
  Kind kind() const { return kind_; }
  std::string_view before() const { return before_; }  // the token before this one that is not blank
  int depth() const { return depth_; }
  std::string_view function() const { return function_; }  // whose body this is, or ""
  // Where a number that is only known at run time may stand.
  bool takes_any_number() const {
    return depth_ > 0 && !function_.empty() && !in_array() && !constant_ && !case_ && call_depth_ < 0;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  bool is_exponent_sign() const {
    const char c = text_[at_], e = at_ > 0 ? text_[at_ - 1] : ' ';
    const bool hex = text_.substr(number_start_).starts_with("0x");
    return (c == '-' || c == '+') && (hex ? e == 'p' || e == 'P' : e == 'e' || e == 'E');
  }
  bool in_array() const { return array_depth_ > 0; }
  void skip_blank() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (is_space(rest[0])) {
        ++at_;
      } else if (rest.starts_with("//")) {
        at_ += std::min(rest.find('\n'), rest.size());
      } else if (rest.starts_with("/*")) {
        int nested = 0;
        do {
          if (text_.substr(at_).starts_with("/*")) ++nested;
          if (text_.substr(at_).starts_with("*/")) --nested;
          at_ += nested == 0 ? 2 : 1;
        } while (nested > 0 && at_ < text_.size());
      } else {
        return;
      }
    }
  }
  std::string_view token_(Kind kind, size_t start) {
    kind_ = kind;
    number_start_ = at_;
    return text_.substr(start, at_ - start);
  }
  std::string_view seen(std::string_view token) {
    before_ = last_;
    last_ = token;
    if (kind_ == Kind::word) {
      if (token == "const" || token == "const_assert") constant_ = true;
      if (token == "case") case_ = true;
      if (before_ == "fn") function_ = token;
    }
    if (kind_ != Kind::sign) return token;
    const char c = token[0];
    if (token == "<" && (in_array() || before_ == "array")) ++array_depth_;
    if (token == ">" && in_array()) --array_depth_;
    if (c == ';') constant_ = false;
    if (c == ':' || c == '{') case_ = false;
    if (c == '(') {
      ++parentheses_;
      // Their arguments must be constants.
      if (call_depth_ < 0 && (before_ == "subgroupBroadcast" || before_ == "quadBroadcast")) call_depth_ = parentheses_;
    }
    if (c == ')') {
      if (call_depth_ == parentheses_) call_depth_ = -1;
      --parentheses_;
    }
    if (c == '{') ++depth_;
    if (c == '}' && --depth_ == 0) function_ = {};
    return token;
  }

  std::string_view text_;
  size_t at_ = 0, number_start_ = 0;
  Kind kind_ = Kind::blank;
  std::string_view before_, last_, function_;
  int depth_ = 0, array_depth_ = 0, parentheses_ = 0, call_depth_ = -1;
  bool constant_ = false, case_ = false;  // in a statement or selector whose numbers must be constants
};

// "12u" -> 12.
inline bool parse_unsigned(std::string_view token, uint32_t& value) {
  if (!token.ends_with('u')) return false;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size() - 1, value);
  return error == std::errc() && end == token.data() + token.size() - 1;
}

// "0x3f800000u" -> 1.0f's bits.
inline bool parse_bits(std::string_view token, uint32_t& bits) {
  if (!token.starts_with("0x") || !token.ends_with('u')) return false;
  const auto [end, error] = std::from_chars(token.data() + 2, token.data() + token.size() - 1, bits, 16);
  return error == std::errc() && end == token.data() + token.size() - 1;
}

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_WGSL_READER_H_

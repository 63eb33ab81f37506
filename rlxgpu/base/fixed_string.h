// FixedString carries text in a template argument: set<"x">(...) finds its port by it.
#ifndef RLXGPU_BASE_FIXED_STRING_H_
#define RLXGPU_BASE_FIXED_STRING_H_

#include <cstddef>
#include <string_view>

#include "rlxgpu/base/cpp20.h"

namespace rlxgpu::core {

template <size_t kSize>
struct FixedString {
  char text[kSize + 1] = {};

  constexpr FixedString() = default;
  constexpr FixedString(const char (&literal)[kSize + 1]) {  // implicit: written as a literal
    for (size_t i = 0; i < kSize; ++i) text[i] = literal[i];
  }
  constexpr explicit FixedString(std::string_view view) {
    for (size_t i = 0; i < kSize; ++i) text[i] = view[i];
  }
  constexpr std::string_view view() const { return {text, kSize}; }
  constexpr size_t size() const { return kSize; }
  constexpr const char* data() const { return text; }
};

template <size_t kSizeWithEnd>
FixedString(const char (&)[kSizeWithEnd]) -> FixedString<kSizeWithEnd - 1>;

}  // namespace rlxgpu::core

#endif  // RLXGPU_BASE_FIXED_STRING_H_

// WGSL about one operand of a kernel that reads buffers itself (//#raw).
//
//   dispatch.raw("w", e.operand(1)).slot("w_load4", load4_text<'w'>(f16));     // alias WWords; fn w_load4(i : u32) ->
//   vec4f
#ifndef RLXGPU_WGSL_OPERAND_TEXT_H_
#define RLXGPU_WGSL_OPERAND_TEXT_H_

#include <cstddef>
#include <string_view>

#include "rlxgpu/graph/dtype.h"

namespace rlxgpu::core {

// '$' in the pattern is the operand's name, '@' the same in capitals.
template <size_t kSize>
struct OperandText {
  char text[kSize] = {};
  constexpr OperandText(const char (&pattern)[kSize], char name) {
    for (size_t i = 0; i < kSize; ++i) {
      text[i] = pattern[i] == '$' ? name : pattern[i] == '@' ? static_cast<char>(name - 'a' + 'A') : pattern[i];
    }
  }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
};

namespace internal {
template <char kName>
inline constexpr OperandText kLoad4F32("alias @Words = vec4f;\nfn $_load4(i : u32) -> vec4f { return $[i]; }", kName);
template <char kName>
inline constexpr OperandText kLoad4F16(
    "alias @Words = vec2u;\nfn $_load4(i : u32) -> vec4f {\n  let words = $[i];\n"
    "  return vec4f(unpack2x16float(words.x), unpack2x16float(words.y));\n}",
    kName);
template <char kName>
inline constexpr OperandText kLoad4Bf16(
    "alias @Words = vec2u;\nfn $_load4(i : u32) -> vec4f {\n  let words = $[i];\n"
    "  return bitcast<vec4f>(vec4u(words.x << 16u, words.x & 0xffff0000u, words.y << 16u, words.y & 0xffff0000u));\n}",
    kName);
}  // namespace internal

// alias XWords, the element of the array that the kernel declares, and fn x_load4(i : u32) -> vec4f, which reads vector
// i of it: four neighbours of a float type.
template <char kName>
constexpr std::string_view load4_text(DType dtype) {
  return dtype == f16    ? internal::kLoad4F16<kName>.view()
         : dtype == bf16 ? internal::kLoad4Bf16<kName>.view()
                         : internal::kLoad4F32<kName>.view();
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_OPERAND_TEXT_H_

// WGSL that all of attention's kernels share: which keys a query sees, what becomes of a score, and loads of four
// columns.
#ifndef RLXGPU_KERNELS_ATTENTION_SCORE_H_
#define RLXGPU_KERNELS_ATTENTION_SCORE_H_

#include <string_view>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/wgsl/operand_text.h"

namespace rlxgpu::core {

// Needs kCausal, kWindow, queries(), keys() and length_of(). Query i stands beside key i + count - queries(): they end
// together.
#define RLXGPU_KEY_RANGE                                                         \
  "fn key_count(batch : u32) -> u32 { return min(length_of(batch), keys()); }\n" \
  "// The keys that some of the queries from the first to the last may see.\n"   \
  "fn key_range(first_query : u32, last_query : u32, count : u32) -> vec2u {\n"  \
  "  let shift = i32(count) - i32(queries());\n"                                 \
  "  var first = 0;\n"                                                           \
  "  var last = i32(count);\n"                                                   \
  "  if (kCausal) { last = min(last, i32(last_query) + shift + 1); }\n"          \
  "  if (kWindow > 0u) {\n"                                                      \
  "    first = max(first, i32(first_query) + shift - i32(kWindow) + 1);\n"       \
  "    last = min(last, i32(last_query) + shift + i32(kWindow));\n"              \
  "  }\n"                                                                        \
  "  last = max(last, 0);\n"                                                     \
  "  return vec2u(u32(min(first, last)), u32(last));\n"                          \
  "}\n"
inline constexpr std::string_view kKeyRangeText = RLXGPU_KEY_RANGE;

// Needs besides kSoftcap, kLeast, mask_of() and bias_of(); decay() is among the functions.
inline constexpr std::string_view kScoreText = RLXGPU_KEY_RANGE
    "fn score(product : f32, batch : u32, head : u32, query : u32, key : u32, count : u32) -> f32 {\n"
    "  var s = product;\n"
    "  if (kSoftcap > 0.0f) {\n"
    "    let e = decay(-2.0f * abs(s / kSoftcap));  // tanh\n"
    "    s = select(s, sign(s) * kSoftcap * ((1.0f - e) / (1.0f + e)), abs(s) > kSoftcap * 0x1p-12f);\n"
    "  }\n"
    "  s += bias_of(batch, head, query, key);\n"
    "  let distance = i32(query) + i32(count) - i32(queries()) - i32(key);\n"
    "  var seen = key < count && mask_of(batch, head, query, key);\n"
    "  if (kCausal) { seen = seen && distance >= 0; }\n"
    "  if (kWindow > 0u) { seen = seen && abs(distance) < i32(kWindow); }\n"
    "  return select(kLeast, s, seen);\n"
    "}\n";
#undef RLXGPU_KEY_RANGE

inline constexpr std::string_view kNoLengthText = "fn length_of(batch : u32) -> u32 { return keys(); }";
inline constexpr std::string_view kSignedLengthText =
    "fn length_of(batch : u32) -> u32 { return u32(max(length_at(batch * kLengthBatch), 0)); }";
inline constexpr std::string_view kNoMaskText =
    "fn mask_of(batch : u32, head : u32, query : u32, key : u32) -> bool { return true; }";
inline constexpr std::string_view kNoBiasText =
    "fn bias_of(batch : u32, head : u32, query : u32, key : u32) -> f32 { return 0.0f; }";

namespace internal {

template <char kName>
inline constexpr OperandText kVectorOfF32(
    "alias @Words = vec4f;\nfn $_vector(at : u32, d : u32) -> vec4f { return $[at / 4u + d]; }", kName);
template <char kName>
inline constexpr OperandText kVectorOfF16(
    "alias @Words = vec2u;\nfn $_vector(at : u32, d : u32) -> vec4f {\n  let words = $[at / 4u + d];\n"
    "  return vec4f(unpack2x16float(words.x), unpack2x16float(words.y));\n}",
    kName);
template <char kName>
inline constexpr OperandText kVectorOfBf16(
    "alias @Words = vec2u;\nfn $_vector(at : u32, d : u32) -> vec4f {\n  let words = $[at / 4u + d];\n"
    "  return bitcast<vec4f>(vec4u(words.x << 16u, words.x & 0xffff0000u, words.y << 16u, words.y & 0xffff0000u));\n}",
    kName);

#define RLXGPU_ONE_BY_ONE                                           \
  "fn $_vector(at : u32, d : u32) -> vec4f {\n"                     \
  "  let i = at + 4u * d * k@Col;\n"                                \
  "  var u : vec4f;\n"                                              \
  "  u.x = $_load(i);\n"                                            \
  "  if (4u * d + 1u < k@Size) { u.y = $_load(i + k@Col); }\n"      \
  "  if (4u * d + 2u < k@Size) { u.z = $_load(i + 2u * k@Col); }\n" \
  "  if (4u * d + 3u < k@Size) { u.w = $_load(i + 3u * k@Col); }\n" \
  "  return u;\n"                                                   \
  "}"
template <char kName>
inline constexpr OperandText kSinglesOfF32(
    "alias @Words = f32;\nfn $_load(i : u32) -> f32 { return $[i]; }\n" RLXGPU_ONE_BY_ONE, kName);
template <char kName>
inline constexpr OperandText kSinglesOfF16(
    "alias @Words = u32;\nfn $_load(i : u32) -> f32 {\n  let pair = unpack2x16float($[i >> 1u]);\n"
    "  return select(pair.x, pair.y, (i & 1u) == 1u);\n}\n" RLXGPU_ONE_BY_ONE,
    kName);
template <char kName>
inline constexpr OperandText kSinglesOfBf16(
    "alias @Words = u32;\nfn $_load(i : u32) -> f32 {\n  let word = $[i >> 1u];\n"
    "  return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (i & 1u) == 1u));\n}\n" RLXGPU_ONE_BY_ONE,
    kName);
#undef RLXGPU_ONE_BY_ONE

}  // namespace internal

// alias KWords, the element of the array that the kernel declares, and fn k_vector(at : u32, d : u32) -> vec4f: columns
// 4 d to 4 d + 3 of what begins at element `at`, zero beyond the last. `wide`: rows begin at whole vectors.
template <char kName>
constexpr std::string_view vector_text(DType dtype, bool wide) {
  using namespace internal;  // NOLINT: the texts above
  if (dtype == f16) return wide ? kVectorOfF16<kName>.view() : kSinglesOfF16<kName>.view();
  if (dtype == bf16) return wide ? kVectorOfBf16<kName>.view() : kSinglesOfBf16<kName>.view();
  return wide ? kVectorOfF32<kName>.view() : kSinglesOfF32<kName>.view();
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ATTENTION_SCORE_H_

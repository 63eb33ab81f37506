// What four neighbours of a block are, in WGSL: one function a format, fn unpack4(b : u32, j : u32) -> vec4f, of
// elements j to j + 3 (j a multiple of 4) of the block at byte b. It may call byte_at, word_at, half_at, half_of and
// grid_word of rlxgpu/kernels/blocks.
#ifndef RLXGPU_GRAPH_BLOCK_TEXTS_H_
#define RLXGPU_GRAPH_BLOCK_TEXTS_H_

#include <cstddef>
#include <string_view>

namespace rlxgpu::core::block_codecs {

inline constexpr char kPairOf[] = R"(fn pair_of(p : u32, s : u32) -> vec2f {
  if (s < 4u) { return vec2f(f32(byte_at(p + s) & 63u), f32(byte_at(p + s + 4u) & 63u)); }
  let low = byte_at(p + s + 4u);
  let high = vec2u(byte_at(p + s - 4u), byte_at(p + s)) >> vec2u(6u);
  return vec2f(vec2u(low & 15u, low >> 4u) | (high << vec2u(4u)));
}
)";
inline constexpr std::string_view kUnpackQ4_0 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let q = (word_at(b + 2u + (j & 15u)) >> (j / 16u * 4u)) & 0x0f0f0f0fu;
  return (vec4f(unpack4xU8(q)) - 8.0f) * half_at(b);
})";
inline constexpr std::string_view kUnpackQ4_1 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let q = (word_at(b + 4u + (j & 15u)) >> (j / 16u * 4u)) & 0x0f0f0f0fu;
  return vec4f(unpack4xU8(q)) * half_at(b) + half_at(b + 2u);
})";
inline constexpr std::string_view kUnpackQ5_0 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let q = unpack4xU8((word_at(b + 6u + (j & 15u)) >> (j / 16u * 4u)) & 0x0f0f0f0fu);
  let high = (vec4u(word_at(b + 2u) >> j) >> vec4u(0u, 1u, 2u, 3u)) & vec4u(1u);
  return (vec4f(q | (high << vec4u(4u))) - 16.0f) * half_at(b);
})";
inline constexpr std::string_view kUnpackQ5_1 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let q = unpack4xU8((word_at(b + 8u + (j & 15u)) >> (j / 16u * 4u)) & 0x0f0f0f0fu);
  let high = (vec4u(word_at(b + 4u) >> j) >> vec4u(0u, 1u, 2u, 3u)) & vec4u(1u);
  return vec4f(q | (high << vec4u(4u))) * half_at(b) + half_at(b + 2u);
})";
inline constexpr std::string_view kUnpackQ8_0 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  return vec4f(unpack4xI8(word_at(b + 2u + j))) * half_at(b);
})";
inline constexpr std::string_view kUnpackQ2_K = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let s = byte_at(b + j / 16u);
  let q = (word_at(b + 16u + j / 128u * 32u + j % 32u) >> (j % 128u / 32u * 2u)) & 0x03030303u;
  return half_at(b + 80u) * f32(s & 15u) * vec4f(unpack4xU8(q)) - half_at(b + 82u) * f32(s >> 4u);
})";
inline constexpr std::string_view kUnpackQ3_K = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let s = j / 16u;
  let low = (byte_at(b + 96u + s % 8u) >> (s / 8u * 4u)) & 15u;
  let high = (byte_at(b + 104u + s % 4u) >> (s / 4u * 2u)) & 3u;
  let q = (word_at(b + 32u + j / 128u * 32u + j % 32u) >> (j % 128u / 32u * 2u)) & 0x03030303u;
  let third = (word_at(b + j % 32u) >> (j / 32u)) & 0x01010101u;
  return half_at(b + 108u) * (f32(low | (high << 4u)) - 32.0f) * (vec4f(unpack4xU8(q | (third << 2u))) - 4.0f);
})";
inline constexpr char kUnpackQ4_KAlone[] = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let s = pair_of(b + 4u, j / 32u);
  let q = (word_at(b + 16u + j / 64u * 32u + j % 32u) >> (j % 64u / 32u * 4u)) & 0x0f0f0f0fu;
  return half_at(b) * s.x * vec4f(unpack4xU8(q)) - half_at(b + 2u) * s.y;
})";
inline constexpr char kUnpackQ5_KAlone[] = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let s = pair_of(b + 4u, j / 32u);
  let q = (word_at(b + 48u + j / 64u * 32u + j % 32u) >> (j % 64u / 32u * 4u)) & 0x0f0f0f0fu;
  let fifth = (word_at(b + 16u + j % 32u) >> (j / 32u)) & 0x01010101u;
  return half_at(b) * s.x * vec4f(unpack4xU8(q | (fifth << 4u))) - half_at(b + 2u) * s.y;
})";
// Two texts, one after the other.
template <size_t kFirst, size_t kSecond>
struct Joined {
  char text[kFirst + kSecond - 1] = {};
  constexpr Joined(const char (&first)[kFirst], const char (&second)[kSecond]) {
    for (size_t i = 0; i + 1 < kFirst; ++i) text[i] = first[i];
    for (size_t i = 0; i < kSecond; ++i) text[kFirst - 1 + i] = second[i];
  }
  constexpr std::string_view view() const { return {text, kFirst + kSecond - 2}; }
};
inline constexpr Joined kUnpackQ4_K(kPairOf, kUnpackQ4_KAlone);
inline constexpr Joined kUnpackQ5_K(kPairOf, kUnpackQ5_KAlone);
inline constexpr std::string_view kUnpackQ6_K = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let low = (word_at(b + j / 128u * 64u + j % 64u) >> (j % 128u / 64u * 4u)) & 0x0f0f0f0fu;
  let high = (word_at(b + 128u + j / 128u * 32u + j % 32u) >> (j % 128u / 32u * 2u)) & 0x03030303u;
  let scale = extractBits(bitcast<i32>(byte_at(b + 192u + j / 16u)), 0u, 8u);
  return half_at(b + 208u) * f32(scale) * (vec4f(unpack4xU8(low | (high << 4u))) - 32.0f);
})";
inline constexpr std::string_view kUnpackIq4Nl = R"(
const kCurve = array<f32, 16>(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
fn unpack4(b : u32, j : u32) -> vec4f {
  let q = unpack4xU8((word_at(b + 2u + (j & 15u)) >> (j / 16u * 4u)) & 0x0f0f0f0fu);
  return half_at(b) * vec4f(kCurve[q.x], kCurve[q.y], kCurve[q.z], kCurve[q.w]);
})";
inline constexpr std::string_view kUnpackIq4Xs = R"(
const kCurve = array<f32, 16>(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
fn unpack4(b : u32, j : u32) -> vec4f {
  let g = j / 32u;
  let low = (byte_at(b + 4u + g / 2u) >> (g % 2u * 4u)) & 15u;
  let high = ((byte_at(b + 2u) | (byte_at(b + 3u) << 8u)) >> (2u * g)) & 3u;
  let q = unpack4xU8((word_at(b + 8u + g * 16u + (j & 15u)) >> (j % 32u / 16u * 4u)) & 0x0f0f0f0fu);
  return half_at(b) * (f32(low | (high << 4u)) - 32.0f) * vec4f(kCurve[q.x], kCurve[q.y], kCurve[q.z], kCurve[q.w]);
})";
inline constexpr std::string_view kUnpackTq2_0 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let q = (word_at(b + j / 128u * 32u + j % 32u) >> (j % 128u / 32u * 2u)) & 0x03030303u;
  return (vec4f(unpack4xU8(q)) - 1.0f) * half_at(b + 64u);
})";
inline constexpr std::string_view kUnpackMxfp4 = R"(
const kFp4 = array<f32, 16>(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
fn unpack4(b : u32, j : u32) -> vec4f {
  let e = byte_at(b);
  let small = e < 2u;  // adapters flush a scale below the normal numbers: take it eight times, and codes an eighth
  let scale = bitcast<f32>(select(max(e, 1u) - 1u, e + 2u, small) << 23u);
  let q = unpack4xU8((word_at(b + 1u + (j & 15u)) >> (j / 16u * 4u)) & 0x0f0f0f0fu);
  return vec4f(kFp4[q.x], kFp4[q.y], kFp4[q.z], kFp4[q.w]) * select(1.0f, 0.125f, small) * scale;
})";

// Shared by formats whose signs are apart from their sizes.
inline constexpr char kSigns[] =
    R"(fn signs_of(index : u32) -> u32 { return index | ((countOneBits(index) & 1u) << 7u); }
fn with_signs(v : vec4f, signs : u32) -> vec4f {
  return select(v, -v, (vec4u(signs) & vec4u(1u, 2u, 4u, 8u)) != vec4u());
}
)";
inline constexpr char kIq2XxsAlone[] = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let g = b + 2u + j / 32u * 8u;
  let more = word_at(g + 4u);
  let l = j % 32u / 8u;
  let four = vec4f(unpack4xU8(grid_word(byte_at(g + l) * 2u + j % 8u / 4u)));
  return with_signs(four * (half_at(b) * (0.5f + f32(more >> 28u)) * 0.25f), signs_of((more >> (7u * l)) & 127u) >> (j % 8u));
})";
inline constexpr Joined kUnpackIq2Xxs(kSigns, kIq2XxsAlone);
inline constexpr char kIq2XsAlone[] = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let at = b + 2u + j / 8u * 2u;
  let code = byte_at(at) | (byte_at(at + 1u) << 8u);
  let scale = (byte_at(b + 66u + j / 32u) >> (j % 32u / 16u * 4u)) & 15u;
  let four = vec4f(unpack4xU8(grid_word((code & 511u) * 2u + j % 8u / 4u)));
  return with_signs(four * (half_at(b) * (0.5f + f32(scale)) * 0.25f), signs_of(code >> 9u) >> (j % 8u));
})";
inline constexpr Joined kUnpackIq2Xs(kSigns, kIq2XsAlone);
inline constexpr char kIq2SAlone[] = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let code = byte_at(b + 2u + j / 8u) | ((byte_at(b + 66u + j / 32u) << (8u - j % 32u / 8u * 2u)) & 0x300u);
  let scale = (byte_at(b + 74u + j / 32u) >> (j % 32u / 16u * 4u)) & 15u;
  let four = vec4f(unpack4xU8(grid_word(code * 2u + j % 8u / 4u)));
  return with_signs(four * (half_at(b) * (0.5f + f32(scale)) * 0.25f), byte_at(b + 34u + j / 8u) >> (j % 8u));
})";
inline constexpr Joined kUnpackIq2S(kSigns, kIq2SAlone);
inline constexpr char kIq3XxsAlone[] = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let more = word_at(b + 66u + j / 32u * 4u);
  let four = vec4f(unpack4xU8(grid_word(byte_at(b + 2u + j / 4u))));
  let signs = signs_of((more >> (7u * (j % 32u / 8u))) & 127u);
  return with_signs(four * (half_at(b) * (0.5f + f32(more >> 28u)) * 0.5f), signs >> (j % 8u));
})";
inline constexpr Joined kUnpackIq3Xxs(kSigns, kIq3XxsAlone);
inline constexpr char kIq3SAlone[] = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let code = byte_at(b + 2u + j / 4u) | (((byte_at(b + 66u + j / 32u) >> (j % 32u / 4u)) & 1u) << 8u);
  let scale = (byte_at(b + 106u + j / 64u) >> (j % 64u / 32u * 4u)) & 15u;
  let four = vec4f(unpack4xU8(grid_word(code)));
  return with_signs(four * (half_at(b) * f32(1u + 2u * scale)), byte_at(b + 74u + j / 8u) >> (j % 8u));
})";
inline constexpr Joined kUnpackIq3S(kSigns, kIq3SAlone);
inline constexpr std::string_view kUnpackIq1S = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let high = byte_at(b + 34u + j / 32u * 2u) | (byte_at(b + 35u + j / 32u * 2u) << 8u);
  let code = byte_at(b + 2u + j / 8u) | (((high >> (3u * (j % 32u / 8u))) & 7u) << 8u);
  let four = vec4f(unpack4xI8(grid_word(code * 2u + j % 8u / 4u)));
  return half_at(b) * f32(2u * ((high >> 12u) & 7u) + 1u) * (four + select(0.125f, -0.125f, (high & 0x8000u) != 0u));
})";
inline constexpr std::string_view kUnpackIq1M = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let a = word_at(b + 48u);
  let c = word_at(b + 52u);
  let half = ((a >> 12u) & 15u) | ((a >> 24u) & 0xf0u) | ((c >> 4u) & 0xf00u) | ((c >> 16u) & 0xf000u);
  let high = (byte_at(b + 32u + j / 16u) >> (j % 16u / 8u * 4u)) & 15u;
  let code = byte_at(b + j / 8u) | ((high & 7u) << 8u);
  let scale = (select(a, c, j >= 128u) >> (j / 64u % 2u * 16u + j % 64u / 16u * 3u)) & 7u;
  let four = vec4f(unpack4xI8(grid_word(code * 2u + j % 8u / 4u)));
  return half_of(half) * f32(2u * scale + 1u) * (four + select(0.125f, -0.125f, (high & 8u) != 0u));
})";
inline constexpr std::string_view kUnpackTq1_0 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  const kPowers = array<u32, 5>(1, 3, 9, 27, 81);
  var at = j % 32u;
  var digit = j / 32u;
  if (j >= 160u) { at = 32u + j % 16u; digit = (j - 160u) / 16u; }
  if (j >= 240u) { at = 48u; digit = (j - 240u) / 4u; }
  let x = (unpack4xU8(word_at(b + at)) * kPowers[digit]) & vec4u(255u);
  return (vec4f((x * 3u) >> vec4u(8u)) - 1.0f) * half_at(b + 52u);
})";
inline constexpr std::string_view kUnpackNvfp4 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  const kFp4 = array<f32, 16>(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  let byte = byte_at(b + j / 16u);
  let s = byte & 127u;
  let normal = s >= 8u;
  let power = bitcast<f32>((116u + select(1u, s / 8u, normal)) << 23u);
  let scale = select(f32(select(s, 8u + s % 8u, normal)) * power, 0.0f, byte == 0u || byte == 127u);
  let q = unpack4xU8((word_at(b + 4u + j / 16u * 8u + j % 8u) >> (j % 16u / 8u * 4u)) & 0x0f0f0f0fu);
  return vec4f(kFp4[q.x], kFp4[q.y], kFp4[q.z], kFp4[q.w]) * scale;
})";
inline constexpr std::string_view kUnpackQ1_0 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let bits = vec4u(byte_at(b + 2u + j / 8u) >> (j % 8u)) >> vec4u(0u, 1u, 2u, 3u);
  let d = half_at(b);
  return select(vec4f(-d), vec4f(d), (bits & vec4u(1u)) != vec4u());
})";
inline constexpr std::string_view kUnpackQ2_0 = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let codes = (vec4u(byte_at(b + 2u + j / 4u)) >> vec4u(0u, 2u, 4u, 6u)) & vec4u(3u);
  return (vec4f(codes) - 1.0f) * half_at(b);
})";
inline constexpr std::string_view kUnpackQ8_K = R"(fn unpack4(b : u32, j : u32) -> vec4f {
  let bits = word_at(b);
  let small = (bits & 0x7f800000u) == 0u;  // adapters flush such a scale: take its mantissa, and powers of two at the end
  let mantissa = select(f32(bits & 0x7fffffu), -f32(bits & 0x7fffffu), bits > 0x7fffffffu);
  let codes = vec4f(unpack4xI8(word_at(b + 4u + j)));
  return codes * select(bitcast<f32>(bits), mantissa, small) * select(1.0f, 0x1p-100f, small) *
         select(1.0f, 0x1p-49f, small);
})";

}  // namespace rlxgpu::core::block_codecs

#endif  // RLXGPU_GRAPH_BLOCK_TEXTS_H_

// Storage says how the elements of a packed weight lie in memory: in blocks of n elements in b bytes, scales inside.
//
//   const Codec& codec = codec_of(Storage::q4_0);            // 32 elements in 18 bytes
//   float y = codec.decode(block, 7);                        // element 7 of the block at these bytes
//
// The formats are those of GGUF files, byte for byte. One row of kCodecs is all that there is of a format: its sizes,
// what an element means in C++, and the same for four neighbours in WGSL: fn unpack4(b : u32, j : u32) -> vec4f, of
// elements j to j + 3 (j a multiple of 4) of the block at byte b. It may call byte_at, word_at and half_at of
// rlxgpu/kernels/blocks.
#ifndef RLXGPU_GRAPH_STORAGE_H_
#define RLXGPU_GRAPH_STORAGE_H_

#include <bit>
#include <cstdint>
#include <string_view>

#include "rlxgpu/base/half.h"

namespace rlxgpu::core {

enum class Storage : uint8_t {
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  tq2_0,
  mxfp4
};

struct Codec {
  std::string_view name;        // as GGUF's tools write it
  int gguf_type = 0;            // its number in a GGUF file
  int elements = 0, bytes = 0;  // of a block
  float (*decode)(const uint8_t* block, int j) = nullptr;
  std::string_view unpack4;
};

namespace block_codecs {

constexpr float half_at(const uint8_t* b) { return half_value(static_cast<uint16_t>(b[0] | b[1] << 8)); }
// Of formats with 16 bytes of two codes each: the low halves come first, then the high ones.
constexpr int nibble(const uint8_t* codes, int j) { return codes[j % 16] >> (j / 16 * 4) & 15; }
constexpr int bit_of(const uint8_t* bits, int j) { return bits[j / 8] >> (j % 8) & 1; }

inline constexpr int kCurve[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int kFp4[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // twice E2M1

struct ScaleAndLeast {
  int scale, least;
};
// Eight pairs of 6 bits in 12 bytes.
constexpr ScaleAndLeast pair_of(const uint8_t* p, int s) {
  if (s < 4) return {p[s] & 63, p[s + 4] & 63};
  return {(p[s + 4] & 15) | (p[s - 4] >> 6) << 4, (p[s + 4] >> 4) | (p[s] >> 6) << 4};
}
// Two bits each: four of an element 32, 64 and 96 apart are in one byte.
constexpr int two_bits(const uint8_t* codes, int j) { return codes[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3; }
constexpr int half_byte(const uint8_t* codes, int j) { return codes[j / 64 * 32 + j % 32] >> (j % 64 / 32 * 4) & 15; }

constexpr float q4_0(const uint8_t* b, int j) { return static_cast<float>(nibble(b + 2, j) - 8) * half_at(b); }
constexpr float q4_1(const uint8_t* b, int j) {
  return static_cast<float>(nibble(b + 4, j)) * half_at(b) + half_at(b + 2);
}
constexpr float q5_0(const uint8_t* b, int j) {
  return static_cast<float>((nibble(b + 6, j) | bit_of(b + 2, j) << 4) - 16) * half_at(b);
}
constexpr float q5_1(const uint8_t* b, int j) {
  return static_cast<float>(nibble(b + 8, j) | bit_of(b + 4, j) << 4) * half_at(b) + half_at(b + 2);
}
constexpr float q8_0(const uint8_t* b, int j) { return static_cast<float>(static_cast<int8_t>(b[2 + j])) * half_at(b); }
constexpr float q2_k(const uint8_t* b, int j) {
  const int s = b[j / 16];
  return half_at(b + 80) * static_cast<float>(s & 15) * static_cast<float>(two_bits(b + 16, j)) -
         half_at(b + 82) * static_cast<float>(s >> 4);
}
constexpr float q3_k(const uint8_t* b, int j) {
  const int s = j / 16;
  const int scale = (b[96 + s % 8] >> (s / 8 * 4) & 15) | (b[104 + s % 4] >> (s / 4 * 2) & 3) << 4;
  const int q = (two_bits(b + 32, j) | (b[j % 32] >> (j / 32) & 1) << 2) - 4;
  return half_at(b + 108) * static_cast<float>(scale - 32) * static_cast<float>(q);
}
constexpr float q4_k(const uint8_t* b, int j) {
  const ScaleAndLeast s = pair_of(b + 4, j / 32);
  return half_at(b) * static_cast<float>(s.scale) * static_cast<float>(half_byte(b + 16, j)) -
         half_at(b + 2) * static_cast<float>(s.least);
}
constexpr float q5_k(const uint8_t* b, int j) {
  const ScaleAndLeast s = pair_of(b + 4, j / 32);
  const int q = half_byte(b + 48, j) | (b[16 + j % 32] >> (j / 32) & 1) << 4;
  return half_at(b) * static_cast<float>(s.scale) * static_cast<float>(q) -
         half_at(b + 2) * static_cast<float>(s.least);
}
constexpr float q6_k(const uint8_t* b, int j) {
  const int low = b[j / 128 * 64 + j % 64] >> (j % 128 / 64 * 4) & 15, q = (low | two_bits(b + 128, j) << 4) - 32;
  return half_at(b + 208) * static_cast<float>(static_cast<int8_t>(b[192 + j / 16])) * static_cast<float>(q);
}
constexpr float iq4_nl(const uint8_t* b, int j) { return half_at(b) * static_cast<float>(kCurve[nibble(b + 2, j)]); }
constexpr float iq4_xs(const uint8_t* b, int j) {
  const int g = j / 32;
  const int scale = (b[4 + g / 2] >> (g % 2 * 4) & 15) | ((b[2] | b[3] << 8) >> (2 * g) & 3) << 4;
  return half_at(b) * static_cast<float>(scale - 32) * static_cast<float>(kCurve[nibble(b + 8 + 16 * g, j % 32)]);
}
constexpr float tq2_0(const uint8_t* b, int j) { return static_cast<float>(two_bits(b, j) - 1) * half_at(b + 64); }
constexpr float mxfp4(const uint8_t* b, int j) {
  const uint32_t e = b[0], bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;  // half of the power of two that e means
  return static_cast<float>(kFp4[nibble(b + 1, j)]) * std::bit_cast<float>(bits);
}

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

}  // namespace block_codecs

// In the order of Storage.
inline constexpr Codec kCodecs[] = {
    {"Q4_0", 2, 32, 18, block_codecs::q4_0, block_codecs::kUnpackQ4_0},
    {"Q4_1", 3, 32, 20, block_codecs::q4_1, block_codecs::kUnpackQ4_1},
    {"Q5_0", 6, 32, 22, block_codecs::q5_0, block_codecs::kUnpackQ5_0},
    {"Q5_1", 7, 32, 24, block_codecs::q5_1, block_codecs::kUnpackQ5_1},
    {"Q8_0", 8, 32, 34, block_codecs::q8_0, block_codecs::kUnpackQ8_0},
    {"Q2_K", 10, 256, 84, block_codecs::q2_k, block_codecs::kUnpackQ2_K},
    {"Q3_K", 11, 256, 110, block_codecs::q3_k, block_codecs::kUnpackQ3_K},
    {"Q4_K", 12, 256, 144, block_codecs::q4_k, block_codecs::kUnpackQ4_K.view()},
    {"Q5_K", 13, 256, 176, block_codecs::q5_k, block_codecs::kUnpackQ5_K.view()},
    {"Q6_K", 14, 256, 210, block_codecs::q6_k, block_codecs::kUnpackQ6_K},
    {"IQ4_NL", 20, 32, 18, block_codecs::iq4_nl, block_codecs::kUnpackIq4Nl},
    {"IQ4_XS", 23, 256, 136, block_codecs::iq4_xs, block_codecs::kUnpackIq4Xs},
    {"TQ2_0", 35, 256, 66, block_codecs::tq2_0, block_codecs::kUnpackTq2_0},
    {"MXFP4", 39, 32, 17, block_codecs::mxfp4, block_codecs::kUnpackMxfp4},
};

constexpr const Codec& codec_of(Storage storage) { return kCodecs[static_cast<int>(storage)]; }

// Bytes of `rows` rows of `columns` elements, which are whole blocks.
constexpr int64_t block_bytes(Storage storage, int64_t rows, int64_t columns) {
  return rows * (columns / codec_of(storage).elements) * codec_of(storage).bytes;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Storage;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_STORAGE_H_

// What an element of a block is, in C++: one function a format, of the block's bytes and the element's index.
//
//   float y = block_codecs::q4_0(block, 7);
//
// Products are exact in f32, so that the result is the same on every machine.
#ifndef RLXGPU_GRAPH_BLOCK_CODECS_H_
#define RLXGPU_GRAPH_BLOCK_CODECS_H_

#include <bit>
#include <cstdint>

#include "rlxgpu/base/half.h"
#include "rlxgpu/graph/block_grids.h"

namespace rlxgpu::core::block_codecs {

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

// Seven bits that stand for eight signs, an even number of them minus.
constexpr int signs_of(int index) { return index | (std::popcount(static_cast<unsigned>(index)) & 1) << 7; }
constexpr float signed_by(int signs, int bit, float v) { return (signs >> bit & 1) != 0 ? -v : v; }
constexpr uint32_t word_at(const uint8_t* b) {
  return b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
}
constexpr int short_at(const uint8_t* b) { return b[0] | b[1] << 8; }

constexpr float iq2_xxs(const uint8_t* b, int j) {
  const uint8_t* const group = b + 2 + j / 32 * 8;
  const uint32_t more = word_at(group + 4);
  const int l = j % 32 / 8;
  const float d = half_at(b) * (0.5f + static_cast<float>(more >> 28)) * 0.25f;
  return signed_by(signs_of(static_cast<int>(more >> (7 * l) & 127)), j % 8, d * kIq2Xxs.value(group[l], j % 8));
}
constexpr float iq2_xs(const uint8_t* b, int j) {
  const int code = short_at(b + 2 + j / 8 * 2), scale = b[66 + j / 32] >> (j % 32 / 16 * 4) & 15;
  const float d = half_at(b) * (0.5f + static_cast<float>(scale)) * 0.25f;
  return signed_by(signs_of(code >> 9), j % 8, d * kIq2Xs.value(code & 511, j % 8));
}
constexpr float iq2_s(const uint8_t* b, int j) {
  const int l = j % 32 / 8, code = b[2 + j / 8] | (b[66 + j / 32] << (8 - 2 * l) & 0x300);
  const int scale = b[74 + j / 32] >> (j % 32 / 16 * 4) & 15;
  const float d = half_at(b) * (0.5f + static_cast<float>(scale)) * 0.25f;
  return signed_by(b[34 + j / 8], j % 8, d * kIq2S.value(code, j % 8));
}
constexpr float iq3_xxs(const uint8_t* b, int j) {
  const uint32_t more = word_at(b + 66 + j / 32 * 4);
  const float d = half_at(b) * (0.5f + static_cast<float>(more >> 28)) * 0.5f;
  const int signs = signs_of(static_cast<int>(more >> (7 * (j % 32 / 8)) & 127));
  return signed_by(signs, j % 8, d * kIq3Xxs.value(b[2 + j / 4], j % 4));
}
constexpr float iq3_s(const uint8_t* b, int j) {
  const int code = b[2 + j / 4] | (b[66 + j / 32] >> (j % 32 / 4) & 1) << 8;
  const int scale = b[106 + j / 64] >> (j % 64 / 32 * 4) & 15;
  const float d = half_at(b) * static_cast<float>(1 + 2 * scale);
  return signed_by(b[74 + j / 8], j % 8, d * kIq3S.value(code, j % 4));
}
constexpr float iq1_s(const uint8_t* b, int j) {
  const int high = short_at(b + 34 + j / 32 * 2), code = b[2 + j / 8] | (high >> (3 * (j % 32 / 8)) & 7) << 8;
  const float d = half_at(b) * static_cast<float>(2 * (high >> 12 & 7) + 1);
  return d * (kIq1.value(code, j % 8) + ((high & 0x8000) != 0 ? -0.125f : 0.125f));
}
constexpr float iq1_m(const uint8_t* b, int j) {
  int half = 0;
  for (int i = 0; i < 4; ++i) half |= short_at(b + 48 + 2 * i) >> 12 << (4 * i);
  const int high = b[32 + j / 16] >> (j % 16 / 8 * 4) & 15, code = b[j / 8] | (high & 7) << 8;
  const int scale = short_at(b + 48 + j / 64 * 2) >> (j % 64 / 16 * 3) & 7;
  const float d = half_value(static_cast<uint16_t>(half)) * static_cast<float>(2 * scale + 1);
  return d * (kIq1.value(code, j % 8) + ((high & 8) != 0 ? -0.125f : 0.125f));
}
// Five digits of base 3 in a byte, as a fraction: the first is that of three times it.
constexpr float tq1_0(const uint8_t* b, int j) {
  constexpr int kPowers[] = {1, 3, 9, 27, 81};
  const int digit = j < 160 ? j / 32 : j < 240 ? (j - 160) / 16 : (j - 240) / 4;
  const int at = j < 160 ? j % 32 : j < 240 ? 32 + j % 16 : 48 + j % 4;
  return static_cast<float>(((b[at] * kPowers[digit] & 255) * 3 >> 8) - 1) * half_at(b + 52);
}
constexpr float nvfp4(const uint8_t* b, int j) {
  const int s = b[j / 16] & 127, nib = b[4 + j / 16 * 8 + j % 8] >> (j % 16 / 8 * 4) & 15;
  // In units of a sixteenth of the power, for the mantissa has three bits and half of E4M3 is meant.
  const float mantissa = static_cast<float>(s < 8 ? s : 8 + s % 8);
  const float power = std::bit_cast<float>(static_cast<uint32_t>(127 - 11 + (s < 8 ? 1 : s / 8)) << 23);
  const bool none = b[j / 16] == 0 || b[j / 16] == 127;
  return static_cast<float>(kFp4[nib]) * (none ? 0.0f : mantissa * power);
}
constexpr float q1_0(const uint8_t* b, int j) { return bit_of(b + 2, j) != 0 ? half_at(b) : -half_at(b); }
constexpr float q2_0(const uint8_t* b, int j) {
  return static_cast<float>((b[2 + j / 4] >> (j % 4 * 2) & 3) - 1) * half_at(b);
}
constexpr float q8_k(const uint8_t* b, int j) {
  return std::bit_cast<float>(word_at(b)) * static_cast<float>(static_cast<int8_t>(b[4 + j]));
}

}  // namespace rlxgpu::core::block_codecs

#endif  // RLXGPU_GRAPH_BLOCK_CODECS_H_

// One block of each format that can be made from floats alone: encode(x, to), of as many floats as a block has.
#ifndef RLXGPU_LOAD_QUANTIZE_BLOCK_H_
#define RLXGPU_LOAD_QUANTIZE_BLOCK_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "rlxgpu/base/half.h"
#include "rlxgpu/graph/block_codecs.h"

namespace rlxgpu::core::quantizing {

inline void put_half(uint8_t* to, float v) {
  const uint16_t bits = half_bits(v);
  to[0] = static_cast<uint8_t>(bits), to[1] = static_cast<uint8_t>(bits >> 8);
}
inline float inverse(float d) { return d != 0 ? 1.0f / d : 0.0f; }
inline uint8_t both(int low, int high) { return static_cast<uint8_t>(low | high << 4); }

// The element that is farthest from zero, with its sign.
inline float extreme(const float* x, int count) {
  float size = 0, found = 0;
  for (int i = 0; i < count; ++i) {
    if (std::abs(x[i]) > size) size = std::abs(x[i]), found = x[i];
  }
  return found;
}

// Codes 0 to 2 middle - 1, the extreme at the end that one more code reaches.
inline void centred(const float* x, int middle, float& d, int* codes) {
  d = extreme(x, 32) / static_cast<float>(-middle);
  const float id = inverse(d);
  for (int i = 0; i < 32; ++i) {
    const float shifted = x[i] * id + (static_cast<float>(middle) + 0.5f);
    codes[i] = std::min(2 * middle - 1, static_cast<int>(shifted));
  }
}
// Codes 0 to most, from the least element to the greatest.
inline void from_least(const float* x, int most, float& d, float& least, int* codes) {
  least = *std::min_element(x, x + 32);
  d = (*std::max_element(x, x + 32) - least) / static_cast<float>(most);
  const float id = inverse(d);
  for (int i = 0; i < 32; ++i) codes[i] = std::min(most, static_cast<int>((x[i] - least) * id + 0.5f));
}
inline void put_fifth_bits(uint8_t* to, const int* codes) {
  std::memset(to, 0, 4);
  for (int i = 0; i < 32; ++i) to[i / 8] = static_cast<uint8_t>(to[i / 8] | (codes[i] >> 4) << (i % 8));
}
inline void put_nibbles(uint8_t* to, const int* codes, int each = 16) {
  for (int i = 0; i < each; ++i) to[i] = both(codes[i] & 15, codes[i + each] & 15);
}

inline void q4_0(const float* x, uint8_t* to) {
  float d;
  int codes[32];
  centred(x, 8, d, codes);
  put_half(to, d), put_nibbles(to + 2, codes);
}
inline void q5_0(const float* x, uint8_t* to) {
  float d;
  int codes[32];
  centred(x, 16, d, codes);
  put_half(to, d), put_fifth_bits(to + 2, codes), put_nibbles(to + 6, codes);
}
inline void q4_1(const float* x, uint8_t* to) {
  float d, least;
  int codes[32];
  from_least(x, 15, d, least, codes);
  put_half(to, d), put_half(to + 2, least), put_nibbles(to + 4, codes);
}
inline void q5_1(const float* x, uint8_t* to) {
  float d, least;
  int codes[32];
  from_least(x, 31, d, least, codes);
  put_half(to, d), put_half(to + 2, least), put_fifth_bits(to + 4, codes), put_nibbles(to + 8, codes);
}
inline void q8_0(const float* x, uint8_t* to) {
  const float d = std::abs(extreme(x, 32)) / 127.0f, id = inverse(d);
  put_half(to, d);
  for (int i = 0; i < 32; ++i) to[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(x[i] * id)));
}
inline int nearest_fp4(float x, float d) {
  int best = 0;
  for (int c = 1; c < 16; ++c) {
    const float now = std::abs(static_cast<float>(block_codecs::kFp4[c]) * d - x);
    if (now < std::abs(static_cast<float>(block_codecs::kFp4[best]) * d - x)) best = c;
  }
  return best;
}
inline void mxfp4(const float* x, uint8_t* to) {
  const float size = std::abs(extreme(x, 32));
  const int e = size > 0 ? static_cast<uint8_t>(std::floor(std::log2(size)) - 2 + 127) : 0;
  const float d = std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
  int codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = nearest_fp4(x[i], d);
  to[0] = static_cast<uint8_t>(e), put_nibbles(to + 1, codes);
}
// The nearest code of E4M3 without a sign, as ggml takes it: what is below the normal numbers stays there, and all codes
// of the greatest power are its last.
inline int unsigned_e4m3(float v) {
  if (!(v > 0)) return 0;
  if (v < 0x1p-6f) return std::min(7, static_cast<int>(std::nearbyint(v * 512.0f)));
  if (v >= 256.0f) return 0x7e;
  const int power = std::ilogb(v);
  const auto eighths = static_cast<int>(std::nearbyint(std::ldexp(v, 3 - power)));  // 16: the next power
  const int code = (power + 6) * 8 + eighths;
  return code >= 0x78 ? 0x7e : code;
}
inline void nvfp4(const float* x, uint8_t* to) {
  for (int s = 0; s < 4; ++s) {
    const float* const sixteen = x + 16 * s;
    const int scale = unsigned_e4m3(std::abs(extreme(sixteen, 16)) / 6.0f);
    to[s] = static_cast<uint8_t>(scale);
    const float mantissa = static_cast<float>(scale < 8 ? scale : 8 + scale % 8);
    const float d = scale == 0 ? 0.0f : std::ldexp(mantissa, (scale < 8 ? 1 : scale / 8) - 11);
    int codes[16];
    for (int i = 0; i < 16; ++i) codes[i] = nearest_fp4(sixteen[i], d);
    put_nibbles(to + 4 + 8 * s, codes, 8);
  }
}
inline void q1_0(const float* x, uint8_t* to) {
  float sum = 0;
  std::memset(to, 0, 18);
  for (int i = 0; i < 128; ++i) {
    sum += std::abs(x[i]);
    if (x[i] >= 0) to[2 + i / 8] = static_cast<uint8_t>(to[2 + i / 8] | 1 << (i % 8));
  }
  put_half(to, sum / 128.0f);
}
inline int ternary(float v) { return static_cast<int>(std::lround(v)) + 1; }
inline void q2_0(const float* x, uint8_t* to) {
  const float d = std::abs(extreme(x, 64)), id = inverse(d);
  std::memset(to, 0, 18);
  put_half(to, d);
  for (int i = 0; i < 64; ++i) {
    const int code = std::clamp(ternary(x[i] * id), 0, 3);
    to[2 + i / 4] = static_cast<uint8_t>(to[2 + i / 4] | code << (i % 4 * 2));
  }
}
inline void tq2_0(const float* x, uint8_t* to) {
  const float d = std::abs(extreme(x, 256)), id = inverse(d);
  std::memset(to, 0, 64);
  for (int j = 0; j < 256; ++j) {
    uint8_t& byte = to[j / 128 * 32 + j % 32];
    byte = static_cast<uint8_t>(byte | (ternary(x[j] * id) & 3) << (j % 128 / 32 * 2));
  }
  put_half(to + 64, d);
}
inline void tq1_0(const float* x, uint8_t* to) {
  const float d = std::abs(extreme(x, 256)), id = inverse(d);
  const auto byte_of = [&](int first, int step, int digits) {
    int number = 0;
    for (int n = 0; n < 5; ++n) number = 3 * number + (n < digits ? ternary(x[first + n * step] * id) : 0);
    return static_cast<uint8_t>((number * 256 + 242) / 243);  // the least fraction of 256 that holds these digits
  };
  for (int m = 0; m < 32; ++m) to[m] = byte_of(m, 32, 5);
  for (int m = 0; m < 16; ++m) to[32 + m] = byte_of(160 + m, 16, 5);
  for (int m = 0; m < 4; ++m) to[48 + m] = byte_of(240 + m, 4, 4);
  put_half(to + 52, d);
}

// The scale of codes low to high with the least squares of errors: a few around that which puts the extreme at `low`,
// each made best for the codes that follow from it.
template <typename ValueOf>
float best_scale(const float* x, int count, float low, const ValueOf& value_of) {
  const float peak = extreme(x, count);
  if (std::abs(peak) < 1e-30f) return 0;
  float best = 0, most = -1;
  for (int t = -12; t <= 12; ++t) {
    const float id = (low + 0.1f * static_cast<float>(t)) / peak;
    float across = 0, square = 0;
    for (int i = 0; i < count; ++i) {
      const float v = value_of(x[i] * id);
      across += v * x[i], square += v * v;
    }
    if (square > 0 && across * across / square > most) most = across * across / square, best = across / square;
  }
  return best;
}
// Scale and least value (at most zero) of codes 0 to most.
struct ScaleAndLeast {
  float scale = 0, least = 0;
};
inline ScaleAndLeast best_scale_and_least(const float* x, int count, int most) {
  const float low = std::min(0.0f, *std::min_element(x, x + count)), high = *std::max_element(x, x + count);
  if (high <= low) return {0, low};
  ScaleAndLeast best;
  float least_error = std::numeric_limits<float>::infinity();
  for (int t = -10; t <= 20; ++t) {
    const float id = (static_cast<float>(most) + 0.05f * static_cast<float>(t) * static_cast<float>(most > 7 ? 2 : 1)) /
                     (high - low);
    float n = 0, sum = 0, square = 0, sum_x = 0, across = 0;
    const auto code = [&](int i) {
      return std::clamp(std::nearbyint(id * (x[i] - low)), 0.0f, static_cast<float>(most));
    };
    for (int i = 0; i < count; ++i) {
      const float q = code(i);
      n += 1, sum += q, square += q * q, sum_x += x[i], across += q * x[i];
    }
    ScaleAndLeast now;
    const float determinant = n * square - sum * sum;
    if (determinant <= 0) continue;
    now.scale = (n * across - sum * sum_x) / determinant, now.least = (square * sum_x - sum * across) / determinant;
    if (now.least > 0) now = {across / square, 0};
    float error = 0;
    for (int i = 0; i < count; ++i) {
      const float off = now.scale * code(i) + now.least - x[i];
      error += off * off;
    }
    if (error < least_error) least_error = error, best = now;
  }
  return best;
}
inline float stored_half(float v) { return half_value(half_bits(v)); }
inline int rounded(float v, int low, int high) {
  return std::clamp(static_cast<int>(std::nearbyint(std::clamp(v, -1e6f, 1e6f))), low, high);
}

// Blocks of 256 with pairs of scales and least values: `each` elements a pair, which have codes up to `most`, and the
// pairs up to `most_pair`.
struct Paired {
  float d = 0, least = 0;
  int scales[16] = {}, leasts[16] = {}, codes[256] = {};
};
inline Paired paired(const float* x, int each, int most, int most_pair) {
  Paired p;
  const int count = 256 / each;
  ScaleAndLeast fits[16];
  float scale = 0, least = 0;
  for (int s = 0; s < count; ++s) {
    fits[s] = best_scale_and_least(x + s * each, each, most);
    scale = std::max(scale, fits[s].scale), least = std::max(least, -fits[s].least);
  }
  p.d = stored_half(scale / static_cast<float>(most_pair)),
  p.least = stored_half(least / static_cast<float>(most_pair));
  for (int s = 0; s < count; ++s) {
    p.scales[s] = rounded(fits[s].scale * inverse(p.d), 0, most_pair);
    p.leasts[s] = rounded(-fits[s].least * inverse(p.least), 0, most_pair);
    const float id = inverse(p.d * static_cast<float>(p.scales[s])), shift = p.least * static_cast<float>(p.leasts[s]);
    for (int i = s * each; i < (s + 1) * each; ++i) p.codes[i] = rounded((x[i] + shift) * id, 0, most);
  }
  return p;
}
inline void put_pairs(uint8_t* to, const Paired& p) {  // eight of 6 bits
  for (int s = 0; s < 4; ++s) {
    to[s] = static_cast<uint8_t>(p.scales[s] | p.scales[s + 4] >> 4 << 6);
    to[s + 4] = static_cast<uint8_t>(p.leasts[s] | p.leasts[s + 4] >> 4 << 6);
    to[s + 8] = both(p.scales[s + 4] & 15, p.leasts[s + 4] & 15);
  }
}
inline void put_halves_of_64(uint8_t* to, const int* codes) {
  for (int j = 0; j < 128; ++j) to[j] = both(codes[j / 32 * 64 + j % 32] & 15, codes[j / 32 * 64 + 32 + j % 32] & 15);
}
inline void put_two_bits(uint8_t* to, const int* codes) {
  std::memset(to, 0, 64);
  for (int j = 0; j < 256; ++j) {
    uint8_t& byte = to[j / 128 * 32 + j % 32];
    byte = static_cast<uint8_t>(byte | (codes[j] & 3) << (j % 128 / 32 * 2));
  }
}
inline void q2_k(const float* x, uint8_t* to) {
  const Paired p = paired(x, 16, 3, 15);
  for (int s = 0; s < 16; ++s) to[s] = both(p.scales[s], p.leasts[s]);
  put_two_bits(to + 16, p.codes);
  put_half(to + 80, p.d), put_half(to + 82, p.least);
}
inline void q4_k(const float* x, uint8_t* to) {
  const Paired p = paired(x, 32, 15, 63);
  put_half(to, p.d), put_half(to + 2, p.least), put_pairs(to + 4, p), put_halves_of_64(to + 16, p.codes);
}
inline void q5_k(const float* x, uint8_t* to) {
  const Paired p = paired(x, 32, 31, 63);
  put_half(to, p.d), put_half(to + 2, p.least), put_pairs(to + 4, p), put_halves_of_64(to + 48, p.codes);
  std::memset(to + 16, 0, 32);
  for (int j = 0; j < 256; ++j) to[16 + j % 32] = static_cast<uint8_t>(to[16 + j % 32] | (p.codes[j] >> 4) << (j / 32));
}

// Blocks of 256 with signed scales of `each` elements: -most_scale to most_scale - 1 of d.
struct Scaled {
  float d = 0;
  int scales[16] = {};
  float of(int s) const { return d * static_cast<float>(scales[s]); }
};
template <typename ValueOf>
Scaled scaled(const float* x, int each, float low, int most_scale, const ValueOf& value_of) {
  Scaled found;
  float scales[16], peak = 0;
  for (int s = 0; s < 256 / each; ++s) {
    scales[s] = best_scale(x + s * each, each, low, value_of);
    if (std::abs(scales[s]) > std::abs(peak)) peak = scales[s];
  }
  found.d = stored_half(peak / static_cast<float>(-most_scale));
  for (int s = 0; s < 256 / each; ++s) {
    found.scales[s] = rounded(scales[s] * inverse(found.d), -most_scale, most_scale - 1);
  }
  return found;
}
inline void q3_k(const float* x, uint8_t* to) {
  const Scaled found = scaled(x, 16, -4, 32, [](float v) { return static_cast<float>(rounded(v, -4, 3)); });
  std::memset(to, 0, 110);
  int codes[256];
  for (int j = 0; j < 256; ++j) {
    codes[j] = rounded(x[j] * inverse(found.of(j / 16)), -4, 3) + 4;
    to[j % 32] = static_cast<uint8_t>(to[j % 32] | (codes[j] >> 2) << (j / 32));
  }
  put_two_bits(to + 32, codes);
  for (int s = 0; s < 16; ++s) {
    const int scale = found.scales[s] + 32;
    to[96 + s % 8] = static_cast<uint8_t>(to[96 + s % 8] | (scale & 15) << (s / 8 * 4));
    to[104 + s % 4] = static_cast<uint8_t>(to[104 + s % 4] | (scale >> 4) << (s / 4 * 2));
  }
  put_half(to + 108, found.d);
}
inline void q6_k(const float* x, uint8_t* to) {
  const Scaled found = scaled(x, 16, -32, 128, [](float v) { return static_cast<float>(rounded(v, -32, 31)); });
  std::memset(to, 0, 210);
  int high[256];
  for (int j = 0; j < 256; ++j) {
    const int code = rounded(x[j] * inverse(found.of(j / 16)), -32, 31) + 32;
    uint8_t& low = to[j / 128 * 64 + j % 64];
    low = static_cast<uint8_t>(low | (code & 15) << (j % 128 / 64 * 4));
    high[j] = code >> 4;
  }
  put_two_bits(to + 128, high);
  for (int s = 0; s < 16; ++s) to[192 + s] = static_cast<uint8_t>(static_cast<int8_t>(found.scales[s]));
  put_half(to + 208, found.d);
}

inline int nearest_on_curve(float v) {
  int best = 0;
  for (int c = 1; c < 16; ++c) {
    if (std::abs(static_cast<float>(block_codecs::kCurve[c]) - v) <
        std::abs(static_cast<float>(block_codecs::kCurve[best]) - v))
      best = c;
  }
  return best;
}
inline float on_curve(float v) { return static_cast<float>(block_codecs::kCurve[nearest_on_curve(v)]); }
inline void iq4_nl(const float* x, uint8_t* to) {
  const float d = stored_half(best_scale(x, 32, -127, on_curve)), id = inverse(d);
  int codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = nearest_on_curve(x[i] * id);
  put_half(to, d), put_nibbles(to + 2, codes);
}
inline void iq4_xs(const float* x, uint8_t* to) {
  const Scaled found = scaled(x, 32, -127, 32, on_curve);
  std::memset(to, 0, 136);
  put_half(to, found.d);
  for (int s = 0; s < 8; ++s) {
    const int scale = found.scales[s] + 32;
    to[2 + s / 4] = static_cast<uint8_t>(to[2 + s / 4] | (scale >> 4) << (s % 4 * 2));
    to[4 + s / 2] = static_cast<uint8_t>(to[4 + s / 2] | (scale & 15) << (s % 2 * 4));
    int codes[32];
    for (int i = 0; i < 32; ++i) codes[i] = nearest_on_curve(x[32 * s + i] * inverse(found.of(s)));
    put_nibbles(to + 8 + 16 * s, codes);
  }
}

}  // namespace rlxgpu::core::quantizing

#endif  // RLXGPU_LOAD_QUANTIZE_BLOCK_H_

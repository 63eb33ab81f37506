#include "rlxgpu/tools/sha256.h"

#include <array>
#include <bit>
#include <cstdint>

namespace rlxgpu::core::tools {
namespace {

using uint128 = unsigned __int128;

// The standard's constants are the first 32 bits of the fractions of square and cube roots of primes: computed, so that
// there is no table to mistype. The root is that of prime * 2^(32 * power), which an integer search finds exactly.
constexpr uint32_t fraction_of_root(uint32_t prime, int power) {
  uint64_t low = 0, high = uint64_t{1} << 37;  // of root * 2^32, for primes up to 311
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    // The cube of middle has up to 111 bits, and 311 * 2^96 has 105.
    const uint128 raised = power == 2 ? uint128{middle} * middle : uint128{middle} * middle * middle;
    (raised <= uint128{prime} << (32 * power) ? low : high) = middle;
  }
  return static_cast<uint32_t>(low);
}

template <size_t kCount>
constexpr std::array<uint32_t, kCount> roots(int power) {
  std::array<uint32_t, kCount> out = {};
  size_t count = 0;
  for (uint32_t n = 2; count < kCount; ++n) {
    bool prime = true;
    for (uint32_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (prime) out[count++] = fraction_of_root(n, power);
  }
  return out;
}
constexpr std::array<uint32_t, 8> kStart = roots<8>(2);
constexpr std::array<uint32_t, 64> kRound = roots<64>(3);
static_assert(kStart[0] == 0x6a09e667 && kRound[63] == 0xc67178f2);

void add_block(std::array<uint32_t, 8>& state, const std::byte* block) {
  uint32_t w[64];
  for (size_t i = 0; i < 64; ++i) {
    if (i < 16) {
      w[i] = 0;
      for (size_t k = 0; k < 4; ++k) w[i] = w[i] << 8 | std::to_integer<uint32_t>(block[4 * i + k]);
      continue;
    }
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t one =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const uint32_t now[] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += now[i];
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  std::array<uint32_t, 8> state = kStart;
  size_t at = 0;
  for (; bytes.size() - at >= 64; at += 64) add_block(state, bytes.data() + at);
  std::byte last[128] = {};  // what is left, a bit, zeros, and the length in bits
  const size_t rest = bytes.size() - at, blocks = rest + 9 > 64 ? 2 : 1;
  for (size_t i = 0; i < rest; ++i) last[i] = bytes[at + i];
  last[rest] = std::byte{0x80};
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < 8; ++i) last[64 * blocks - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  for (size_t i = 0; i < blocks; ++i) add_block(state, last + 64 * i);
  std::string text;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

}  // namespace rlxgpu::core::tools

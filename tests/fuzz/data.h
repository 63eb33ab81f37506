// What the tensors and run-time numbers of a random program hold: functions of a seed and a name, so that
// a program printed as code can be fed again.
//
//   Array x = data_for({f16, {3, 4}}, seed, "x0");      std::vector<std::byte> bytes = stored(x);
//
// Floats are small numbers far from zero and from each other, with now and then an exact 0, 1 or -1, and,
// for one seed in twelve, infinities and NaN.
#ifndef RLXGPU_TESTS_FUZZ_DATA_H_
#define RLXGPU_TESTS_FUZZ_DATA_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/reference/interpreter.h"
#include "tests/fuzz/random.h"

namespace rlxgpu::core::fuzz {

using reference::Array;
using reference::rounded;

inline bool has_specials(uint64_t seed) { return seed % 12 == 3; }

inline double random_float(Random& random, bool specials) {
  if (random.chance(0.06)) return random.pick({0.0, 1.0, -1.0, 2.0});
  if (specials && random.chance(0.08)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return random.pick({infinity, -infinity, std::numeric_limits<double>::quiet_NaN()});
  }
  const double magnitude = random.real(0.1, 2.5);
  return random.chance(0.5) ? -magnitude : magnitude;
}

inline double random_number(Random& random, DType dtype, bool specials) {
  const bool large = random.chance(0.1);
  switch (dtype) {
    case DType::i32:
      return static_cast<double>(large ? random.between(INT32_MIN, INT32_MAX) : random.between(-9, 9));
    case DType::u32:
      return static_cast<double>(large ? random.between(0, UINT32_MAX) : random.between(0, 9));
    case DType::i8:
      return static_cast<double>(large ? random.between(-128, 127) : random.between(-9, 9));
    case DType::u8:
      return static_cast<double>(large ? random.between(0, 255) : random.between(0, 9));
    case DType::boolean:
      return static_cast<double>(random.below(2));
    default:
      return rounded(random_float(random, specials), dtype);
  }
}

inline Array data_for(const TensorType& type, uint64_t seed, std::string_view name) {
  Array array(type.dtype, type.shape);
  Random random(seed_for(seed, name));
  for (double& element : array.data) element = random_number(random, type.dtype, has_specials(seed));
  return array;
}

// A run-time number; most >= 0 for an extent, which is seldom 0 and often the largest.
inline double number_for(DType dtype, int64_t most, uint64_t seed, std::string_view name) {
  Random random(seed_for(seed, name));
  if (most < 0) return random_number(random, dtype, false);
  if (random.chance(0.1)) return 0;
  return random.chance(0.3) ? static_cast<double>(most) : static_cast<double>(random.between(most > 0 ? 1 : 0, most));
}

// Elements in storage layout, without padding at the end.
inline std::vector<std::byte> stored(const Array& array) {
  const auto size = static_cast<size_t>(array.dtype == c64 ? 4 : bytes_of(array.dtype));
  std::vector<std::byte> bytes(array.data.size() * size);
  for (size_t i = 0; i < array.data.size(); ++i) {
    const uint32_t word = word_of(array.data[i], array.dtype == c64 ? f32 : array.dtype);
    std::memcpy(bytes.data() + i * size, &word, size);
  }
  return bytes;
}

inline Array from_storage(const TensorType& type, const std::vector<std::byte>& bytes) {
  Array array(type.dtype, type.shape);
  const auto size = static_cast<size_t>(type.dtype == c64 ? 4 : bytes_of(type.dtype));
  for (size_t i = 0; i < array.data.size(); ++i) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + i * size, size);
    array.data[i] = number_of(word, type.dtype);
  }
  return array;
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_DATA_H_

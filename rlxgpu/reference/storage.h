// How arrays of numbers are stored: rounding to a type, and elements in storage layout.
//
//   Array x = array_of(f16, {2}, {0.1, 0.2});   round_to_storage(x);   std::vector<uint32_t> words = pack(x);
//   Array same = unpack(f16, {2}, words);
#ifndef RLXGPU_REFERENCE_STORAGE_H_
#define RLXGPU_REFERENCE_STORAGE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "rlxgpu/base/half.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/element.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

// Ends the program: a reference was called in a way that is never right.
[[noreturn]] inline void misuse(const char* sentence) {
  std::fprintf(stderr, "rlxgpu: %s\n", sentence);
  std::abort();
}

// `values` of a c64 tensor: two for each element.
inline Array array_of(DType dtype, const Shape& shape, std::vector<double> values) {
  Array array(dtype, shape);
  if (values.size() != array.data.size()) misuse("array_of: the values do not fill the shape");
  array.data = std::move(values);
  return array;
}

// The number that is stored for x. Integers keep their low bits.
inline double rounded(double x, DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      return static_cast<float>(x);
    case DType::f16:
      return half_value(half_bits(static_cast<float>(x)));
    case DType::bf16:
      return bfloat16_value(bfloat16_bits(static_cast<float>(x)));
    case DType::boolean:
      return x != 0 ? 1 : 0;
    default:
      break;
  }
  const double period = bytes_of(dtype) == 1 ? 256.0 : 4294967296.0;
  const double low = x - std::floor(x / period) * period;
  return is_signed(dtype) && low >= period / 2 ? low - period : low;
}

inline void round_to_storage(Array& array) {
  for (double& x : array.data) x = rounded(x, array.dtype);
}

// Elements in storage layout, as numbers.
inline Array unpack(DType dtype, const Shape& shape, std::span<const uint32_t> words) {
  Array array(dtype, shape);
  const auto lanes = static_cast<size_t>(per_word(dtype));
  const uint32_t bits = 32 / static_cast<uint32_t>(lanes), mask = lanes == 1 ? 0xffffffffu : (1u << bits) - 1;
  for (size_t i = 0; i < array.data.size(); ++i) {
    const uint32_t word = words[i / lanes] >> (i % lanes * bits) & mask;
    array.data[i] = number_of(word, dtype);
  }
  return array;
}

// Elements in storage layout. Numbers are taken as they are: round_to_storage() comes first.
inline std::vector<uint32_t> pack(const Array& array) {
  const DType dtype = array.dtype == c64 ? f32 : array.dtype;
  const auto lanes = static_cast<size_t>(per_word(dtype));
  std::vector<uint32_t> words((array.data.size() + lanes - 1) / lanes);
  for (size_t i = 0; i < array.data.size(); ++i)
    words[i / lanes] |= word_of(array.data[i], dtype) << (32 / lanes * (i % lanes)) % 32;
  return words;
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_REFERENCE_STORAGE_H_

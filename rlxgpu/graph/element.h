// One element of a tensor as a number: what is stored for it, and what stored bits mean.
//
//   word_of(1.5, f16) == 0x3e00      number_of(0x3e00, f16) == 1.5      number_at(f16, bytes, 7)
//
// Complex numbers are two f32, one after the other: each part is an element here.
#ifndef RLXGPU_GRAPH_ELEMENT_H_
#define RLXGPU_GRAPH_ELEMENT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rlxgpu/base/half.h"
#include "rlxgpu/graph/dtype.h"

namespace rlxgpu::core {

// A number without its fraction; 0 for those that no integer is near.
constexpr int64_t whole_of(double value) { return value > -9e18 && value < 9e18 ? static_cast<int64_t>(value) : 0; }

// The storage word of one number; for 16-bit and 8-bit types the number is in the low bits.
constexpr uint32_t word_of(double value, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DType::f16:
      return half_bits(static_cast<float>(value));
    case DType::bf16:
      return bfloat16_bits(static_cast<float>(value));
    case DType::i32:
      return static_cast<uint32_t>(whole_of(value));
    case DType::u32:
      return static_cast<uint32_t>(whole_of(value));
    case DType::i8:
      return static_cast<uint32_t>(whole_of(value)) & 0xffu;
    case DType::u8:
      return static_cast<uint32_t>(whole_of(value)) & 0xffu;
    case DType::boolean:
      return value != 0 ? 1 : 0;
    case DType::c64:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  return 0;
}

// The number in the low bits of a word.
constexpr double number_of(uint32_t word, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::bit_cast<float>(word);
    case DType::f16:
      return half_value(static_cast<uint16_t>(word));
    case DType::bf16:
      return bfloat16_value(static_cast<uint16_t>(word));
    case DType::i32:
      return static_cast<int32_t>(word);
    case DType::u32:
      return word;
    case DType::i8:
      return static_cast<int8_t>(word & 0xff);
    case DType::u8:
      return word & 0xff;
    case DType::boolean:
      return word & 0xff;
    case DType::c64:
      return std::bit_cast<float>(word);
  }
  return 0;
}

// Element i of a tensor's bytes, in storage layout.
constexpr double number_at(DType dtype, std::span<const std::byte> bytes, size_t i) {
  const size_t size = dtype == c64 ? 4 : static_cast<size_t>(bytes_of(dtype));
  uint32_t word = 0;
  for (size_t b = 0; b < size; ++b) word |= std::to_integer<uint32_t>(bytes[i * size + b]) << (8 * b);
  return number_of(word, dtype);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_GRAPH_ELEMENT_H_

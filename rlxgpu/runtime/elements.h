// number_at: an element of a tensor's bytes, in storage layout, as a double. Internal to runtime/.
#ifndef RLXGPU_RUNTIME_ELEMENTS_H_
#define RLXGPU_RUNTIME_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "rlxgpu/base/half.h"
#include "rlxgpu/graph/dtype.h"

namespace rlxgpu::internal {

template <typename T>
T element_at(std::span<const std::byte> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Of complex numbers, their parts.
inline double number_at(DType dtype, std::span<const std::byte> bytes, size_t i) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      return element_at<float>(bytes, i);
    case DType::f16:
      return half_value(element_at<uint16_t>(bytes, i));
    case DType::bf16:
      return bfloat16_value(element_at<uint16_t>(bytes, i));
    case DType::i32:
      return element_at<int32_t>(bytes, i);
    case DType::u32:
      return element_at<uint32_t>(bytes, i);
    case DType::i8:
      return element_at<int8_t>(bytes, i);
    default:
      return element_at<uint8_t>(bytes, i);
  }
}

}  // namespace rlxgpu::internal

#endif  // RLXGPU_RUNTIME_ELEMENTS_H_

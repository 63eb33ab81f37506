// The C++ types of elements: float for f32, Half for f16, and so on.
#ifndef RLXGPU_RUNTIME_ELEMENT_TYPES_H_
#define RLXGPU_RUNTIME_ELEMENT_TYPES_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "rlxgpu/base/half.h"
#include "rlxgpu/graph/dtype.h"

namespace rlxgpu::core {

// One element of a c64 tensor; std::complex<float> works wherever this does.
struct Complex {
  float re = 0, im = 0;
};

namespace internal {

template <DType kDType>
struct ElementOf;
template <>
struct ElementOf<f32> {
  using Type = float;
};
template <>
struct ElementOf<f16> {
  using Type = Half;
};
template <>
struct ElementOf<bf16> {
  using Type = BFloat16;
};
template <>
struct ElementOf<i32> {
  using Type = int32_t;
};
template <>
struct ElementOf<u32> {
  using Type = uint32_t;
};
template <>
struct ElementOf<i8> {
  using Type = int8_t;
};
template <>
struct ElementOf<u8> {
  using Type = uint8_t;
};
template <>
struct ElementOf<boolean> {
  using Type = uint8_t;
};  // std::vector<bool> has no elements
template <>
struct ElementOf<c64> {
  using Type = Complex;
};

template <typename T>
concept ComplexLike =
    sizeof(T) == 8 && (std::same_as<T, Complex> || requires { requires std::same_as<typename T::value_type, float>; });

// The storage type of a C++ element type.
template <typename T>
constexpr DType storage_of() {
  if constexpr (ComplexLike<T>) {
    return c64;
  } else {
    static_assert(kHasDType<T>,
                  "not an element type: use float, Half, BFloat16, (u)int32_t, (u)int8_t, bool or a complex of float");
    return dtype_of<T>;
  }
}

// bool is stored as a byte, so either may stand for it.
constexpr bool storable(DType given, DType held) { return given == held || (held == boolean && given == u8); }

template <typename Container>
using ElementOfContainer =
    std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const Container&>()))>>;

// The number of elements when the type knows it (std::array, C arrays, spans of fixed size), else -1.
template <typename Container>
inline constexpr int64_t kFixedSize = -1;
template <typename T, size_t kSize>
inline constexpr int64_t kFixedSize<std::array<T, kSize>> = static_cast<int64_t>(kSize);
template <typename T, size_t kSize>
inline constexpr int64_t kFixedSize<T[kSize]> = static_cast<int64_t>(kSize);
template <typename T, size_t kSize>
  requires(kSize != std::dynamic_extent)
inline constexpr int64_t kFixedSize<std::span<T, kSize>> = static_cast<int64_t>(kSize);

}  // namespace internal

}  // namespace rlxgpu::core

#endif  // RLXGPU_RUNTIME_ELEMENT_TYPES_H_

// map_reference<functions...>: an op's reference from plain functions of one element's operands.
//
//   inline double mul(double a, double b) { return a * b; }
//   inline int64_t mul_integers(int64_t a, int64_t b) { ... }      // where doubles would round
//   inline Complex mul_complex(Complex a, Complex b) { ... }
//   .reference = internal::map_reference<reference::mul, reference::mul_integers, reference::mul_complex>
//
// The function whose arguments fit the first operand's dtype is used; integers fall back to double.
// Results that are integers wrap to their dtype.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_MAP_REFERENCE_H_
#define RLXGPU_KERNELS_ELEMENTWISE_MAP_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

namespace reference {

struct Complex {
  double re = 0, im = 0;
};

// The value of dtype that has the same low bits.
inline double wrap_integer(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::i32:
      return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
    case DType::u32:
      return static_cast<uint32_t>(static_cast<uint64_t>(value));
    case DType::i8:
      return static_cast<int8_t>(static_cast<uint8_t>(static_cast<uint64_t>(value)));
    case DType::u8:
      return static_cast<uint8_t>(static_cast<uint64_t>(value));
    default:
      return static_cast<double>(value);
  }
}

}  // namespace reference

namespace internal {

template <typename T>
T element(const reference::Array& array, int64_t i) {
  if constexpr (std::is_same_v<T, reference::Complex>) {
    return {array[2 * i], array[2 * i + 1]};
  } else {
    return static_cast<T>(array[i]);
  }
}

template <typename T>
void set_element(reference::Array& array, int64_t i, T value) {
  if constexpr (std::is_same_v<T, reference::Complex>) {
    array[2 * i] = value.re;
    array[2 * i + 1] = value.im;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    array[i] = reference::wrap_integer(value, array.dtype);
  } else {
    array[i] = static_cast<double>(value);
  }
}

template <typename Result, typename First, typename... Rest>
struct MapOver {
  using Element = First;

  template <size_t... kOperands>
  static void run(reference::Call& call, Result (*function)(First, Rest...), std::index_sequence<kOperands...>) {
    reference::Array& result = call.result();
    const int rank = result.shape.rank();
    for (int64_t i = 0; i < result.count(); ++i) {
      const reference::Index index = result.index_of(i);
      set_element(
          result, i,
          function(element<First>(call.operand(kOperands), call.operand(kOperands).broadcast_offset(index, rank))...));
    }
  }
  static void run(reference::Call& call, Result (*function)(First, Rest...)) {
    run(call, function, std::make_index_sequence<1 + sizeof...(Rest)>());
  }
};

template <typename Result, typename... Args>
MapOver<Result, Args...> map_over(Result (*)(Args...));

template <auto kFunction>
using ArgumentOf = typename decltype(map_over(kFunction))::Element;

template <auto... kFunctions>
void map_reference(reference::Call& call) {
  constexpr bool kHasIntegers = (std::is_same_v<ArgumentOf<kFunctions>, int64_t> || ...);
  const DType dtype = call.operand(0).dtype;
  const auto fits = [dtype]<typename T>(T) {
    if (dtype == c64) return std::is_same_v<T, reference::Complex>;
    if (is_integer(dtype) && kHasIntegers) return std::is_same_v<T, int64_t>;
    return std::is_same_v<T, double>;
  };
  static_cast<void>(dtype);
  static_cast<void>(fits);
  ((fits(ArgumentOf<kFunctions>()) ? decltype(map_over(kFunctions))::run(call, kFunctions) : void()), ...);
}

}  // namespace internal

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ELEMENTWISE_MAP_REFERENCE_H_

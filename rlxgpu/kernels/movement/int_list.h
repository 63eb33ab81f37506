// IntList: up to eight numbers, one for each axis: starts, pads, permutations.
//
//   transpose(x, {0, 2, 1});      transpose(x, IntList(std::span(order)));
#ifndef RLXGPU_KERNELS_MOVEMENT_INT_LIST_H_
#define RLXGPU_KERNELS_MOVEMENT_INT_LIST_H_

#include <cstdint>
#include <initializer_list>
#include <span>

#include "rlxgpu/base/span.h"
#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/shape.h"

namespace rlxgpu::core {

class IntList {
 public:
  constexpr IntList() = default;
  constexpr IntList(std::initializer_list<int64_t> numbers) {
    for (const int64_t number : numbers) push_back(number);
  }
  constexpr explicit IntList(std::span<const int64_t> numbers) {
    for (const int64_t number : numbers) push_back(number);
  }

  constexpr int size() const { return size_; }  // above eight when too many were given: shape rules report it
  constexpr int64_t operator[](int i) const { return numbers_[i]; }
  constexpr int64_t& operator[](int i) { return numbers_[i]; }
  constexpr void push_back(int64_t number) {
    if (size_ < kMaxRank) numbers_[size_] = number;
    ++size_;
  }
  constexpr void resize(int size, int64_t fill) {
    while (size_ < size) push_back(fill);
  }
  constexpr Span<int64_t> span() const {
    return {numbers_, static_cast<size_t>(size_ < kMaxRank ? size_ : kMaxRank)};
  }

 private:
  int64_t numbers_[kMaxRank] = {};
  int size_ = 0;
};

constexpr Text& operator<<(Text& out, const IntList& list) {
  out << '{';
  for (int i = 0; i < list.size() && i < kMaxRank; ++i) out << (i ? "," : "") << list[i];
  return out << '}';
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MOVEMENT_INT_LIST_H_

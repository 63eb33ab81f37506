// Span<T> is std::span<const T> for what every node of a graph goes through: the compiler counts one or two steps for
// its functions, and up to ten for those of std::span. Each turns into the other.
#ifndef RLXGPU_BASE_SPAN_H_
#define RLXGPU_BASE_SPAN_H_

#include <cstddef>
#include <span>

#include "rlxgpu/base/cpp20.h"

namespace rlxgpu::core {

template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(const T* data, size_t size) : data_(data), size_(size) {}
  template <size_t kSize>
  constexpr Span(const T (&items)[kSize]) : data_(items), size_(kSize) {}
  constexpr Span(std::span<const T> items) : data_(items.data()), size_(items.size()) {}
  constexpr operator std::span<const T>() const { return {data_, size_}; }

  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr Span subspan(size_t first) const { return {data_ + first, size_ - first}; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_BASE_SPAN_H_

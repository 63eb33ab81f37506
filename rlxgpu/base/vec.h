// Vec<T> is a growing array that also works inside constant evaluation.
//
//   constexpr int total = [] { Vec<int> v; v.push_back(2); v.push_back(3); return v[0] + v[1]; }();
//
// It exists because std::vector costs several times the compile time when a graph is traced by the
// compiler. T must be default-constructible; elements past size() are default values.
//
// Compilers limit the steps of one constant evaluation, and clang counts statements: what every node of a graph goes
// through is written with few of them.
#ifndef RLXGPU_BASE_VEC_H_
#define RLXGPU_BASE_VEC_H_

#include <cstddef>
#include <initializer_list>

#include "rlxgpu/base/cpp20.h"

namespace rlxgpu::core {

// Copies `count` items between arrays that do not overlap.
template <typename T>
constexpr void copy_items(T* to, const T* from, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i];
}
#ifdef __clang__
template <typename T>
  requires(__is_trivially_copyable(T))
constexpr void copy_items(T* to, const T* from, size_t count) {  // all of them in one step
  if (count != 0) __builtin_memcpy(to, from, count * sizeof(T));
}
#endif

template <typename T>
class Vec {
 public:
  constexpr Vec() = default;
  constexpr Vec(std::initializer_list<T> items) {
    append(items.begin(), items.size());
  }
  constexpr Vec(const Vec& other) {
    append(other.data_, other.size_);
  }
  constexpr Vec(Vec&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  constexpr Vec& operator=(Vec other) noexcept {
    T* const data = data_;
    const size_t size = size_, capacity = capacity_;
    data_ = other.data_, size_ = other.size_, capacity_ = other.capacity_;
    other.data_ = data, other.size_ = size, other.capacity_ = capacity;
    return *this;
  }
  constexpr ~Vec() { delete[] data_; }

  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T& operator[](size_t i) { return data_[i]; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }

  constexpr void push_back(const T& item) {
    if (size_ == capacity_) return grow_for(item);
    data_[size_++] = item;
  }
  // Items of another array.
  constexpr void append(const T* from, size_t count) {
    if (size_ + count > capacity_) reserve(size_ + count < 2 * capacity_ ? 2 * capacity_ : size_ + count);
    copy_items(data_ + size_, from, count);
    size_ += count;
  }
  constexpr void assign(const T* from, size_t size) {
    size_ = 0;
    append(from, size);
  }
  // Room for `count` more, so that adding them moves nothing.
  constexpr void make_room(size_t count) {
    if (size_ + count > capacity_) reserve(2 * capacity_ + count);
  }
  constexpr void pop_back() { --size_; }
  constexpr void clear() { size_ = 0; }
  constexpr void resize(size_t size, const T& fill = T()) {
    if (size > capacity_) reserve(size);
    for (size_t i = size_; i < size; ++i) data_[i] = fill;
    size_ = size;
  }
  constexpr void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    T* const grown = new T[capacity]{};
    if constexpr (__is_trivially_copyable(T)) {
      copy_items(grown, data_, size_);
    } else {
      for (size_t i = 0; i < size_; ++i) grown[i] = static_cast<T&&>(data_[i]);
    }
    delete[] data_;
    data_ = grown;
    capacity_ = capacity;
  }
  constexpr bool contains(const T& item) const {
    for (size_t i = 0; i < size_; ++i) {
      if (data_[i] == item) return true;
    }
    return false;
  }

 private:
  constexpr void grow_for(const T& item) {
    const T copy = item;  // item may live in this array
    reserve(capacity_ == 0 ? 8 : 2 * capacity_);
    data_[size_++] = copy;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_BASE_VEC_H_

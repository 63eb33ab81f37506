// Shape: up to eight extents. An extent is fixed, or a run-time number of at most that size.
//
//   Shape s = {128, 768};   s.rank() == 2, s[1] == 768, s.count() == 98304
//   Dim n = g.extent("n", 128);  g.input("x", f32, {n, 768});   // n is given with every run
//
// Memory is laid out for the largest extents, so a run-time extent moves no element: it only says
// how many of them mean something. symbol(axis) is the graph's scalar that holds it, or -1.
#ifndef RLXGPU_GRAPH_SHAPE_H_
#define RLXGPU_GRAPH_SHAPE_H_

#include <cstdint>
#include <initializer_list>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"

namespace rlxgpu {

inline constexpr int kMaxRank = 8;
inline constexpr int kMaxSymbols = 254;  // run-time numbers that an extent may be

struct Dim {
  int32_t extent = 1;
  int16_t symbol = -1;

  constexpr Dim() = default;
  constexpr Dim(int64_t value) : extent(held(value)) {}  // implicit: a number is a Dim
  constexpr Dim(int64_t value, int scalar) : extent(held(value)), symbol(static_cast<int16_t>(scalar)) {}
  constexpr bool operator==(const Dim&) const = default;

 private:
  // What no extent can be is a negative one, which Builder refuses.
  static constexpr int32_t held(int64_t value) { return value == static_cast<int32_t>(value) ? static_cast<int32_t>(value) : INT32_MIN; }
};

struct Shape {
  int32_t extents[kMaxRank] = {};
  uint64_t symbols = 0;  // a byte for each axis, the scalar's number and one; one word is cheaper to copy than eight
  int32_t axes = 0;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<Dim> dims) {
    for (const Dim& dim : dims) push_back(dim);
  }

  constexpr int rank() const { return axes; }
  constexpr int64_t operator[](int axis) const { return extents[axis]; }
  constexpr Dim dim(int axis) const { return Dim(extents[axis], symbol(axis)); }
  constexpr int symbol(int axis) const { return symbols == 0 ? -1 : static_cast<int>(symbols >> 8 * axis & 0xff) - 1; }
  constexpr bool dynamic() const { return symbols != 0; }
  constexpr void set(int axis, Dim dim) {
    extents[axis] = dim.extent;
    if (symbols != 0) symbols &= ~(uint64_t{0xff} << 8 * axis);
    if (dim.symbol >= 0) symbols |= static_cast<uint64_t>(dim.symbol + 1) << 8 * axis;
  }
  constexpr void push_back(Dim dim) {  // beyond eight axes the rank still grows: Builder reports it
    if (axes < kMaxRank) set(axes, dim);
    ++axes;
  }
  constexpr int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < axes; ++i) n *= extents[i];
    return n;
  }
  // Product of the extents of axes [first, last).
  constexpr int64_t count(int first, int last) const {
    int64_t n = 1;
    for (int i = first; i < last; ++i) n *= extents[i];
    return n;
  }
  constexpr bool operator==(const Shape& other) const {
    if (axes != other.axes || symbols != other.symbols) return false;
    for (int i = 0; i < axes; ++i) {
      if (extents[i] != other.extents[i]) return false;
    }
    return true;
  }
};

constexpr Text& operator<<(Text& out, const Shape& shape) {
  out << '[';
  for (int i = 0; i < shape.rank() && i < kMaxRank; ++i) {
    if (i) out << ',';
    if (shape.symbol(i) >= 0) out << "<=";
    out << shape[i];
  }
  return out << ']';
}

// No extent is negative, and there are at most 2^31 - 1 elements.
constexpr bool is_sized(const Shape& shape) {
  int64_t n = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) return false;
    n *= shape[i];
    if (n > INT32_MAX) return false;
  }
  return true;
}

// -1 counts from the end. Returns -1 when axis is not one of the shape's.
constexpr int normalise_axis(int64_t axis, int rank) {
  const int64_t positive = axis < 0 ? axis + rank : axis;
  return positive >= 0 && positive < rank ? static_cast<int>(positive) : -1;
}

// Strides, in elements, of a dense tensor of this shape.
struct Strides {
  int64_t step[kMaxRank] = {};
  constexpr int64_t& operator[](int axis) { return step[axis]; }
  constexpr int64_t operator[](int axis) const { return step[axis]; }
  constexpr bool operator==(const Strides&) const = default;
};

constexpr Strides dense_strides(const Shape& shape) {
  Strides strides;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

// NumPy's rule: axes are aligned at the end; an extent of 1 stretches. False when they do not fit.
constexpr bool broadcast(const Shape& a, const Shape& b, Shape& result) {
  result = Shape();
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const Dim da = ia < 0 ? Dim(1) : a.dim(ia), db = ib < 0 ? Dim(1) : b.dim(ib);
    if (da == db || db == Dim(1)) {
      result.push_back(da);
    } else if (da == Dim(1)) {
      result.push_back(db);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_SHAPE_H_

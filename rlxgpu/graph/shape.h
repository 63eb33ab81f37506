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

namespace rlxgpu::core {

inline constexpr int kMaxRank = 8;
inline constexpr int kMaxSymbols = 254;  // run-time numbers that an extent may be

struct Dim {
  int32_t extent = 1;
  int16_t symbol = -1;

  constexpr Dim() = default;
  // Implicit: a number is a Dim. What no extent can be is a negative one, which Builder refuses.
  constexpr Dim(int64_t value, int scalar = -1)
      : extent(value == static_cast<int32_t>(value) ? static_cast<int32_t>(value) : INT32_MIN),
        symbol(static_cast<int16_t>(scalar)) {}
  constexpr bool operator==(const Dim&) const = default;
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
    if (axes < kMaxRank) extents[axes] = dim.extent;
    if (dim.symbol >= 0 && axes < kMaxRank) symbols |= static_cast<uint64_t>(dim.symbol + 1) << 8 * axes;
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
    int same = 0;
    while (same < axes && extents[same] == other.extents[same]) ++same;
    return same == axes;
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
  for (int i = 0; i < shape.axes; ++i) n = n > INT32_MAX || shape.extents[i] < 0 ? INT64_MAX : n * shape.extents[i];
  return n <= INT32_MAX;
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

// NumPy's rule: axes are aligned at the end; an extent of 1 stretches. False when they do not fit. The result may be one
// of the operands.
constexpr bool broadcast(const Shape& a, const Shape& b, Shape& result) {
  if (b.axes == 0 || a == b) return result = a, true;
  if (a.axes == 0) return result = b, true;
  const int rank = a.axes > b.axes ? a.axes : b.axes, before_a = rank - a.axes, before_b = rank - b.axes;
  const bool fixed = (a.symbols | b.symbols) == 0;
  Shape both;
  for (int i = 0; i < rank; ++i) {
    const int32_t ea = i < before_a ? 1 : a.extents[i - before_a], eb = i < before_b ? 1 : b.extents[i - before_b];
    if (fixed && (ea == eb || ea == 1 || eb == 1)) {
      both.extents[both.axes++] = ea == 1 ? eb : ea;
      continue;
    }
    const Dim da = i < before_a ? Dim(1) : a.dim(i - before_a), db = i < before_b ? Dim(1) : b.dim(i - before_b);
    if (!(da == db || da == Dim(1) || db == Dim(1))) return false;
    both.push_back(da == Dim(1) ? db : da);
  }
  result = both;
  return true;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Dim, core::Shape, core::kMaxRank;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_SHAPE_H_

// Tensors with run-time extents: their present shapes, and where their elements lie. Internal to runtime/.
#ifndef RLXGPU_RUNTIME_EXTENTS_H_
#define RLXGPU_RUNTIME_EXTENTS_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/shape.h"

namespace rlxgpu::core::internal {

// The extents that hold now: extent_of(symbol) is the number that a run-time extent has.
template <typename ExtentOf>
Shape present_shape(const Shape& built, const ExtentOf& extent_of) {
  if (!built.dynamic()) return built;
  Shape shape;
  for (int axis = 0; axis < built.rank(); ++axis) {
    const int symbol = built.symbol(axis);
    shape.push_back(symbol < 0 ? Dim(built[axis]) : Dim(static_cast<int64_t>(extent_of(symbol))));
  }
  return shape;
}

// Calls move(dense offset, built offset, bytes) for every run of elements that lie together in both.
template <typename Move>
void for_each_run(const Shape& present, const Shape& built, size_t element, const Move& move) {
  int axis = present.rank();  // axes from here on are complete
  while (axis > 0 && present[axis - 1] == built[axis - 1]) --axis;
  if (present.count() == 0) return;
  const int outer = axis > 0 ? axis - 1 : 0;  // this axis is cut short: its elements still lie together
  const auto run = static_cast<size_t>(present.count(outer, present.rank())) * element;
  const Strides strides = dense_strides(built);
  const int64_t runs = present.count(0, outer);
  for (int64_t i = 0; i < runs; ++i) {
    int64_t rest = i, offset = 0;
    for (int k = outer - 1; k >= 0; --k) {
      offset += rest % present[k] * strides[k];
      rest /= present[k];
    }
    move(static_cast<size_t>(i) * run, static_cast<size_t>(offset) * element, run);
  }
}

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_EXTENTS_H_

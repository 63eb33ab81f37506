// Steps that no kernel op asks for: values that are computed by maps alone, and copies in another layout.
#ifndef RLXGPU_COMPILE_COPIES_H_
#define RLXGPU_COMPILE_COPIES_H_

#include <cstdint>

#include "rlxgpu/compile/dispatch.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/compile/lowering.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMapFile(
#include "rlxgpu/compile/map.wgsl"
);
inline constexpr KernelFile kTransposedCopyFile(
#include "rlxgpu/compile/transposed_copy.wgsl"
);

// A copy of a view whose last axis is not contiguous in memory, but another one is, in squares; false when it is none
// such, or its vectors are not whole.
constexpr bool copy_transposed(Lowering& lowering, int32_t value, int32_t memory) {
  const Graph& graph = lowering.graph();
  const Target& target = lowering.target();
  const TensorType& type = graph.value(value);
  const Node& from = graph.producer(value);
  const int last = type.shape.rank() - 1;
  if (from.kind != NodeKind::op || from.op->view == nullptr || bytes_of(type.dtype) != 4 || type.shape.count() < 4096)
    return false;
  View inner, view;
  const int32_t base = lowering.strided(graph.operand(from, 0), inner);
  if (base < 0 || !from.op->view(call_of(graph, from), inner, view) || view.strides[last] == 1) return false;
  int other = -1;
  for (int axis = 0; axis < last; ++axis) {
    if (type.shape[axis] > 1 && view.strides[axis] == 1) other = axis;
  }
  if (other < 0 || type.shape[other] % 4 != 0 || type.shape[last] % 4 != 0 || view.offset % 4 != 0) return false;
  Shape matrices;
  View in_x, in_y;
  const Strides dense = dense_strides(type.shape);
  in_x.offset = view.offset;
  for (int axis = 0; axis <= last; ++axis) {
    if (axis != other && (type.shape[axis] > 1 && (view.strides[axis] % 4 != 0 || view.strides[axis] < 0)))
      return false;
    if (axis == other || axis == last) continue;
    in_x.strides[matrices.rank()] = view.strides[axis], in_y.strides[matrices.rank()] = dense[axis];
    matrices.push_back(type.shape[axis]);
  }
  const int64_t rows = type.shape[other], cols = type.shape[last],
                tall = target.adapter_class == AdapterClass::software ? 1 : 8;
  const int64_t tiles = matrices.count() * ceil_div(rows / 4, tall) * ceil_div(cols / 4, 8);
  const FoldedGrid grid = fold_grid(tiles, target.max_groups);
  const int64_t words = graph.value(base).shape.count();
  if (words % 4 != 0) return false;
  const Call none;
  Dispatch(lowering, kTransposedCopyFile, none, -1, graph.value(value).node, "transposed")
      .number("kXWords4", words / 4)
      .number("kYWords4", type.shape.count() / 4)
      .number("kRows", rows)
      .number("kCols", cols)
      .number("kXCol", view.strides[last])
      .number("kYRow", dense[other])
      .number("kTall", tall)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .raw("x", {Ref::Kind::memory, lowering.memory_of(base)})
      .raw("y", {Ref::Kind::memory, memory}, true)
      .place("x_begin", matrices, in_x)
      .place("y_begin", matrices, in_y)
      .grid(grid.row, grid.rows);
  return true;
}

// Computes a value into this memory: a kernel of maps, or a copy.
constexpr void compute_into(Lowering& lowering, int32_t value, int32_t memory) {
  if (copy_transposed(lowering, value, memory)) return;
  const Graph& graph = lowering.graph();
  const TensorType& type = graph.value(value);
  const int64_t words = ceil_div(type.shape.count(), per_word(type.dtype));
  if (words == 0) return;
  const FoldedGrid grid = fold_grid(ceil_div(words, 64), lowering.target().max_groups);
  const int32_t shrinks = type.shape.rank() > 0 && grid.rows == 1 ? type.shape.symbol(0) : -1;
  const Call none;
  Dispatch(lowering, kMapFile, none, -1, graph.value(value).node, "map")
      .number("kWords", words)
      .number("kRow", grid.row * 64)
      .words("y", value, memory)
      .grid(grid.row, grid.rows, 1, shrinks);
}

// A value's elements one after another, copied if they are not.
constexpr Ref dense(Lowering& lowering, int32_t value) {
  const Graph& graph = lowering.graph();
  View view;
  const int32_t base = lowering.strided(value, view);
  if (base >= 0 && view == View{0, dense_strides(graph.value(value).shape)}) return {Ref::Kind::value, value};
  const int32_t memory = lowering.scratch(graph.value(value));
  compute_into(lowering, value, memory);
  return {Ref::Kind::memory, memory};
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_COPIES_H_

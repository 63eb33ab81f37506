// ReduceLayout: the operand of a reduction seen as rows (the kept axes) and columns (the reduced ones).
#ifndef RLXGPU_KERNELS_REDUCE_LAYOUT_H_
#define RLXGPU_KERNELS_REDUCE_LAYOUT_H_

#include <cstdint>
#include <span>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/reduce/lanes.h"
#include "rlxgpu/kernels/reduce/shape.h"

namespace rlxgpu::core {

// The operand seen as rows x columns: kept axes first, then reduced ones, of which the one with a
// run-time extent comes first, so that the columns in use are the first ones.
struct ReduceLayout {
  int order[kMaxRank] = {};
  int rank = 0;
  int64_t rows = 1, cols = 1, inner = 1;  // inner: columns for each step of the first reduced axis
  Dim steps;
  bool adjacent_rows = false;  // neighbours in memory belong to neighbouring rows
  int row_symbol = -1;

  constexpr std::span<const int> axes() const { return {order, static_cast<size_t>(rank)}; }
};

constexpr ReduceLayout reduce_layout(const Call& call) {
  const Shape& shape = call.operand(0).shape;
  const ReducedAxes reduced(call.attrs.subspan(1), shape.rank());
  ReduceLayout layout;
  layout.rank = shape.rank();
  int n = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (reduced[axis]) continue;
    if (n == 0) layout.row_symbol = shape.symbol(axis);
    layout.order[n++] = axis;
    layout.rows *= shape[axis];
  }
  const int first = n;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (reduced[axis] && shape.symbol(axis) >= 0) layout.order[n++] = axis;
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (reduced[axis] && shape.symbol(axis) < 0) layout.order[n++] = axis;
  }
  if (first < n) layout.steps = shape.dim(layout.order[first]);
  for (int i = first; i < n; ++i) layout.cols *= shape[layout.order[i]];
  for (int i = first + 1; i < n; ++i) layout.inner *= shape[layout.order[i]];
  int last = shape.rank() - 1;
  while (last >= 0 && shape[last] == 1) --last;
  layout.adjacent_rows = last >= 0 && !reduced[last];
  return layout;
}

// Few rows, long ones: too little work for a workgroup each, so each row is cut into parts first.
inline constexpr int64_t kSplitRows = 64, kSplitCols = 8192;

constexpr bool split_accepts(const Call& call, const Target&) {
  const ReduceLayout layout = reduce_layout(call);
  return layout.rows <= kSplitRows && layout.cols >= kSplitCols;
}

// At least 2048 columns a part, and not more parts than one workgroup combines in a few steps.
struct Split {
  int64_t splits, chunk;
};
constexpr Split split_of(int64_t cols) {
  const int64_t wanted = ceil_div(cols, 2048);
  const int64_t chunk = ceil_div(cols, wanted < 512 ? wanted : 512);
  return {ceil_div(cols, chunk), chunk};
}

// Those of "rows", and of the parts of "split".
inline constexpr Parameter kSplitRowsParameters[] = {
    {"splits", 1, 4096, 1, "parts of a row"},
    kLanesParameters[0],
    kLanesParameters[1],
};
constexpr RowsOf reduce_rows_of(const ReduceLayout& layout) {
  return {layout.rows, layout.cols, layout.adjacent_rows ? layout.rows : 1};
}
constexpr void reduce_rows_defaults(const Call& call, const Target& target, Parameters& p) {
  fill_lanes(reduce_rows_of(reduce_layout(call)), target, p);
}
constexpr void reduce_split_defaults(const Call& call, const Target& target, Parameters& p) {
  const ReduceLayout layout = reduce_layout(call);
  p.fill("splits", split_of(layout.cols).splits);
  fill_lanes({layout.rows * p["splits"], ceil_div(layout.cols, p["splits"]), 1}, target, p);
}
constexpr bool reduce_split_valid(const Call& call, const Target& target, const Parameters& p) {
  return lanes_valid(call, target, p) && p["splits"] <= reduce_layout(call).cols;
}
constexpr Split split_of(const ReduceLayout& layout, const Emit& e) {
  const int64_t chunk = ceil_div(layout.cols, e.parameter("splits"));
  return {ceil_div(layout.cols, chunk), chunk};
}
inline constexpr ParameterRules kReduceRowsRules = {kLanesParameters, reduce_rows_defaults, lanes_valid};
inline constexpr ParameterRules kReduceSplitRules = {kSplitRowsParameters, reduce_split_defaults, reduce_split_valid};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_LAYOUT_H_

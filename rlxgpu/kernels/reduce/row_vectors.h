// RowVectors: how rows of whole vectors of four are given to workgroups by kernels that keep them in registers (norm,
// softmax).
#ifndef RLXGPU_KERNELS_REDUCE_ROW_VECTORS_H_
#define RLXGPU_KERNELS_REDUCE_ROW_VECTORS_H_

#include <cstdint>

#include "rlxgpu/kernels/reduce/lanes.h"

namespace rlxgpu::core {

struct RowVectors {
  int64_t rows = 1, vectors = 1;
  int64_t lanes = 1;       // invocations that share a row, a power of two
  int64_t each = 1;        // vectors of an invocation, at most
  int64_t group_rows = 1;  // of a workgroup
  bool held = true;        // so few that they stay in registers: Mesa unrolls loops of 32; elsewhere 8 vectors
  FoldedGrid grid;

  constexpr bool is_subgroup(const Target& target) const { return is_one_subgroup(lanes, target); }
  constexpr void give_to(Dispatch& dispatch) const {
    dispatch.number("kRows", rows).number("kVectors", vectors).number("kLanes", lanes).number("kEach", each);
    dispatch.number("kGroupRows", group_rows).number("kGridRow", grid.row);
  }
};

// One subgroup of a CPU; elsewhere a subgroup or two unless the row is long, with several vectors each to hide latency.
constexpr RowVectors row_vectors(int64_t rows, int64_t cols, const Target& target) {
  const bool software = target.adapter_class == AdapterClass::software;
  RowVectors of;
  of.rows = rows, of.vectors = cols / 4 < 1 ? 1 : cols / 4;
  const int64_t most = software ? 8 : of.vectors > 512 ? 256 : 64;
  of.lanes = power_of_two_below(of.vectors < most ? of.vectors : most);
  of.each = ceil_div(of.vectors, of.lanes);
  of.group_rows = power_of_two_below((software ? 8 : 64) / of.lanes);
  of.held = of.each <= (software ? 32 : 8);
  of.grid = fold_grid(ceil_div(rows, of.group_rows), target.max_groups);
  return of;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_ROW_VECTORS_H_

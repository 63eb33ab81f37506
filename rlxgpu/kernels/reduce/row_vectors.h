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

inline constexpr Parameter kRowVectorsParameters[] = {
    {"lanes", 1, 256, kPowersOfTwo, "invocations that share a row"},
    {"group_rows", 1, 256, kPowersOfTwo, "rows of a workgroup"},
    {"held", 0, 1, 1, "1: a row stays in registers; 0: it is read again"},
};
constexpr void fill_row_vectors(const RowVectors& by_default, const Target& target, Parameters& p) {
  p.fill("lanes", by_default.lanes);
  const int64_t most = target.max_invocations < 256 ? target.max_invocations : 256;
  const int64_t left = power_of_two_below(most / p["lanes"] < 1 ? 1 : most / p["lanes"]);
  p.fill("group_rows", by_default.group_rows < left ? by_default.group_rows : left);
  p.fill("held", by_default.held && ceil_div(by_default.vectors, p["lanes"]) <= 32);
}
constexpr bool row_vectors_valid(const RowVectors& by_default, const Target& target, const Parameters& p) {
  const int64_t size = p["lanes"] * p["group_rows"];
  return size <= 256 && size <= target.max_invocations &&
         (p["held"] == 0 || ceil_div(by_default.vectors, p["lanes"]) <= 32);
}
// As the variant's parameters say.
constexpr RowVectors row_vectors(RowVectors of, const Emit& e) {
  of.lanes = e.parameter("lanes"), of.group_rows = e.parameter("group_rows"), of.held = e.parameter("held") != 0;
  of.each = ceil_div(of.vectors, of.lanes);
  of.grid = fold_grid(ceil_div(of.rows, of.group_rows), e.target().max_groups);
  return of;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_ROW_VECTORS_H_

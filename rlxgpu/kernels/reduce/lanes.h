// Lanes: how the rows of a kernel that works row by row (reduce, softmax, scan) are given to workgroups.
//
//   const Lanes lanes = lanes_of({.rows = rows, .cols = cols, .inner = 1}, e);   // from its parameters,
//   kLanesParameters Dispatch dispatch = e.dispatch(file); give_lanes(dispatch, lanes);          // kLanes, kGroupRows,
//   ...
//
// `lanes` invocations share a row; a workgroup holds `rows` rows, more than one when rows are short.
// Where neighbouring elements in memory belong to neighbouring rows (the axis worked on is not the last),
// neighbouring invocations take neighbouring rows, so that their loads join; else neighbouring columns.
#ifndef RLXGPU_KERNELS_REDUCE_LANES_H_
#define RLXGPU_KERNELS_REDUCE_LANES_H_

#include <cstdint>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/target.h"

namespace rlxgpu::core {

struct RowsOf {
  int64_t rows = 1;
  int64_t cols = 1;
  int64_t inner = 1;  // elements between neighbours of one row; so many neighbouring rows lie side by side
};

struct Lanes {
  int64_t lanes = 1;      // a power of two
  int64_t rows = 1;       // a power of two
  int64_t lane_step = 1;  // between invocations that share a row
  int64_t row_step = 1;   // between invocations of neighbouring rows
  FoldedGrid grid;
};

constexpr int64_t power_of_two_below(int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

// Software adapters pay 50 ns a subgroup for a barrier: one subgroup there. Elsewhere 256 invocations,
// the default limit, and at least four columns for each.
constexpr Lanes lanes_of(const RowsOf& of, const Target& target) {
  const int64_t group = target.adapter_class == AdapterClass::software
                            ? 8
                            : power_of_two_below(target.max_invocations < 256 ? target.max_invocations : 256);
  const auto at_most = [](int64_t n, int64_t most) { return n < most ? n : most; };
  Lanes lanes;
  if (of.inner > 1) {
    lanes.rows = at_most(power_of_two_below(of.inner), at_most(32, group));
    lanes.lanes = at_most(power_of_two_below(of.cols / 4), group / lanes.rows);
    lanes.lane_step = lanes.rows;
  } else {
    lanes.lanes = at_most(power_of_two_below(of.cols / 4), group);
    lanes.rows = at_most(power_of_two_below(of.rows), group / lanes.lanes);
    lanes.row_step = lanes.lanes;
  }
  lanes.grid = fold_grid(ceil_div(of.rows, lanes.rows), target.max_groups);
  return lanes;
}

inline constexpr Parameter kLanesParameters[] = {
    {"lanes", 1, 256, kPowersOfTwo, "invocations that share a row"},
    {"group_rows", 1, 256, kPowersOfTwo, "rows of a workgroup"},
};
constexpr void fill_lanes(const RowsOf& of, const Target& target, Parameters& p) {
  const Lanes lanes = lanes_of(of, target);
  p.fill("lanes", lanes.lanes);
  const int64_t most = target.max_invocations < 256 ? target.max_invocations : 256;
  const int64_t left = power_of_two_below(most / p["lanes"] < 1 ? 1 : most / p["lanes"]);
  p.fill("group_rows", lanes.rows < left ? lanes.rows : left);
}
constexpr bool lanes_valid(const Call&, const Target& target, const Parameters& p) {
  const int64_t size = p["lanes"] * p["group_rows"];
  return size <= 256 && size <= target.max_invocations;
}
// As the variant's parameters say.
constexpr Lanes lanes_of(const RowsOf& of, const Emit& e) {
  Lanes lanes;
  lanes.lanes = e.parameter("lanes"), lanes.rows = e.parameter("group_rows");
  if (of.inner > 1) {
    lanes.lane_step = lanes.rows;
  } else {
    lanes.row_step = lanes.lanes;
  }
  lanes.grid = fold_grid(ceil_div(of.rows, lanes.rows), e.target().max_groups);
  return lanes;
}

// So many neighbouring invocations of a workgroup are a subgroup: what they share needs no barrier. On CPUs only, where
// that was seen; WGSL does not say which invocations are one.
constexpr bool is_one_subgroup(int64_t lanes, const Target& target) {
  return target.adapter_class == AdapterClass::software && target.subgroups &&
         target.subgroup_min == target.subgroup_max && target.subgroup_max == lanes;
}

// The parameters that every kernel file of this kind has.
constexpr void give_lanes(Dispatch& dispatch, const Lanes& lanes) {
  dispatch.number("kLanes", lanes.lanes).number("kGroupRows", lanes.rows);
  dispatch.number("kLaneStep", lanes.lane_step).number("kRowStep", lanes.row_step).number("kGridRow", lanes.grid.row);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_LANES_H_

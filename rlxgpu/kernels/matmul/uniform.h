// The variant "uniform" of matmul: blocks of 8 x 4 in registers and no workgroup memory, for GPUs that read what is the
// same for a whole subgroup at once, and have few registers: Intel's.
#ifndef RLXGPU_KERNELS_MATMUL_UNIFORM_H_
#define RLXGPU_KERNELS_MATMUL_UNIFORM_H_

#include <cstdint>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/parameter.h"
#include "rlxgpu/graph/targets.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/wide.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulUniformFile(
#include "rlxgpu/kernels/matmul/uniform.wgsl"
);

namespace uniform {

inline constexpr int64_t kRows = 8;

inline constexpr Parameter kParameters[] = {
    {"stack", 1, 8, kPowersOfTwo, "subgroups of a workgroup, each with 8 rows"}};

constexpr int64_t tiles_of(const MatmulLayout& layout, const Target& target, int64_t stack) {
  return layout.batches * ceil_div(layout.m, kRows * stack) * ceil_div(layout.n, 4 * target.subgroup_min);
}
constexpr void defaults(const Call& call, const Target& target, Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  int64_t stack = 8;
  while (stack > 1 && (tiles_of(layout, target, stack) < 2 * units_of(target) || kRows * stack / 2 >= layout.m))
    stack /= 2;
  while (stack > 1 && stack * target.subgroup_min > target.max_invocations) stack /= 2;
  p.fill("stack", stack);
}
constexpr bool valid(const Call&, const Target& target, const Parameters& p) {
  return p["stack"] * target.subgroup_min <= target.max_invocations;
}

}  // namespace uniform

// Runs of 16 of k in a, whole vectors of b along n.
constexpr bool matmul_uniform_accepts(const Call& call, const Target& target) {
  if (!target.subgroups || !target.subgroup_size_control || target.subgroup_min > target.max_invocations) return false;
  if (!is_float(call.result().dtype) || call.operand_views[0] == nullptr || call.operand_views[1] == nullptr)
    return false;
  const MatmulLayout layout = matmul_layout(call);
  return layout.m > 0 && layout.k > 0 && wide_a(layout, 16) == Wide::along_k && wide_b(layout, 4) == Wide::across_k;
}

constexpr bool matmul_uniform_prefers(const Call& call, const Target& target) {
  const MatmulLayout layout = matmul_sizes(call);
  return target.vendor == Vendor::intel && layout.m >= 8 && layout.n >= 32;
}

constexpr void matmul_uniform_emit(Emit& e) {
  const MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  const int64_t stack = e.parameter("stack"), tiles = uniform::tiles_of(layout, e.target(), stack);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulUniformFile);
  layout.give_to(dispatch);
  dispatch.number("kSubgroup", e.target().subgroup_min)
      .number("kStack", stack)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .buffer("a", e.operand(0), 4)
      .buffer("b", e.operand(1), 4)
      .output4("y", e.result())
      .grid(grid.row, grid.rows);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_UNIFORM_H_

// The variant "tiled_8x8" of matmul: blocks of 8 x 8 in registers, fed from workgroup memory. For real GPUs.
#ifndef RLXGPU_KERNELS_MATMUL_TILED_8X8_H_
#define RLXGPU_KERNELS_MATMUL_TILED_8X8_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/wide.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulTiled8x8File(
#include "rlxgpu/kernels/matmul/tiled_8x8.wgsl"
);

namespace tiled_8x8 {

// How an operand is read: kAMode and kAWhole of the kernel file, and the width of its loads.
struct Reading {
  int64_t mode = 2;
  bool whole = true;
  int width = 1;
};
constexpr Reading reading_of(Wide wide, int64_t across, int64_t along_k) {
  if (wide != Wide::none) return {wide == Wide::along_k, true, 4};
  if (along_k == 1 || across == 1) return {along_k == 1, false, -4};
  return {};
}

inline constexpr Parameter kParameters[] = {
    {"lanes_m", 8, 16, kPowersOfTwo, "invocations along m; each has 8 rows"},
    {"lanes_n", 8, 16, kPowersOfTwo, "invocations along n; each has 8 columns"},
    {"tile_k", 4, 16, kPowersOfTwo, "products between two barriers"},
};
constexpr int64_t tiles_of(const MatmulLayout& layout, int64_t m, int64_t n) {
  return layout.batches * ceil_div(layout.m, m) * ceil_div(layout.n, n);
}
// Few large blocks would leave units idle; each invocation stages one vector of either operand.
constexpr void fill_defaults(const MatmulLayout& layout, int64_t matrices, Parameters& p) {
  const int64_t lanes = tiles_of(layout, 128, 128 / matrices) >= 64 ? 16 : 8;
  p.fill("lanes_m", lanes);
  p.fill("lanes_n", lanes);
  p.fill("tile_k", p["lanes_m"] > 8 || p["lanes_n"] > 8 ? 8 : 4);
}
// Whole vectors for every invocation; two buffers in workgroup memory.
constexpr bool valid(const Call&, const Target& target, const Parameters& p) {
  const int64_t m = p["lanes_m"], n = p["lanes_n"], k = p["tile_k"];
  return 2 * k % m == 0 && 2 * k % n == 0 && 2 * k * 8 * (m + n) * 4 <= 16384 && m * n <= target.max_invocations;
}

}  // namespace tiled_8x8

constexpr bool matmul_tiled_8x8_accepts(const Call& call, const Target& target) {
  return is_float(call.result().dtype) && call.operand_views[0] != nullptr && call.operand_views[1] != nullptr &&
         target.max_invocations >= 256 && target.max_workgroup_bytes >= 16384;
}

// A GPU, and a block or more in either direction. Not Intel's: 64 sums of a subgroup are all of its registers (bmg,
// 1024^3: 2921 are kept in memory, and 15 % of what is issued are multiply-adds).
constexpr bool matmul_tiled_8x8_prefers(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::discrete && target.adapter_class != AdapterClass::integrated) return false;
  if (target.vendor == Vendor::intel) return false;
  const Shape& y = call.result().shape;
  return matmul_tiled_8x8_accepts(call, target) && y.rank() >= 2 && y[y.rank() - 1] >= 48 && y[y.rank() - 2] >= 48;
}

// The product of one matrix, or of two that are laid out alike; `give` says what is made of the sums.
template <typename Give>
constexpr void tiled_8x8_emit(Emit& e, const MatmulLayout& layout, int64_t matrices, const Give& give) {
  const tiled_8x8::Reading a = tiled_8x8::reading_of(wide_a(layout, 4), layout.a_row, layout.a_col),
                           b = tiled_8x8::reading_of(wide_b(layout, 4), layout.b_col, layout.b_row);
  const int64_t lanes_m = e.parameter("lanes_m"), lanes_n = e.parameter("lanes_n");
  const int64_t tiles = tiled_8x8::tiles_of(layout, 8 * lanes_m, 8 * lanes_n / matrices);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulTiled8x8File);
  layout.give_to(dispatch);
  dispatch.number("kAMode", a.mode)
      .number("kBMode", b.mode)
      .number("kAWhole", a.whole)
      .number("kBWhole", b.whole)
      .number("kTileK", e.parameter("tile_k"))
      .number("kMatrices", matrices)
      .number("kLanesM", lanes_m)
      .number("kLanesN", lanes_n)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .flag("A_WIDE", a.width != 1)
      .buffer("a", e.operand(0), a.width)
      .flag("B_WIDE", b.width != 1)
      .buffer("b", e.operand(1), b.width)
      .flag("GATED", matrices > 1);
  give(dispatch, b.width);
  dispatch.output("y", e.result()).grid(grid.row, grid.rows);
}

constexpr void matmul_tiled_8x8_defaults(const Call& call, const Target&, Parameters& p) {
  tiled_8x8::fill_defaults(matmul_sizes(call), 1, p);
}

constexpr void matmul_tiled_8x8_emit(Emit& e) {
  tiled_8x8_emit(e, matmul_layout(e.call(), e.view(0), e.view(1)), 1,
                 [](Dispatch& dispatch, int) { dispatch.slot("fetch").slot("gate"); });
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_TILED_8X8_H_

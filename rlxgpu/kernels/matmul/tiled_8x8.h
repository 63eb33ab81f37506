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

}  // namespace tiled_8x8

constexpr bool matmul_tiled_8x8_accepts(const Call& call, const Target& target) {
  return is_float(call.result().dtype) && call.operand_views[0] != nullptr && call.operand_views[1] != nullptr &&
         target.max_invocations >= 256 && target.max_workgroup_bytes >= 16384;
}

// A GPU, and a block or more in either direction.
constexpr bool matmul_tiled_8x8_prefers(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::discrete && target.adapter_class != AdapterClass::integrated) return false;
  const Shape& y = call.result().shape;
  return matmul_tiled_8x8_accepts(call, target) && y.rank() >= 2 && y[y.rank() - 1] >= 48 && y[y.rank() - 2] >= 48;
}

// The product of one matrix, or of two that are laid out alike; `give` says what is made of the sums.
template <typename Give>
constexpr void tiled_8x8_emit(Emit& e, const MatmulLayout& layout, int64_t matrices, const Give& give) {
  const tiled_8x8::Reading a = tiled_8x8::reading_of(wide_a(layout, 4), layout.a_row, layout.a_col),
                           b = tiled_8x8::reading_of(wide_b(layout, 4), layout.b_col, layout.b_row);
  const auto tiles_of = [&](int64_t size) {
    return layout.batches * ceil_div(layout.m, size) * ceil_div(layout.n, size / matrices);
  };
  const int64_t lanes = tiles_of(128) >= 64 ? 16 : 8;  // few large blocks would leave units idle
  const int64_t tiles = tiles_of(8 * lanes);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulTiled8x8File);
  layout.give_to(dispatch);
  dispatch.number("kAMode", a.mode)
      .number("kBMode", b.mode)
      .number("kAWhole", a.whole)
      .number("kBWhole", b.whole)
      .number("kTileK", lanes == 16 ? 8 : 4)  // so that each invocation stages one vector of either operand
      .number("kMatrices", matrices)
      .number("kLanesM", lanes)
      .number("kLanesN", lanes)
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

constexpr void matmul_tiled_8x8_emit(Emit& e) {
  tiled_8x8_emit(e, matmul_layout(e.call(), e.view(0), e.view(1)), 1,
                 [](Dispatch& dispatch, int) { dispatch.slot("fetch").slot("gate"); });
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_TILED_8X8_H_

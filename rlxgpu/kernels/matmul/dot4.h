// The variant "dot4" of matmul: bytes, of which four products are one instruction. Copies operands whose bytes along k
// are not words first.
#ifndef RLXGPU_KERNELS_MATMUL_DOT4_H_
#define RLXGPU_KERNELS_MATMUL_DOT4_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/pad.h"
#include "rlxgpu/kernels/matmul/wide.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulDot4File(
#include "rlxgpu/kernels/matmul/dot4.wgsl"
);

constexpr bool matmul_dot4_accepts(const Call& call, const Target& target) {
  const Shape& a = call.operand(0).shape;
  const DType dtype = call.operand(0).dtype;
  return (dtype == i8 || dtype == u8) && call.operand_views[0] != nullptr && call.operand_views[1] != nullptr &&
         a[a.rank() - 1] > 0 && a.symbol(a.rank() - 1) < 0 && target.max_invocations >= 256;
}

namespace dot4 {

inline constexpr Parameter kParameters[] = {
    {"rows_each", 1, 8, kPowersOfTwo, "rows of an invocation; a workgroup has 16 times as many"},
    {"cols_each", 1, 8, kPowersOfTwo, "its columns"},
    {"tile_k", 4, 32, kPowersOfTwo, "words of four products between two barriers"},
};
constexpr void defaults(const Call& call, const Target&, Parameters& p) {
  const MatmulLayout layout = matmul_sizes(call);
  p.fill("rows_each", each_of(layout.m, 16, 4));
  p.fill("cols_each", each_of(layout.n, 16, 4));
  p.fill("tile_k", 16);
}
constexpr bool valid(const Call&, const Target& target, const Parameters& p) {
  const int64_t bytes = 4 * 16 * p["tile_k"] * (p["rows_each"] + p["cols_each"]);
  return bytes <= 16384 && bytes <= target.max_workgroup_bytes;
}

}  // namespace dot4

constexpr void matmul_dot4_emit(Emit& e) {
  MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  MatrixCopy a = {e.operand(0), e.view(0)}, b = {e.operand(1), e.view(1)};
  const int64_t padded = ceil_div(layout.k, 4) * 4;
  if (padded != layout.k || wide_a(layout, 4) != Wide::along_k) a = pad_matrix(e, layout, 0, padded);
  if (padded != layout.k || wide_b(layout, 4) != Wide::along_k) b = pad_matrix(e, layout, 1, padded);
  layout = matmul_layout(e.call(), a.view, b.view);
  const int64_t rows_each = e.parameter("rows_each"), cols_each = e.parameter("cols_each");
  const int64_t tiles = layout.batches * ceil_div(layout.m, 16 * rows_each) * ceil_div(layout.n, 16 * cols_each);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  e.dispatch(kMatmulDot4File)
      .type("Sum", register_of(e.call().result().dtype))
      .number("kM", layout.m)
      .number("kN", layout.n)
      .number("kWords", padded / 4)
      .number("kARow", layout.a_row / 4)
      .number("kBCol", layout.b_col / 4)
      .number("kRowsEach", rows_each)
      .number("kColsEach", cols_each)
      .number("kTileK", e.parameter("tile_k"))
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .place("a_begin", layout.batch_shape(), layout.batch_view(true))
      .place("b_begin", layout.batch_shape(), layout.batch_view(false))
      .raw("a", a.ref)
      .raw("b", b.ref)
      .output("y", e.result())
      .flag("SIGNED", e.call().operand(0).dtype == i8)
      .grid(grid.row, grid.rows);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_DOT4_H_

// The variant "gemv" of matmul: a matrix times at most 16 vectors, read where it is. For adapters that run on a CPU.
#ifndef RLXGPU_KERNELS_MATMUL_GEMV_H_
#define RLXGPU_KERNELS_MATMUL_GEMV_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/packed.h"
#include "rlxgpu/kernels/matmul/wide.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulGemvFile(
#include "rlxgpu/kernels/matmul/gemv.wgsl"
);
inline constexpr KernelFile kMatmulGemvDotsFile(
#include "rlxgpu/kernels/matmul/gemv_dots.wgsl"
);

namespace gemv {

inline constexpr int64_t kMostVectors = 16;

// Lanes share a line, instead of having lines of their own: faster for one vector or two.
constexpr bool by_dots(const Target& target, bool along_k, int64_t vectors, int64_t k) {
  return along_k && target.subgroups && target.subgroup_min >= 8 && vectors <= 2 && k >= 64;
}

// How the matrix and the vectors can be read. w is a, whose rows are lines, or b, whose columns are.
struct Reading {
  bool w_is_a = true, x_wide = false, eight = false;
  Wide wide_w = Wide::none;
  int64_t lines = 1, vectors = 1;
  constexpr bool across() const { return wide_w == Wide::across_k; }
  constexpr bool along_k() const { return wide_w == Wide::along_k && x_wide; }
};
constexpr Reading reading_of(const Call& call, const MatmulLayout& layout) {
  Reading r;
  r.w_is_a = layout.n <= layout.m;
  r.lines = r.w_is_a ? layout.m : layout.n, r.vectors = r.w_is_a ? layout.n : layout.m;
  r.wide_w = r.w_is_a ? wide_a(layout, 4) : wide_b(layout, 4);
  r.x_wide = (r.w_is_a ? wide_b(layout, 4) : wide_a(layout, 4)) == Wide::along_k;
  r.eight = r.x_wide && per_word(call.operand(r.w_is_a ? 0 : 1).dtype) == 2 &&
            (r.w_is_a ? wide_a(layout, 8) : wide_b(layout, 8)) == Wide::along_k;
  return r;
}
// Lines of a workgroup, `each` times.
constexpr int64_t tile_of(const Reading& r, const Parameters& p) { return p["dots"] != 0 ? 1 : r.across() ? 32 : 8; }

inline constexpr Parameter kParameters[] = {
    {"dots", 0, 1, 1, "1: the lanes of a subgroup share each line; 0: a lane has lines of its own"},
    {"step", 4, 8, kPowersOfTwo, "products that a lane loads at a time"},
    {"each", 1, 16, kPowersOfTwo, "lines of a lane, or of a workgroup whose lanes share them"},
    {"splits", 1, 64, 1, "workgroups that share a sum"},
};
constexpr void defaults(const Call& call, const Target& target, Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  const Reading r = reading_of(call, layout);
  p.fill("dots", by_dots(target, r.along_k(), r.vectors, layout.k));
  p.fill("step", r.eight ? 8 : 4);
  const bool dots = p["dots"] != 0;
  const int64_t tile = tile_of(r, p), most_each = dots ? 8 : p["step"], most_sums = dots || r.across() ? 8 : 16;
  int64_t each = 1;
  while (each < most_each && 2 * each * r.vectors <= most_sums && 2 * each * tile * 8 <= r.lines * layout.batches)
    each *= 2;
  p.fill("each", each);
  // Eight workgroups at least, of 64 products at least.
  const int64_t groups = layout.batches * ceil_div(r.lines, p["each"] * tile), most = ceil_div(layout.k, 64);
  const int64_t splits = groups == 0 || groups >= 8 ? 1 : ceil_div(8, groups);
  p.fill("splits", splits > most ? (most < 1 ? 1 : most) : splits);
}
constexpr bool valid(const Call& call, const Target& target, const Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  const Reading r = reading_of(call, layout);
  if (p["dots"] != 0 && !(r.along_k() && target.subgroups && target.subgroup_min >= 8)) return false;
  if (p["step"] == 8 && !r.eight) return false;
  return r.vectors * p["each"] <= 32 && (p["splits"] == 1 || p["splits"] * p["step"] <= layout.k);
}

}  // namespace gemv

constexpr bool matmul_gemv_accepts(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software && target.adapter_class != AdapterClass::unknown) return false;
  if (!is_float(call.result().dtype)) return false;
  const MatmulLayout layout = matmul_sizes(call);
  return layout.m <= gemv::kMostVectors || layout.n <= gemv::kMostVectors;
}

// Where subgroups are narrower than a workgroup (SwiftShader: 4), "rows" is faster for more than one vector (16 x 1024
// x 1024: 23 against 31 ms; 4 x 4096 x 4096: 271 against 419), and for one with columns of f32 that lie in one piece
// each (4096 x 4096: 60 against 130); but not for a few with 16 bits (4 x 4096 x 4096: 247 against 168).
constexpr bool matmul_gemv_prefers(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software || !matmul_has_many_elements(call, target)) return false;
  const MatmulLayout layout = matmul_sizes(call);
  const int64_t vectors = layout.m < layout.n ? layout.m : layout.n, lines = layout.m < layout.n ? layout.n : layout.m;
  if (target.subgroup_max == 0 || target.subgroup_max >= 8) return true;
  const DType dtype = call.operand(layout.n <= layout.m ? 0 : 1).dtype;
  if (vectors > 1) return per_word(dtype) == 2 && vectors <= 4;
  const Shape& b = call.operand(1).shape;
  const View* const b_view = call.operand_views[1];
  const bool columns_in_one_piece =
      layout.m == 1 && b.rank() > 1 && b_view != nullptr && b_view->strides[b.rank() - 2] == 1;
  return lines >= 8 && !(columns_in_one_piece && dtype == f32);
}

constexpr void matmul_gemv_emit(Emit& e) {
  const MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  const gemv::Reading r = gemv::reading_of(e.call(), layout);
  const bool w_is_a = r.w_is_a, x_wide = r.x_wide, eight = e.parameter("step") == 8, across = r.across();
  const bool dots = e.parameter("dots") != 0;
  const Wide wide_w = r.wide_w;
  const int64_t lines = r.lines, vectors = r.vectors, step = e.parameter("step"), each = e.parameter("each");
  const int64_t groups = layout.batches * ceil_div(lines, each * gemv::tile_of(r, e.parameters()));
  const int64_t split_k = layout.k == 0 ? step : ceil_div(ceil_div(layout.k, e.parameter("splits")), step) * step;
  const int64_t splits = layout.k == 0 ? 1 : ceil_div(layout.k, split_k);

  const int64_t count = layout.batches * layout.m * layout.n;
  const Ref sums = splits > 1 ? e.scratch(f32, {splits * count}) : e.result();
  const int64_t tiles = splits * groups;
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(dots ? kMatmulGemvDotsFile : kMatmulGemvFile);
  const auto number = [&](std::string_view name, int64_t value) {
    dispatch.number(name, static_cast<uint32_t>(value));
  };
  number("kLines", lines), number("kVectors", vectors), number("kK", layout.k), number("kEach", each);
  number("kStep", step);
  number("kWLine", w_is_a ? layout.a_row : layout.b_col), number("kXVector", w_is_a ? layout.b_col : layout.a_row);
  number("kYLine", w_is_a ? layout.n : 1), number("kYVector", w_is_a ? 1 : layout.n);
  number("kBatches", layout.batches), number("kSplitK", split_k);
  number("kTiles", tiles), number("kGridRow", grid.row);
  dispatch.place("w_begin", layout.batch_shape(), layout.batch_view(w_is_a))
      .place("x_begin", layout.batch_shape(), layout.batch_view(!w_is_a))
      .flag("EIGHT", eight);
  if (!dots) {
    number("kWK", w_is_a ? layout.a_col : layout.b_row), number("kXK", w_is_a ? layout.b_row : layout.a_col);
    dispatch.extent("products", layout.products)
        .flag("X_WIDE", x_wide)
        .flag("ACROSS", across)
        .flag("W_WIDE", wide_w != Wide::none);
  }
  dispatch.buffer("x", e.operand(w_is_a ? 1 : 0), x_wide ? 4 : 1)
      .buffer("w", e.operand(w_is_a ? 0 : 1),
              eight                  ? 8
              : wide_w != Wide::none ? 4
                                     : 1)
      .output("y", sums)
      .grid(grid.row, grid.rows);
  if (splits > 1) packed::sum_splits(e, sums, count, splits);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_GEMV_H_

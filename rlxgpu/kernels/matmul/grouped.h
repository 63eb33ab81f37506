// grouped_matmul(x, w, expert): row r of x times matrix expert[r] of w. For mixtures of experts.
//
//   Tensor y = grouped_matmul(x, w, expert);   // x: (rows, k)   w: (experts, k, n)   expert: (rows), i32 or u32
//
// Rows come in any order; a row whose expert does not exist gives zeros. Floats, summed in f32; the result has x's
// type. "rows" takes each row by itself; "strips" (adapters that run on a CPU) and "tiled" sort the rows by expert
// first, on the device, so that a matrix is read once for many rows.
#ifndef RLXGPU_KERNELS_MATMUL_GROUPED_H_
#define RLXGPU_KERNELS_MATMUL_GROUPED_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline constexpr KernelFile kGroupedRouteFile(
#include "rlxgpu/kernels/matmul/grouped_route.wgsl"
);
inline constexpr KernelFile kGroupedRowsFile(
#include "rlxgpu/kernels/matmul/grouped_rows.wgsl"
);
inline constexpr KernelFile kGroupedStripsFile(
#include "rlxgpu/kernels/matmul/grouped_strips.wgsl"
);
inline constexpr KernelFile kGroupedTiledFile(
#include "rlxgpu/kernels/matmul/grouped_tiled.wgsl"
);

namespace grouped {

constexpr void infer(Infer& infer) {
  const Shape &x = infer.shape(0), &w = infer.shape(1), &expert = infer.shape(2);
  if (!is_float(infer.dtype(0)) || !is_float(infer.dtype(1))) return infer.fail("needs floats");
  if (infer.dtype(2) != i32 && infer.dtype(2) != u32) return infer.fail("experts are named by i32 or u32");
  if (x.rank() != 2 || w.rank() != 3 || expert.rank() != 1)
    return infer.fail("needs a matrix, matrices, and a number for each row");
  if (!(x.dim(1) == w.dim(1))) return infer.fail("inner dimensions differ (", x[1], " vs ", w[1], ")");
  if (!(x.dim(0) == expert.dim(0))) return infer.fail(x[0], " rows, but ", expert[0], " experts of rows");
  if (x.symbol(1) >= 0 || w.symbol(0) >= 0 || w.symbol(2) >= 0)
    return infer.fail("only the number of rows may be a run-time extent");
  infer.result(infer.dtype(0), {x.dim(0), w.dim(2)});
}

struct Sizes {
  int64_t rows, k, n, experts;
};
constexpr Sizes sizes_of(const Call& call) {
  const Shape &x = call.operand(0).shape, &w = call.operand(1).shape;
  return {x[0], x[1], w[2], w[0]};
}

// The operands' buffers, and their strides.
constexpr void give_operands(Emit& e, Dispatch& dispatch, const Sizes& s) {
  const View x = e.view(0), w = e.view(1);
  const auto number = [&](std::string_view name, int64_t value) {
    dispatch.number(name, static_cast<uint32_t>(value));
  };
  number("kN", s.n), number("kK", s.k), number("kExperts", s.experts);
  number("kXRow", x.strides[0]), number("kXCol", x.strides[1]);
  number("kWExpert", w.strides[0]), number("kWRow", w.strides[1]), number("kWCol", w.strides[2]);
  dispatch.place("x_begin", {}, {x.offset, {}}).place("w_begin", {}, {w.offset, {}});
  dispatch.buffer("x", e.operand(0)).buffer("w", e.operand(1));
}

constexpr void emit_rows(Emit& e) {
  const Sizes s = sizes_of(e.call());
  const FoldedGrid grid = fold_grid(ceil_div(s.rows * s.n, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kGroupedRowsFile);
  dispatch.number("kRows", s.rows);
  give_operands(e, dispatch, s);
  dispatch.number("kCount", s.rows * s.n)
      .number("kRow", grid.row * 64)
      .input("expert", e.operand(2))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

// Rows sorted into tiles of one expert each.
struct Routed {
  Ref order, tiles;
  int64_t count;
};
constexpr Routed route(Emit& e, const Sizes& s, int64_t tile) {
  const int64_t groups = s.experts + 1 < s.rows ? s.experts + 1 : s.rows;
  const int64_t count = s.rows / tile + groups;  // each group ends with at most one tile that is not full
  const Routed routed = {e.scratch(u32, {count * tile}), e.scratch(u32, {count}), count};
  const Ref first = e.scratch(u32, {s.experts + 2});
  e.dispatch(kGroupedRouteFile)
      .number("kRows", s.rows)
      .number("kExperts", s.experts)
      .number("kTile", tile)
      .number("kTiles", count)
      .input("expert", e.operand(2))
      .raw("order", routed.order, true)
      .raw("tiles", routed.tiles, true)
      .raw("first", first, true)
      .grid(1);
  return routed;
}

constexpr void emit_sorted(Emit& e, const KernelFile& file, int64_t tile, int64_t columns) {
  const Sizes s = sizes_of(e.call());
  const Routed routed = route(e, s, tile);
  const int64_t workgroups = routed.count * ceil_div(s.n, columns);
  const FoldedGrid grid = fold_grid(workgroups, e.target().max_groups);
  Dispatch dispatch = e.dispatch(file);
  give_operands(e, dispatch, s);
  if (columns == 16) {
    dispatch.number("kTile", tile);
  } else {
    dispatch.number("kRowsEach", tile / 16);
  }
  dispatch.number("kTiles", routed.count)
      .number("kGroups", workgroups)
      .number("kGridRow", grid.row)
      .raw("order", routed.order)
      .raw("tiles", routed.tiles)
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
// Tiles of about as many rows as an expert has.
constexpr int64_t tile_for(const Sizes& s, int64_t least, int64_t most) {
  int64_t tile = least;
  while (tile < most && tile * s.experts < s.rows) tile *= 2;
  return tile;
}
inline constexpr Parameter kStripsParameters[] = {
    {"rows", 2, 32, kPowersOfTwo, "rows of a workgroup; it has 16 columns"}};
inline constexpr Parameter kTiledParameters[] = {
    {"rows", 16, 128, kPowersOfTwo, "rows of a workgroup; it has 64 columns"}};
constexpr void strips_defaults(const Call& call, const Target&, Parameters& p) {
  p.fill("rows", tile_for(sizes_of(call), 2, 16));
}
constexpr void tiled_defaults(const Call& call, const Target&, Parameters& p) {
  p.fill("rows", tile_for(sizes_of(call), 16, 64));
}
constexpr void emit_strips(Emit& e) { emit_sorted(e, kGroupedStripsFile, e.parameter("rows"), 16); }
constexpr void emit_tiled(Emit& e) { emit_sorted(e, kGroupedTiledFile, e.parameter("rows"), 64); }

constexpr bool is_software(const Target& target) {
  return target.adapter_class == AdapterClass::software || target.adapter_class == AdapterClass::unknown;
}
constexpr bool accepts_strips(const Call&, const Target& target) { return is_software(target); }
constexpr bool has_many(const Call& call) {
  const Sizes s = sizes_of(call);
  return s.rows >= 2 * s.experts && s.rows >= 4;
}
constexpr bool prefers_strips(const Call& call, const Target& target) {
  return target.adapter_class == AdapterClass::software && has_many(call);
}
constexpr bool prefers_tiled(const Call& call, const Target& target) {
  return !prefers_strips(call, target) && target.adapter_class != AdapterClass::software && has_many(call);
}

inline constexpr Variant kVariants[] = {
    {"strips", accepts_strips, emit_strips, prefers_strips, nullptr, {kStripsParameters, strips_defaults}},
    {"tiled", nullptr, emit_tiled, prefers_tiled, nullptr, {kTiledParameters, tiled_defaults}},
    {"rows", nullptr, emit_rows},
};

constexpr Cost cost(const Call& call) {
  const Sizes s = sizes_of(call);
  return {2.0 * static_cast<double>(s.rows * s.n) * static_cast<double>(s.k), 0};
}

inline void reference(reference::Call& call) {
  const reference::Array &x = call.operand(0), &w = call.operand(1), &expert = call.operand(2);
  reference::Array& y = call.result();
  const int64_t k = x.shape[1], n = w.shape[2];
  for (int64_t row = 0; row < x.shape[0]; ++row) {
    const double e = expert[row];
    if (e < 0 || e >= static_cast<double>(w.shape[0])) continue;  // zero
    for (int64_t j = 0; j < k; ++j) {
      const double left = x[row * k + j];
      for (int64_t col = 0; col < n; ++col) y[row * n + col] += left * w[(static_cast<int64_t>(e) * k + j) * n + col];
    }
  }
}

}  // namespace grouped

inline constexpr OpDef kGroupedMatmul{
    .name = "grouped_matmul",
    .infer = grouped::infer,
    .variants = grouped::kVariants,
    .absorbs = 1u << 2,
    .absorbs_after = true,
    .extra_bindings = 1,  // the order of the rows and their tiles instead of the experts
    .cost = grouped::cost,
    .reference = grouped::reference,
};

constexpr Tensor grouped_matmul(Tensor x, Tensor w, Tensor expert, Site site = std::source_location::current()) {
  return apply(kGroupedMatmul, {x, w, expert}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::grouped_matmul;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MATMUL_GROUPED_H_

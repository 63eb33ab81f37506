// The variants "packed" and "packed_split" of matmul: operands are copied into strips first (b only if it is large),
// then multiplied from registers without barriers. For adapters that run on a CPU and have subgroups.
//
// Any float types, layouts and sizes. The copies are f32 and cost a few percent of a large product. Bytes, too, as long
// as the sums that a workgroup makes stay below 2^24: then f32 holds them exactly, and is far faster than integers are
// there.
#ifndef RLXGPU_KERNELS_MATMUL_PACKED_H_
#define RLXGPU_KERNELS_MATMUL_PACKED_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/wide.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulPackFile(
#include "rlxgpu/kernels/matmul/pack.wgsl"
);
inline constexpr KernelFile kMatmulPackedFile(
#include "rlxgpu/kernels/matmul/packed.wgsl"
);
inline constexpr KernelFile kMatmulSplitSumFile(
#include "rlxgpu/kernels/matmul/split_sum.wgsl"
);

namespace packed {

// What a workgroup does: `rows` rows (a multiple of 4) and 32 columns, in `steps` steps of four products; `splits` of
// them share a sum.
struct Tiling {
  int64_t rows = 4, tiles_m = 1, tiles_n = 1, steps = 1, splits = 1;
  int64_t a_batches = 1, b_batches = 1;  // matrices to copy
  constexpr int64_t a_vectors() const { return a_batches * tiles_m * steps * rows; }
  constexpr int64_t b_vectors() const { return b_batches * tiles_n * steps * 32; }
};

// A step costs as much as its rows and six more (measured on lavapipe), so a few rows beyond a multiple of 32 are
// better spread over tiles of fewer rows.
constexpr int64_t rows_for(int64_t m, int64_t most = 32) {
  int64_t best = 4, best_cost = 0;
  for (int64_t rows : {32, 24, 16, 12, 8, 4}) {
    if (rows > most) continue;
    const int64_t cost = ceil_div(m, rows) * (rows + 6);
    if (best_cost == 0 || cost < best_cost) best = rows, best_cost = cost;
  }
  return best;
}

constexpr bool is_broadcast(const MatmulLayout& layout, bool of_a) {
  for (const MatmulLayout::BatchAxis& axis : layout.batch) {
    if ((of_a ? axis.a : axis.b) != 0) return false;
  }
  return true;
}

// `rows` of a workgroup: by default those that waste the least.
constexpr Tiling tiling_of(const MatmulLayout& layout, int64_t splits, int64_t rows = 0) {
  Tiling tiling;
  tiling.rows = rows > 0 ? rows : rows_for(layout.m);
  tiling.tiles_m = ceil_div(layout.m, tiling.rows);
  tiling.tiles_n = ceil_div(layout.n, 32);
  const int64_t steps = layout.k == 0 ? 1 : ceil_div(layout.k, 4);
  const int64_t each = 2 * ceil_div(steps, 2 * splits);
  tiling.splits = ceil_div(steps, each);
  tiling.steps = tiling.splits * each;  // two at a time, as many for all: those beyond the last are zero in strips
  tiling.a_batches = is_broadcast(layout, true) ? 1 : layout.batches;
  tiling.b_batches = is_broadcast(layout, false) ? 1 : layout.batches;
  return tiling;
}

// The copy of an operand, a or b of the layout, in strips of f32 (or of 32-bit integers).
constexpr Ref pack(Emit& e, const MatmulLayout& layout, const Tiling& tiling, bool of_a, Ref operand,
                   DType stored = f32) {
  const int64_t vectors = of_a ? tiling.a_vectors() : tiling.b_vectors();
  const bool one = (of_a ? tiling.a_batches : tiling.b_batches) == 1;
  const bool wide = of_a ? wide_a(layout, 4) == Wide::along_k : wide_b(layout, 4) == Wide::across_k;
  const Ref strips = e.scratch(stored, {vectors * 4});
  const FoldedGrid grid = fold_grid(ceil_div(vectors, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulPackFile);
  const auto number = [&](std::string_view name, int64_t value) {
    dispatch.number(name, static_cast<uint32_t>(value));
  };
  dispatch.type("Elem", register_of(stored));
  number("kVectors", vectors);
  number("kStrips", of_a ? tiling.tiles_m : tiling.tiles_n);
  number("kStrip", of_a ? tiling.rows : 8);
  number("kWalk", of_a ? tiling.steps : 4 * tiling.steps);
  number("kAlongK", of_a);
  number("kLines", of_a ? layout.m : layout.n), number("kK", layout.k);
  number("kLineStep", of_a ? layout.a_row : layout.b_col), number("kKStep", of_a ? layout.a_col : layout.b_row);
  number("kRow", grid.row * 64);
  dispatch.extent("products", layout.products)
      .place("begin", one ? Shape() : layout.batch_shape(), layout.batch_view(of_a))
      .flag("WIDE", wide)
      .buffer("x", operand, wide ? 4 : 1)
      .raw("strips", strips, true)
      .grid(grid.row, grid.rows);
  return strips;
}

// How many products of bytes may be summed in f32 without rounding; 0 for other integers.
constexpr int64_t exact_products(DType dtype) {
  return dtype == i8 ? (1 << 24) / (128 * 128) : dtype == u8 ? (1 << 24) / (255 * 255) : 0;
}
// The least number of workgroups that must share a sum; 0: its type is not for this kernel.
constexpr int64_t least_splits(const Call& call, const MatmulLayout& layout) {
  if (is_float(call.result().dtype)) return 1;
  const int64_t exact = exact_products(call.operand(0).dtype) / 4 * 4;
  return exact == 0 ? 0 : layout.k == 0 ? 1 : ceil_div(layout.k, exact);
}

// The result, of which `splits` workgroups have computed parts.
constexpr void sum_splits(Emit& e, Ref parts, int64_t count, int64_t splits) {
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  e.dispatch(kMatmulSplitSumFile)
      .type("Result", register_of(e.call().result().dtype))
      .number("kCount", count)
      .number("kSplits", splits)
      .number("kRow", grid.row * 64)
      .raw("parts", parts)
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

// b can be read where it is when it is whole vectors of f32, one after another.
constexpr bool b_in_place(DType dtype, const MatmulLayout& l, const Tiling& tiling) {
  if (dtype != f32 || l.products.symbol >= 0 || 4 * tiling.steps != l.k) return false;
  if (l.n % 4 != 0 || l.b_offset != 0 || l.b_col != 1 || l.b_row != l.n) return false;
  for (int i = 0; i + 1 < MatmulLayout::kBatchAxes; ++i) {
    if (l.batch[i].extent != 1) return false;
  }
  const MatmulLayout::BatchAxis& axis = l.batch[MatmulLayout::kBatchAxes - 1];
  return axis.b == 0 || axis.b == l.k * l.n;
}

inline constexpr Parameter kParameters[] = {
    {"rows", 4, 32, 4, "rows of a workgroup; it has 32 columns"},
    {"splits", 1, 4096, 1, "workgroups that share a sum"},
    {"copy_b", 0, 1, 1, "1: b is copied into strips, too; 0: it is read where it is"},
};
inline constexpr Parameter kSplitParameters[] = {
    kParameters[0],
    {"splits", 2, 4096, 1, "workgroups that share a sum"},
    kParameters[2],
};
constexpr Tiling tiling_of(const MatmulLayout& layout, const Parameters& p) {
  return tiling_of(layout, p["splits"], p["rows"]);
}
// A copy gains nothing where b is so small that it stays in the caches, or is used for few rows only.
constexpr bool copies_b(DType dtype, const MatmulLayout& l, const Tiling& tiling) {
  return !b_in_place(dtype, l, tiling) || (l.k * l.n > 512 * 512 && l.m > 128);
}

// A second matrix that is multiplied along with b, and what is made of the two sums (gated.h).
struct Gate {
  int operand = -1;
  MatmulLayout layout;
  std::string_view text;  // fn gate(sum : vec4f, up : vec4f) -> vec4f
  Functions functions;    // that it calls
};

// What is multiplied: strips, or b and the second matrix in place.
struct Operands {
  Ref a, b, up = {};
  bool in_place = false;
};

constexpr void multiply(Emit& e, const MatmulLayout& layout, const Tiling& tiling, const Operands& operands,
                        const Gate& gate = {}) {
  const bool gated = gate.operand >= 0, in_place = operands.in_place, ragged = layout.n % 4 != 0;
  const int64_t a_matrix = tiling.tiles_m * tiling.steps * tiling.rows;
  const int64_t b_matrix = in_place ? layout.k * layout.n / 4 : tiling.tiles_n * tiling.steps * 32;
  const int64_t count = layout.batches * layout.m * layout.n;
  const int64_t tiles = tiling.splits * layout.batches * tiling.tiles_m * tiling.tiles_n;
  const Ref sums = tiling.splits > 1 ? e.scratch(f32, {tiling.splits * count}) : e.result();
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulPackedFile);
  dispatch.type("Result", tiling.splits > 1 ? Register::f32 : register_of(e.call().result().dtype))
      .number("kM", layout.m)
      .number("kN", layout.n)
      .number("kSteps", tiling.steps)
      .number("kAVectors", tiling.a_batches * a_matrix)
      .number("kABatch", tiling.a_batches > 1 ? a_matrix : 0)
      .number("kBVectors", tiling.b_batches * b_matrix)
      .number("kBBatch", tiling.b_batches > 1 ? b_matrix : 0)
      .number("kBTile", in_place ? 8 : tiling.steps * 32)
      .number("kBStep", in_place ? layout.n : 32)
      .number("kBRow", in_place ? layout.n / 4 : 8)
      .number("kSplitSteps", tiling.steps / tiling.splits)
      .number("kBatches", layout.batches)
      .boolean("kGated", gated)
      .number("kRows", tiling.rows)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .raw("a", operands.a)
      .raw("b", operands.b)
      .flag("GATED", gated)
      .flag("KEPT", ragged || gated || (tiling.splits == 1 && e.has_maps_behind()))
      .flag("RAGGED", ragged);
  if (gated) dispatch.raw("u", operands.up);
  give_functions(dispatch, gate.functions);
  dispatch.slot("keep_ups", gated ? std::string_view()
                                  : "fn keep_ups(i : u32, ups : vec4f) {}\n"
                                    "fn kept_up(i : u32) -> vec4f { return vec4f(); }");
  dispatch.slot("up", gated ? std::string_view() : "fn up(i : u32) -> vec4f { return vec4f(); }")
      .slot("gate", gate.text)
      .output("y", sums)
      .grid(grid.row, grid.rows);
  if (tiling.splits > 1) sum_splits(e, sums, count, tiling.splits);
}

constexpr void emit(Emit& e, const MatmulLayout& layout, const Tiling& tiling, const Gate& gate = {}) {
  Operands operands = {
      .a = pack(e, layout, tiling, true, e.operand(0)), .b = {}, .in_place = e.parameter("copy_b") == 0};
  operands.b = operands.in_place ? e.operand(1) : pack(e, layout, tiling, false, e.operand(1));
  if (gate.operand >= 0) {
    const Ref up = e.operand(gate.operand);
    operands.up = operands.in_place ? up : pack(e, gate.layout, tiling, false, up);
  }
  multiply(e, layout, tiling, operands, gate);
}

constexpr int64_t tiles_of(const MatmulLayout& layout) {
  return layout.batches * ceil_div(layout.m, rows_for(layout.m)) * ceil_div(layout.n, 32);
}

}  // namespace packed

// For a few elements "plain" is the fastest where subgroups are narrow (SwiftShader, 4 x 16384 x 4: 2.9 ms; "rows" and
// "gemv" 3.9).
constexpr bool matmul_has_many_elements(const Call& call, const Target& target) {
  const bool narrow = target.subgroup_max != 0 && target.subgroup_max < 8;
  return target.adapter_class != AdapterClass::software || !narrow || call.result().shape.count() > 32;
}

constexpr bool matmul_packed_accepts(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software && target.adapter_class != AdapterClass::unknown) return false;
  if (!target.subgroups) return false;
  const MatmulLayout layout = matmul_sizes(call);
  const int64_t splits = packed::least_splits(call, layout);
  if (splits == 0) return false;
  const packed::Tiling tiling = packed::tiling_of(layout, splits);
  const auto most = static_cast<int64_t>(target.max_binding_bytes / 16);
  return tiling.a_vectors() <= most && tiling.b_vectors() <= most && splits * call.result().shape.count() / 4 < most;
}

constexpr bool matmul_packed_split_accepts(const Call& call, const Target& target) {
  return matmul_packed_accepts(call, target) && packed::least_splits(call, matmul_sizes(call)) <= 8 &&
         8 * call.result().shape.count() * 4 <= static_cast<int64_t>(target.max_binding_bytes);
}

// Faster than "rows" from 64 x 64 x 64 on where subgroups are narrow (SwiftShader), else from about 96 on: a copy is a
// dispatch more (lavapipe, 64: 0.126 against 0.084 ms; 128: 0.22). Types that must be copied first, from 128 x 128 x
// 128 on there.
constexpr bool matmul_packed_prefers(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software || !matmul_packed_accepts(call, target)) return false;
  const MatmulLayout layout = matmul_sizes(call);
  const bool f32_only = call.operand(0).dtype == f32 && call.operand(1).dtype == f32;
  const bool narrow = target.subgroup_max < 8;
  const int64_t least = narrow ? 64 : f32_only ? 96 : 128;
  const int64_t rows = narrow ? 16 : 17;  // SwiftShader, 16 x 1024 x 1024: 15 ms, "rows" 22
  return layout.m >= rows && layout.n > 16 && layout.batches * layout.m * layout.n * layout.k >= least * least * least;
}

// Long sums and too few tiles for the threads of a CPU.
constexpr bool matmul_packed_split_prefers(const Call& call, const Target& target) {
  return matmul_packed_prefers(call, target) && matmul_packed_split_accepts(call, target) &&
         packed::tiles_of(matmul_sizes(call)) < 4 && matmul_sizes(call).k >= 512;
}

constexpr void matmul_packed_emit(Emit& e) {
  const MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  packed::emit(e, layout, packed::tiling_of(layout, e.parameters()));
}

constexpr void matmul_packed_defaults(const Call& call, const Target&, Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  p.fill("rows", packed::rows_for(layout.m));
  p.fill("splits", packed::least_splits(call, layout));
  p.fill("copy_b", packed::copies_b(call.operand(1).dtype, layout, packed::tiling_of(layout, p)));
}
// Eight workgroups, enough for the threads of a CPU to share evenly, where there are fewer tiles.
constexpr void matmul_packed_split_defaults(const Call& call, const Target& target, Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  const int64_t tiles = packed::tiles_of(layout), least = packed::least_splits(call, layout);
  const int64_t splits = tiles < 1 ? 1 : ceil_div(8, tiles);
  p.fill("splits", splits < 2 ? 2 : splits < least ? least : splits);
  matmul_packed_defaults(call, target, p);
}
constexpr bool matmul_packed_valid(const Call& call, const Target& target, const Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  const packed::Tiling tiling = packed::tiling_of(layout, p);
  const auto most = static_cast<int64_t>(target.max_binding_bytes / 16);
  return p["splits"] >= packed::least_splits(call, layout) && tiling.a_vectors() <= most &&
         tiling.b_vectors() <= most && p["splits"] * call.result().shape.count() / 4 < most &&
         (p["copy_b"] != 0 || packed::b_in_place(call.operand(1).dtype, layout, tiling));
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_PACKED_H_

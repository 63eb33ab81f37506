// The variant "few" of matmul: a matrix times at most 8 vectors, as in decoding. For GPUs.
#ifndef RLXGPU_KERNELS_MATMUL_FEW_H_
#define RLXGPU_KERNELS_MATMUL_FEW_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/parameter.h"
#include "rlxgpu/graph/targets.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/packed.h"
#include "rlxgpu/kernels/matmul/wide.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulFewAcrossFile(
#include "rlxgpu/kernels/matmul/few_across.wgsl"
);
inline constexpr KernelFile kMatmulFewAlongFile(
#include "rlxgpu/kernels/matmul/few_along.wgsl"
);

namespace few {

inline constexpr int64_t kMostVectors = 8;

// Of the matrix 4 or 8 neighbours are loaded at a time, of the vectors always 4 along k.
struct Reading {
  bool w_is_a = false, across = false;
  int64_t lines = 0, vectors = 0, step = 0;  // step: the most that can be loaded at a time; 0: it cannot be done
};
constexpr Reading reading_of(const Call& call, const MatmulLayout& layout) {
  Reading r;
  r.w_is_a = layout.n <= layout.m;
  r.lines = r.w_is_a ? layout.m : layout.n, r.vectors = r.w_is_a ? layout.n : layout.m;
  // A run-time extent of the sums is a multiple of nothing.
  if (r.vectors > kMostVectors || r.lines < 4 || layout.k < 16 || layout.products.symbol >= 0) return r;
  const auto wide_w = [&](int64_t vector) { return r.w_is_a ? wide_a(layout, vector) : wide_b(layout, vector); };
  const Wide wide = wide_w(4), x = r.w_is_a ? wide_b(layout, 4) : wide_a(layout, 4);
  if (wide == Wide::none || x != Wide::along_k || layout.k % 4 != 0) return r;
  r.across = wide == Wide::across_k;
  r.step = per_word(call.operand(r.w_is_a ? 0 : 1).dtype) == 2 && wide_w(8) == wide ? 8 : 4;
  return r;
}

inline constexpr Parameter kParameters[] = {
    {"step", 4, 8, kPowersOfTwo, "neighbours of the matrix that are loaded at a time"},
    {"each", 1, 4, kPowersOfTwo, "lines of an invocation, where they lie along k"},
    {"side", 1, 16, kPowersOfTwo, "invocations of a workgroup that have other lines"},
    {"slices", 4, 64, kPowersOfTwo, "invocations that share the sums of a line"},
    {"unroll", 1, 4, kPowersOfTwo, "how often each of them loads before it goes on"},
    {"splits", 1, 16, kPowersOfTwo, "workgroups that share a sum"},
};

constexpr int64_t turn_of(const Reading& r, const Parameters& p) { return p["slices"] * (r.across ? 4 : p["step"]); }
constexpr int64_t lines_of_group(const Reading& r, const Parameters& p) {
  return p["side"] * (r.across ? p["step"] : p["each"]);
}
constexpr int64_t split_k(const Reading& r, const MatmulLayout& layout, const Parameters& p) {
  const int64_t step = r.across ? 4 : p["step"];
  return ceil_div(ceil_div(layout.k, p["splits"]), step) * step;
}

// So many registers that nothing is kept in memory, on Intel's GPUs, which have the fewest; so many groups that each
// unit has two at least, for one hides what the other waits for.
constexpr void defaults(const Call& call, const Target& target, Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  const Reading r = reading_of(call, layout);
  p.fill("step", r.vectors > 4 ? 4 : r.step);
  const int64_t wanted = 2 * units_of(target);
  const auto groups_of = [&](int64_t lines) { return layout.batches * ceil_div(r.lines, lines); };
  int64_t slices = r.across ? 64 : 32;
  while (slices > 4 && slices * (r.across ? 4 : p["step"]) > layout.k) slices /= 2;
  p.fill("slices", slices);
  int64_t each = r.across ? 1 : r.vectors == 1 ? 4 : r.vectors <= 3 ? 2 : 1;
  while (each > 1 && groups_of(4 * each) < wanted) each /= 2;
  p.fill("each", each);
  int64_t side = 4;
  while (r.across && side > 2 && groups_of(side * p["step"]) < wanted) side /= 2;
  p.fill("side", side);
  int64_t unroll = r.vectors > 2 || p["step"] == 8 ? 1 : r.vectors == 1 && r.across ? 4 : 2;
  while (unroll > 1 && unroll * turn_of(r, p) > layout.k) unroll /= 2;
  p.fill("unroll", unroll);
  int64_t splits = 1;
  while (splits < 16 && splits * groups_of(lines_of_group(r, p)) < wanted && 4 * splits * turn_of(r, p) <= layout.k)
    splits *= 2;
  p.fill("splits", splits);
}
constexpr bool valid(const Call& call, const Target& target, const Parameters& p) {
  const MatmulLayout layout = matmul_layout(call);
  const Reading r = reading_of(call, layout);
  if (p["step"] > r.step || p["side"] * p["slices"] > 256 || p["side"] * p["slices"] > target.max_invocations)
    return false;
  return (r.across ? p["each"] == 1 : r.vectors * p["each"] <= 16) && p["splits"] * 16 <= layout.k;
}

}  // namespace few

constexpr bool matmul_few_accepts(const Call& call, const Target&) {
  if (!is_float(call.result().dtype) || call.operand_views[0] == nullptr || call.operand_views[1] == nullptr)
    return false;
  const MatmulLayout layout = matmul_layout(call);
  return layout.batches > 0 && few::reading_of(call, layout).step != 0;
}

constexpr bool matmul_few_prefers(const Call& call, const Target& target) {
  return (target.adapter_class == AdapterClass::discrete || target.adapter_class == AdapterClass::integrated) &&
         matmul_few_accepts(call, target);
}

constexpr void matmul_few_emit(Emit& e) {
  const MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  const few::Reading r = few::reading_of(e.call(), layout);
  const Parameters p = e.parameters();
  const int64_t count = layout.batches * layout.m * layout.n, split_k = few::split_k(r, layout, p);
  const int64_t splits = ceil_div(layout.k, split_k);
  const Ref sums = splits > 1 ? e.scratch(f32, {splits * count}) : e.result();
  const int64_t tiles = splits * layout.batches * ceil_div(r.lines, few::lines_of_group(r, p));
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(r.across ? kMatmulFewAcrossFile : kMatmulFewAlongFile);
  const auto number = [&](std::string_view name, int64_t value) {
    dispatch.number(name, static_cast<uint32_t>(value));
  };
  number("kLines", r.lines), number("kVectors", r.vectors), number("kK", layout.k), number("kStep", p["step"]);
  if (!r.across) number("kEach", p["each"]);
  number("kSide", p["side"]), number("kSlices", p["slices"]), number("kUnroll", p["unroll"]);
  if (r.across) {
    number("kWK", r.w_is_a ? layout.a_col : layout.b_row);
  } else {
    number("kWLine", r.w_is_a ? layout.a_row : layout.b_col);
  }
  number("kXVector", r.w_is_a ? layout.b_col : layout.a_row);
  number("kYLine", r.w_is_a ? layout.n : 1), number("kYVector", r.w_is_a ? 1 : layout.n);
  number("kBatches", layout.batches), number("kSplitK", split_k);
  number("kTiles", tiles), number("kGridRow", grid.row);
  dispatch.place("w_begin", layout.batch_shape(), layout.batch_view(r.w_is_a))
      .place("x_begin", layout.batch_shape(), layout.batch_view(!r.w_is_a))
      .flag("EIGHT", p["step"] == 8)
      .buffer("x", e.operand(r.w_is_a ? 1 : 0), 4)
      .buffer("w", e.operand(r.w_is_a ? 0 : 1), static_cast<int>(p["step"]))
      .output("y", sums)
      .grid(grid.row, grid.rows);
  if (splits > 1) packed::sum_splits(e, sums, count, splits);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_FEW_H_

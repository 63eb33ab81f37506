// The variant "gemv" of matmul: a matrix times at most 16 vectors, read where it is. For adapters that run on a CPU.
#ifndef KERNELS_MATMUL_GEMV_H_
#define KERNELS_MATMUL_GEMV_H_

#include <cstdint>
#include <string_view>

#include "kernels/matmul/layout.h"
#include "kernels/matmul/packed.h"
#include "kernels/matmul/wide.h"
#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/lower.h"

namespace rlxgpu {

inline constexpr KernelFile kMatmulGemvFile(
#include "kernels/matmul/gemv.wgsl"
);

namespace gemv {

inline constexpr int64_t kMostVectors = 16;

inline constexpr char kWideF32[] = "alias @Words = vec4f;\nfn $_load4(i : u32) -> vec4f { return $[i / 4u]; }";
inline constexpr char kWideF16[] =
    "alias @Words = vec2u;\nfn $_load4(i : u32) -> vec4f {\n  let words = $[i / 4u];\n"
    "  return vec4f(unpack2x16float(words.x), unpack2x16float(words.y));\n}";
inline constexpr char kWideBf16[] =
    "alias @Words = vec2u;\nfn $_load4(i : u32) -> vec4f {\n  let words = $[i / 4u];\n"
    "  let low = words << vec2u(16u);\n  let high = words & vec2u(0xffff0000u);\n"
    "  return bitcast<vec4f>(vec4u(low.x, high.x, low.y, high.y));\n}";
inline constexpr char kF32[] = "alias @Words = f32;\nfn $_load(i : u32) -> f32 { return $[i]; }";
inline constexpr char kF16[] =
    "alias @Words = u32;\nfn $_load(i : u32) -> f32 {\n  let pair = unpack2x16float($[i >> 1u]);\n"
    "  return select(pair.x, pair.y, (i & 1u) == 1u);\n}";
inline constexpr char kBf16[] =
    "alias @Words = u32;\nfn $_load(i : u32) -> f32 {\n  let word = $[i >> 1u];\n"
    "  return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (i & 1u) == 1u));\n}";

template <char kName, const auto& kPattern>
inline constexpr OperandText<sizeof(kPattern)> kText{kPattern, kName};

template <char kName>
constexpr std::string_view load_text(DType dtype, bool wide) {
  if (dtype == DType::f16) return wide ? kText<kName, kWideF16>.view() : kText<kName, kF16>.view();
  if (dtype == DType::bf16) return wide ? kText<kName, kWideBf16>.view() : kText<kName, kBf16>.view();
  return wide ? kText<kName, kWideF32>.view() : kText<kName, kF32>.view();
}

// What replaces the slots of the kernel file when four elements are loaded at once, and when lanes go across k.
inline constexpr char kXSomeWide[] = R"wgsl(fn x_some(i : u32, count : u32) -> vec4f { return x_load4(i); })wgsl";
inline constexpr char kWSomeWide[] = R"wgsl(fn w_some(i : u32, count : u32) -> vec4f { return w_load4(i); })wgsl";
inline constexpr char kAcross[] = R"wgsl(const kTileLines = 32u * kEach;
alias Sum = vec4f;

fn first_line(group : u32, lane : u32, each : u32) -> u32 { return group * kTileLines + (each * 8u + lane) * 4u; }

// Adds `count` products to the sums of four lines with each vector.
fn add(sums : ptr<function, array<Sum, kVectors * kEach>>, line : u32, each : u32, wk : u32, xs : array<vec4f, kVectors>, count : u32) {
  let at = wk + min(line, kLines - 4u) * kWLine;
  let w0 = w_load4(at);
  var w1 : vec4f;
  var w2 : vec4f;
  var w3 : vec4f;
  if (count > 1u) { w1 = w_load4(at + kWK); }
  if (count > 2u) { w2 = w_load4(at + 2u * kWK); }
  if (count > 3u) { w3 = w_load4(at + 3u * kWK); }
  for (var v = 0u; v < kVectors; v++) {
    let u = xs[v];
    let i = each * kVectors + v;
    sums[i] = fma(vec4f(u.w), w3, fma(vec4f(u.z), w2, fma(vec4f(u.y), w1, fma(vec4f(u.x), w0, sums[i]))));
  }
}

fn put(i : u32, line : u32, sum : Sum) {
  if (line >= kLines) { return; }
  for (var c = 0u; c < 4u; c++) { y_put(i + (line + c) * kYLine, sum[c]); }
})wgsl";

}  // namespace gemv

constexpr bool matmul_gemv_accepts(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software && target.adapter_class != AdapterClass::unknown) return false;
  if (!is_float(call.result().dtype)) return false;
  const MatmulLayout layout = matmul_sizes(call);
  return layout.m <= gemv::kMostVectors || layout.n <= gemv::kMostVectors;
}

constexpr bool matmul_gemv_prefers(const Call& call, const Target& target) {
  return target.adapter_class == AdapterClass::software && matmul_gemv_accepts(call, target);
}

constexpr void matmul_gemv_emit(Emit& e) {
  const MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  const bool w_is_a = layout.n <= layout.m;
  const int64_t lines = w_is_a ? layout.m : layout.n, vectors = w_is_a ? layout.n : layout.m;
  const Wide wide_w = w_is_a ? wide_a(layout, 4) : wide_b(layout, 4);
  const bool x_wide = (w_is_a ? wide_b(layout, 4) : wide_a(layout, 4)) == Wide::along_k;
  const bool across = wide_w == Wide::across_k;
  const int64_t tile = across ? 32 : 8;  // lines of a workgroup, kEach times
  int64_t each = 1;
  while (each < 4 && 2 * each * vectors <= (across ? 8 : 16) && 2 * each * tile * 8 <= lines * layout.batches)
    each *= 2;
  const int64_t line_tiles = ceil_div(lines, each * tile);
  // Eight workgroups at least, of 64 products at least.
  const int64_t groups = layout.batches * line_tiles, most = ceil_div(layout.k, 64);
  int64_t splits = groups == 0 || groups >= 8 ? 1 : ceil_div(8, groups);
  splits = splits > most ? (most < 1 ? 1 : most) : splits;
  const int64_t split_k = layout.k == 0 ? 4 : ceil_div(ceil_div(layout.k, splits), 4) * 4;
  splits = layout.k == 0 ? 1 : ceil_div(layout.k, split_k);

  const int64_t count = layout.batches * layout.m * layout.n;
  const Ref sums = splits > 1 ? e.scratch(f32, {splits * count}) : e.result();
  const int64_t tiles = splits * groups;
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulGemvFile);
  const auto number = [&](std::string_view name, int64_t value) {
    dispatch.number(name, static_cast<uint32_t>(value));
  };
  number("kLines", lines), number("kVectors", vectors), number("kK", layout.k), number("kEach", each);
  number("kWOffset", w_is_a ? layout.a_offset : layout.b_offset);
  number("kWLine", w_is_a ? layout.a_row : layout.b_col), number("kWK", w_is_a ? layout.a_col : layout.b_row);
  number("kXOffset", w_is_a ? layout.b_offset : layout.a_offset);
  number("kXVector", w_is_a ? layout.b_col : layout.a_row), number("kXK", w_is_a ? layout.b_row : layout.a_col);
  number("kYLine", w_is_a ? layout.n : 1), number("kYVector", w_is_a ? 1 : layout.n);
  constexpr std::string_view kExtents[] = {"kBatch0", "kBatch1", "kBatch2", "kBatch3", "kBatch4", "kBatch5"};
  constexpr std::string_view kW[] = {"kWBatch0", "kWBatch1", "kWBatch2", "kWBatch3", "kWBatch4", "kWBatch5"};
  constexpr std::string_view kX[] = {"kXBatch0", "kXBatch1", "kXBatch2", "kXBatch3", "kXBatch4", "kXBatch5"};
  for (int i = 0; i < MatmulLayout::kBatchAxes; ++i) {
    const MatmulLayout::BatchAxis& axis = layout.batch[i];
    number(kExtents[i], axis.extent), number(kW[i], w_is_a ? axis.a : axis.b), number(kX[i], w_is_a ? axis.b : axis.a);
  }
  number("kBatches", layout.batches), number("kSplitK", split_k);
  number("kTiles", tiles), number("kGridRow", grid.row);
  dispatch.extent("products", layout.products)
      .slot("x_some", x_wide ? gemv::kXSomeWide : std::string_view())
      .slot("w_some", across ? "" : wide_w == Wide::along_k ? gemv::kWSomeWide : std::string_view())
      .slot("lanes", across ? gemv::kAcross : std::string_view())
      .slot("w_load", gemv::load_text<'w'>(e.call().operand(w_is_a ? 0 : 1).dtype, wide_w != Wide::none))
      .slot("x_load", gemv::load_text<'x'>(e.call().operand(w_is_a ? 1 : 0).dtype, x_wide))
      .raw("w", e.operand(w_is_a ? 0 : 1))
      .raw("x", e.operand(w_is_a ? 1 : 0))
      .output("y", sums)
      .grid(grid.row, grid.rows);
  if (splits > 1) packed::sum_splits(e, sums, count, splits);
}

}  // namespace rlxgpu

#endif  // KERNELS_MATMUL_GEMV_H_

// Packed weights: matrices of blocks (graph/storage.h) that stay packed on the device and are unpacked in registers.
//
//   Blocks w = block_param(g, "w", Storage::q4_k, n, k);       // n rows of k elements, as in GGUF
//   Tensor y = gelu(matmul(x, w) + b);                         // x: (..., k)   y: (..., n); bias and gelu join it
//   Tensor e = embedding(block_param(g, "table", Storage::q8_0, vocabulary, width), tokens);
//   Tensor z = grouped_matmul(rows, block_param(g, "experts", Storage::q4_k, n, k, 8), which);    // matmul/grouped.h
//
// The weight is a param of u32 words: the bytes of a file as they are, filled up to a whole word. k is a whole number
// of blocks. x is f32, f16 or bf16 and gives the result its type; sums are in f32. Neither f16 nor subgroups are
// needed.
#ifndef RLXGPU_KERNELS_BLOCKS_BLOCKS_H_
#define RLXGPU_KERNELS_BLOCKS_BLOCKS_H_

#include <cstdint>
#include <source_location>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/storage.h"
#include "rlxgpu/kernels/blocks/dots.h"
#include "rlxgpu/kernels/blocks/format.h"
#include "rlxgpu/kernels/elementwise/activation_slot.h"
#include "rlxgpu/kernels/matmul/packed.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

struct Blocks {
  Tensor words;
  Storage storage = Storage::q8_0;
  int64_t rows = 0, columns = 0;  // of a matrix
  int64_t experts = 1;            // matrices
};

namespace blocks {

inline constexpr KernelFile kFewRowsFile(
#include "rlxgpu/kernels/blocks/few_rows.wgsl"
);
inline constexpr KernelFile kTiledFile(
#include "rlxgpu/kernels/blocks/tiled.wgsl"
);
inline constexpr KernelFile kUnpackStripsFile(
#include "rlxgpu/kernels/blocks/unpack_strips.wgsl"
);
inline constexpr KernelFile kRowsFile(
#include "rlxgpu/kernels/blocks/rows.wgsl"
);

constexpr void infer_matmul(Infer& infer) {
  const Shape& x = infer.shape(0);
  if (!is_float(infer.dtype(0))) return infer.fail("packed weights are multiplied with floats");
  if (x.rank() == 0) return infer.fail("a scalar is no matrix");
  const int last = x.rank() - 1;
  if (x[last] != infer.attr(2) || x.symbol(last) >= 0) {
    return infer.fail("inner dimensions differ (", x[last], " vs rows of ", infer.attr(2), ")");
  }
  Shape to = x;
  to.set(last, Dim(infer.attr(1)));
  infer.result(infer.dtype(0), to);
}

inline constexpr int64_t kFewRows = 8;
constexpr bool accepts_few(const Call& call, const Target&) { return rows_of(call) >= 1 && rows_of(call) <= kFewRows; }

constexpr void emit_product(Emit& e, const KernelFile& file, int64_t groups, int64_t each) {
  const Sizes s = sizes_of(e.call());
  if (e.call().result().shape.count() == 0) return;
  const FoldedGrid grid = fold_grid(groups, e.target().max_groups);
  Dispatch dispatch = e.dispatch(file);
  give_blocks(e, dispatch, s, 1);
  if (each > 0) dispatch.number("kEach", each);
  dispatch.number("kM", rows_of(e.call()))
      .number("kN", s.n)
      .number("kGroups", groups)
      .number("kGridRow", grid.row)
      .input("x", e.operand(0))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
constexpr void emit_few(Emit& e) {
  const int64_t each = rows_of(e.call()) > 4 ? 2 : 4;
  emit_product(e, kFewRowsFile, ceil_div(sizes_of(e.call()).n, each), each);
}
constexpr void emit_tiled(Emit& e) {
  emit_product(e, kTiledFile, ceil_div(rows_of(e.call()), 64) * ceil_div(sizes_of(e.call()).n, 64), 0);
}

// The rows unpacked into strips, and then the product of plain matrices on CPUs: what is unpacked serves many rows.
constexpr MatmulLayout packed_layout(const Call& call) {
  const Sizes s = sizes_of(call);
  MatmulLayout layout;
  layout.m = rows_of(call), layout.n = s.n, layout.k = s.k, layout.products = Dim(s.k);
  layout.a_row = s.k, layout.a_col = 1;
  return layout;
}
constexpr bool accepts_packed(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software && target.adapter_class != AdapterClass::unknown) return false;
  const packed::Tiling tiling = packed::tiling_of(packed_layout(call), 1);
  const auto most = static_cast<int64_t>(target.max_binding_bytes / 16);
  return target.subgroups && rows_of(call) >= 1 && tiling.a_vectors() <= most && tiling.b_vectors() <= most;
}
constexpr bool prefers_packed(const Call& call, const Target& target) {
  return in_one_subgroup(target) && rows_of(call) > 4;
}
constexpr void emit_packed(Emit& e) {
  const MatmulLayout layout = packed_layout(e.call());
  const packed::Tiling tiling = packed::tiling_of(layout, 1);
  const Ref a = packed::pack(e, layout, tiling, true, e.dense(0));
  const Ref b = e.scratch(f32, {4 * tiling.b_vectors()});
  const int64_t count = tiling.tiles_n * 8 * (layout.k / 32);
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kUnpackStripsFile);
  give_parts(e, dispatch, sizes_of(e.call()), 1);
  dispatch.number("kN", layout.n)
      .number("kCount", count)
      .number("kRow", grid.row * 64)
      .raw("strips", b, true)
      .grid(grid.row, grid.rows);
  packed::multiply(e, layout, tiling, {.a = a, .b = b});
}

inline constexpr Variant kMatmulVariants[] = {
    {"dots", accepts_dots, emit_dots, prefers_dots},
    {"packed", accepts_packed, emit_packed, prefers_packed},
    {"few_rows", accepts_few, emit_few},
    {"tiled", nullptr, emit_tiled},
};

constexpr Cost matmul_cost(const Call& call) {
  const Sizes s = sizes_of(call);
  const auto rows = static_cast<double>(rows_of(call));
  return {2 * rows * static_cast<double>(s.n) * static_cast<double>(s.k), 0};
}

inline void matmul_reference(reference::Call& call) {
  const Sizes s = sizes_of(call);
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  for (int64_t n = 0; n < s.n; ++n) {
    const std::vector<float> row = decoded_row(call.operand(1), s, n);
    for (int64_t m = 0; m < y.count() / s.n; ++m) {
      for (int64_t k = 0; k < s.k; ++k)
        y[m * s.n + n] += x[m * s.k + k] * static_cast<double>(row[static_cast<size_t>(k)]);
    }
  }
}

constexpr void infer_embedding(Infer& infer) {
  if (!is_index(infer.dtype(0))) return infer.fail("tokens are i32 or u32, not ", name_of(infer.dtype(0)));
  Shape to = infer.shape(0);
  to.push_back(Dim(infer.attr(2)));
  infer.result(f32, to);
}

constexpr void emit_embedding(Emit& e) {
  const Sizes s = sizes_of(e.call());
  const int64_t fours = e.call().result().shape.count() / 4;
  if (fours == 0) return;
  const FoldedGrid grid = fold_grid(ceil_div(fours, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kRowsFile);
  give_blocks(e, dispatch, s, 1);
  dispatch.number("kRows", s.n)
      .number("kCount", fours)
      .number("kRow", grid.row * 64)
      .input("which", e.operand(0))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

inline constexpr Variant kEmbeddingVariants[] = {{"rows", nullptr, emit_embedding}};

inline void embedding_reference(reference::Call& call) {
  const Sizes s = sizes_of(call);
  const reference::Array& tokens = call.operand(0);
  for (int64_t i = 0; i < tokens.count(); ++i) {
    const double last = static_cast<double>(s.n - 1), token = tokens[i] < 0 ? 0 : tokens[i] > last ? last : tokens[i];
    const std::vector<float> row = decoded_row(call.operand(1), s, static_cast<int64_t>(token));
    for (int64_t k = 0; k < s.k; ++k) call.result()[i * s.k + k] = static_cast<double>(row[static_cast<size_t>(k)]);
  }
}

}  // namespace blocks

inline constexpr OpDef kBlockMatmul{
    .name = "block_matmul",
    .infer = blocks::infer_matmul,
    .variants = blocks::kMatmulVariants,
    .absorbs_after = true,
    .extra_bindings = 1,  // the grid of a format
    .cost = blocks::matmul_cost,
    .reference = blocks::matmul_reference,
};
inline constexpr OpDef kBlockEmbedding{
    .name = "block_embedding",
    .infer = blocks::infer_embedding,
    .variants = blocks::kEmbeddingVariants,
    .absorbs_after = true,
    .extra_bindings = 1,
    .reference = blocks::embedding_reference,
    .accuracy = {0.5},
};

constexpr Blocks block_param(Builder& g, std::string_view name, Storage storage, int64_t rows, int64_t columns,
                             int64_t experts, Site site = std::source_location::current()) {
  const Codec& codec = codec_of(storage);
  const bool right = rows > 0 && columns > 0 && experts > 0 && columns % codec.elements == 0;
  if (!right || rows > (int64_t{1} << 32) / columns || experts > (int64_t{1} << 32) / (rows * columns)) {
    g.fail(site, "block_param(\"", name, "\", ", codec.name, ", ", rows, ", ", columns,
           "): rows are one or more whole blocks of ", codec.elements, ", 4 GiB of elements at most");
    return {{&g, -1}, storage, rows, columns, experts};
  }
  const int64_t words = blocks::words_of(storage, experts * rows, columns);
  return {g.param(name, u32, {words}, site), storage, rows, columns, experts};
}
constexpr Blocks block_param(Builder& g, std::string_view name, Storage storage, int64_t rows, int64_t columns,
                             Site site = std::source_location::current()) {
  return block_param(g, name, storage, rows, columns, 1, site);
}

// x times the transpose of w: a row of w for each column of the result.
constexpr Tensor matmul(Tensor x, const Blocks& w, Site site = std::source_location::current()) {
  return apply(kBlockMatmul, {x, w.words}, {static_cast<int64_t>(w.storage), w.rows, w.columns}, site.as("matmul"));
}

// Row r of x times the transpose of matrix expert[r] of w; zeros where there is no such matrix.
constexpr Tensor grouped_matmul(Tensor x, const Blocks& w, Tensor expert, Site site = std::source_location::current()) {
  return apply(kBlockGroupedMatmul, {x, w.words, expert},
               {static_cast<int64_t>(w.storage), w.rows, w.columns, w.experts}, site.as("grouped_matmul"));
}

// act(x gate) (x up), both in one dispatch; with `expert` each row by the matrices of its expert. For a few rows: each
// is taken by itself.
constexpr Tensor gated_matmul(Tensor x, const Blocks& gate, const Blocks& up, Activation activation, Tensor expert = {},
                              Site site = std::source_location::current()) {
  const Site here = site.as("gated_matmul");
  if (gate.storage != up.storage || gate.rows != up.rows || gate.columns != up.columns || gate.experts != up.experts) {
    x.builder().fail(here, "gated_matmul: the two matrices differ");
    return {&x.builder(), -1};
  }
  const int64_t attrs[] = {static_cast<int64_t>(gate.storage), gate.rows, gate.columns, gate.experts,
                           static_cast<int64_t>(activation)};
  const Tensor operands[] = {x, gate.words, up.words, expert};
  Builder& builder = x.builder();
  return {&builder, builder.append(kBlockGatedMatmul, {operands, expert.given() ? size_t{4} : size_t{3}}, attrs, here)};
}

// The rows of a packed table that the tokens name, in f32. A token that is not in the table is taken as the nearest
// that is.
constexpr Tensor embedding(const Blocks& table, Tensor tokens, Site site = std::source_location::current()) {
  return apply(kBlockEmbedding, {tokens, table.words}, {static_cast<int64_t>(table.storage), table.rows, table.columns},
               site.as("embedding"));
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Blocks, core::block_param, core::embedding, core::gated_matmul, core::grouped_matmul, core::matmul;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_BLOCKS_BLOCKS_H_

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
inline constexpr KernelFile kGroupedFile(
#include "rlxgpu/kernels/blocks/grouped.wgsl"
);
inline constexpr KernelFile kRowsFile(
#include "rlxgpu/kernels/blocks/rows.wgsl"
);

constexpr int64_t words_of(Storage storage, int64_t rows, int64_t columns) {
  return ceil_div(block_bytes(storage, rows, columns), 4);
}

// attrs: storage, rows and columns of w.
struct Sizes {
  const Codec& codec;
  int64_t n, k;
};
template <typename AnyCall>
constexpr Sizes sizes_of(const AnyCall& call) {
  return {codec_of(static_cast<Storage>(call.attr(0))), call.attr(1), call.attr(2)};
}
constexpr int64_t rows_of(const Call& call) { return call.operand(0).shape.count() / sizes_of(call).k; }

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

constexpr void give_blocks(Emit& e, Dispatch& dispatch, const Sizes& s, int words) {
  dispatch.number("kK", s.k)
      .number("kElements", s.codec.elements)
      .number("kBytes", s.codec.bytes)
      .raw("w", e.operand(words))
      .slot("unpack", s.codec.unpack4);
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

inline constexpr Variant kMatmulVariants[] = {{"few_rows", accepts_few, emit_few}, {"tiled", nullptr, emit_tiled}};

constexpr Cost matmul_cost(const Call& call) {
  const Sizes s = sizes_of(call);
  const auto rows = static_cast<double>(rows_of(call));
  return {2 * rows * static_cast<double>(s.n) * static_cast<double>(s.k), 0};
}

// The row of w that these words hold.
inline std::vector<float> decoded_row(const reference::Array& words, const Sizes& s, int64_t row) {
  std::vector<uint8_t> block(static_cast<size_t>(s.codec.bytes));
  std::vector<float> to;
  const int64_t blocks = s.k / s.codec.elements;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < s.codec.bytes; ++i) {
      const int64_t at = (row * blocks + b) * s.codec.bytes + i;
      block[static_cast<size_t>(i)] = static_cast<uint8_t>(static_cast<uint32_t>(words[at / 4]) >> (at % 4 * 8));
    }
    for (int j = 0; j < s.codec.elements; ++j) to.push_back(s.codec.decode(block.data(), j));
  }
  return to;
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

constexpr void infer_grouped(Infer& infer) {
  const Shape &x = infer.shape(0), &expert = infer.shape(2);
  if (!is_float(infer.dtype(0))) return infer.fail("packed weights are multiplied with floats");
  if (infer.dtype(2) != i32 && infer.dtype(2) != u32) return infer.fail("experts are named by i32 or u32");
  if (x.rank() != 2 || expert.rank() != 1) return infer.fail("needs a matrix, matrices, and a number for each row");
  if (x[1] != infer.attr(2) || x.symbol(1) >= 0) {
    return infer.fail("inner dimensions differ (", x[1], " vs rows of ", infer.attr(2), ")");
  }
  if (!(x.dim(0) == expert.dim(0))) return infer.fail(x[0], " rows, but ", expert[0], " experts of rows");
  infer.result(infer.dtype(0), {x.dim(0), Dim(infer.attr(1))});
}
constexpr void emit_grouped(Emit& e) {
  const Sizes s = sizes_of(e.call());
  constexpr int64_t kEach = 4;
  const int64_t groups = e.call().operand(0).shape[0] * ceil_div(s.n, kEach);
  if (groups == 0) return;
  const FoldedGrid grid = fold_grid(groups, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kGroupedFile);
  give_blocks(e, dispatch, s, 1);
  dispatch.number("kEach", kEach)
      .number("kN", s.n)
      .number("kExperts", e.attr(3))
      .number("kGroups", groups)
      .number("kGridRow", grid.row)
      .input("x", e.operand(0))
      .input("expert", e.operand(2))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kGroupedVariants[] = {{"rows", nullptr, emit_grouped}};

inline void grouped_reference(reference::Call& call) {
  const Sizes s = sizes_of(call);
  const reference::Array &x = call.operand(0), &expert = call.operand(2);
  for (int64_t m = 0; m < expert.count(); ++m) {
    if (expert[m] < 0 || expert[m] >= static_cast<double>(call.attr(3))) continue;  // zeros
    for (int64_t n = 0; n < s.n; ++n) {
      const std::vector<float> row = decoded_row(call.operand(1), s, static_cast<int64_t>(expert[m]) * s.n + n);
      double& y = call.result()[m * s.n + n];
      for (int64_t k = 0; k < s.k; ++k) y += x[m * s.k + k] * static_cast<double>(row[static_cast<size_t>(k)]);
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
    .cost = blocks::matmul_cost,
    .reference = blocks::matmul_reference,
};
inline constexpr OpDef kBlockGroupedMatmul{
    .name = "block_grouped_matmul",
    .infer = blocks::infer_grouped,
    .variants = blocks::kGroupedVariants,
    .absorbs = 1u << 2,
    .absorbs_after = true,
    .cost = blocks::matmul_cost,
    .reference = blocks::grouped_reference,
};
inline constexpr OpDef kBlockEmbedding{
    .name = "block_embedding",
    .infer = blocks::infer_embedding,
    .variants = blocks::kEmbeddingVariants,
    .absorbs_after = true,
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

// The rows of a packed table that the tokens name, in f32. A token that is not in the table is taken as the nearest
// that is.
constexpr Tensor embedding(const Blocks& table, Tensor tokens, Site site = std::source_location::current()) {
  return apply(kBlockEmbedding, {tokens, table.words}, {static_cast<int64_t>(table.storage), table.rows, table.columns},
               site.as("embedding"));
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Blocks, core::block_param, core::embedding, core::grouped_matmul, core::matmul;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_BLOCKS_BLOCKS_H_

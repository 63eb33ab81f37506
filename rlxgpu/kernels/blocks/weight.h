// Weight: a matrix of a model, or one for each expert, plain or packed, so that a model is written once for all files.
//
//   Weight w = weight_param(g, "blk.0.ffn_up.weight", {Storage::q4_k}, {n, k});   // or {f16}, or what a GGUF file has
//   Tensor y = matmul(x, w);                                  // x: (..., k)   y: (..., n): a row of w for each column
//   Tensor e = embedding(table, tokens);                      // and matmul(x, table): a head that is tied to it
//   Tensor h = gated_matmul(x, gate, up, Activation::silu);   // act(x gate) (x up)
//   Tensor z = grouped_matmul(rows, experts, which);          // rows: (r, k)   which: (r)   z: (r, n)
//
// A row of w lies in one piece, as in files of models: what other products want is its transpose. Results have x's
// type; those of embedding are f32. Norms, biases, activations and residuals around them fuse as they do with plain
// tensors.
#ifndef RLXGPU_KERNELS_BLOCKS_WEIGHT_H_
#define RLXGPU_KERNELS_BLOCKS_WEIGHT_H_

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/storage.h"
#include "rlxgpu/kernels/blocks/blocks.h"
#include "rlxgpu/kernels/elementwise/activation.h"
#include "rlxgpu/kernels/elementwise/activation_slot.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/transpose.h"

namespace rlxgpu::core {

// How a weight's elements lie in memory.
struct WeightType {
  constexpr WeightType(DType plain) : dtype(plain) {}
  constexpr WeightType(Storage blocks) : storage(blocks) {}
  DType dtype = f32;
  std::optional<Storage> storage = {};
};

struct Weight {
  Tensor plain = {};  // (rows, columns), with experts (experts, rows, columns)
  Blocks blocks = {};

  constexpr bool packed() const { return blocks.words.given(); }
  constexpr bool given() const { return packed() || plain.given(); }
  constexpr int64_t rows() const { return packed() ? blocks.rows : plain.shape()[plain.shape().rank() - 2]; }
  constexpr int64_t columns() const { return packed() ? blocks.columns : plain.shape()[plain.shape().rank() - 1]; }
};

// `shape`: rows and columns, or experts, rows and columns.
constexpr Weight weight_param(Builder& g, std::string_view name, WeightType type, const Shape& shape,
                              Site site = std::source_location::current()) {
  const int rank = shape.rank();
  if (rank != 2 && rank != 3) {
    g.fail(site, "weight_param(\"", name, "\", ", shape, "): a matrix, or one for each expert, is needed");
    return {{&g, -1}};
  }
  if (!type.storage) return {g.param(name, type.dtype, shape, site)};
  const int64_t experts = rank == 3 ? shape[0] : 1;
  return {{}, block_param(g, name, *type.storage, shape[rank - 2], shape[rank - 1], experts, site)};
}

constexpr Tensor matmul(Tensor x, const Weight& w, Site site = std::source_location::current()) {
  return w.packed() ? matmul(x, w.blocks, site) : matmul(x, transpose(w.plain), site);
}

constexpr Tensor embedding(const Weight& table, Tensor tokens, Site site = std::source_location::current()) {
  return table.packed() ? embedding(table.blocks, tokens, site) : cast(embedding(table.plain, tokens, site), f32, site);
}

constexpr Tensor grouped_matmul(Tensor x, const Weight& w, Tensor expert, Site site = std::source_location::current()) {
  return w.packed() ? grouped_matmul(x, w.blocks, expert, site) : grouped_matmul(x, transpose(w.plain), expert, site);
}

constexpr Tensor activated(Tensor x, Activation activation, Site site = std::source_location::current()) {
  switch (activation) {
    case Activation::gelu:
      return gelu(x, site);
    case Activation::gelu_tanh:
      return gelu_tanh(x, site);
    case Activation::silu:
      return silu(x, site);
    default:
      return x;
  }
}
// Packed weights and a few rows of x: one dispatch.
constexpr Tensor gated_matmul(Tensor x, const Weight& gate, const Weight& up, Activation activation,
                              Site site = std::source_location::current()) {
  const bool alike = gate.packed() && up.packed() && gate.blocks.storage == up.blocks.storage;
  if (alike && x.valid() && x.shape().count() <= 4 * gate.blocks.columns) {
    return gated_matmul(x, gate.blocks, up.blocks, activation, {}, site);
  }
  return activated(matmul(x, gate, site), activation, site) * Rhs(matmul(x, up, site), site);
}
// The same with matrices of experts: row r of x by those of expert[r].
constexpr Tensor gated_matmul(Tensor x, const Weight& gate, const Weight& up, Activation activation, Tensor expert,
                              Site site = std::source_location::current()) {
  if (gate.packed() && up.packed() && gate.blocks.storage == up.blocks.storage) {
    return gated_matmul(x, gate.blocks, up.blocks, activation, expert, site);
  }
  return activated(grouped_matmul(x, gate, expert, site), activation, site) *
         Rhs(grouped_matmul(x, up, expert, site), site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Weight, core::WeightType, core::activated, core::embedding, core::gated_matmul, core::grouped_matmul,
    core::matmul, core::weight_param;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_BLOCKS_WEIGHT_H_

// qkv(x, w, heads): queries, keys and values of attention from one product, written where they are wanted.
//
//   auto [q, k, v] = qkv(x, w, {.heads = 32, .kv_heads = 8, .dim = 128}, bias);
//
// x: (..., seq, width)   w: (width, (heads + 2 kv_heads) dim), columns of q before those of k before those of v.
// q: (..., heads, seq, dim), k and v: (..., kv_heads, seq, dim); with .by_head = false (..., seq, heads dim) and so on.
// One matmul whose dispatch writes all three, so no split or transpose follows it.
#ifndef RLXGPU_KERNELS_MATMUL_QKV_H_
#define RLXGPU_KERNELS_MATMUL_QKV_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/slice.h"
#include "rlxgpu/kernels/movement/stored.h"
#include "rlxgpu/kernels/movement/transpose.h"

namespace rlxgpu::core {

struct Qkv {
  Tensor q, k, v;
};

struct QkvHeads {
  int64_t heads = 1, kv_heads = 0;  // kv_heads 0: as many as heads
  int64_t dim = 64;
  bool by_head = true;  // a matrix for each head; false: heads side by side in each row
};

// Columns [first, first + heads * dim) of y as a tensor of their own.
constexpr Tensor columns_by_head(Tensor y, int64_t first, int64_t heads, int64_t dim, bool by_head,
                                 Site site = std::source_location::current()) {
  const int rank = y.shape().rank();
  IntList begins, ends, order;
  Shape split;
  for (int axis = 0; axis + 1 < rank; ++axis) {
    begins.push_back(0), ends.push_back(kEnd);
    split.push_back(y.shape().dim(axis));
  }
  begins.push_back(first), ends.push_back(first + heads * dim);
  Tensor part = slice(y, begins, ends, {}, site);
  if (by_head) {
    split.push_back(heads), split.push_back(dim);
    for (int axis = 0; axis + 2 < rank; ++axis) order.push_back(axis);
    order.push_back(rank - 1), order.push_back(rank - 2), order.push_back(rank);
    part = transpose(reshape(part, split, site), order, site);
  }
  return stored(part, site);
}

constexpr Qkv qkv(Tensor x, Tensor w, QkvHeads heads, Tensor bias = {}, Site site = std::source_location::current()) {
  if (heads.kv_heads == 0) heads.kv_heads = heads.heads;
  const int64_t columns = (heads.heads + 2 * heads.kv_heads) * heads.dim;
  if (x.valid() && w.valid() && (x.shape().rank() < 2 || w.shape().rank() != 2 || w.shape()[1] != columns)) {
    x.builder().fail(site, "qkv(", x.shape(), ", ", w.shape(), "): needs a matrix x and a w of ", columns, " columns for ",
                     heads.heads, " + 2 * ", heads.kv_heads, " heads of ", heads.dim);
    return {{&x.builder(), -1}, {&x.builder(), -1}, {&x.builder(), -1}};
  }
  Tensor y = matmul(x, w, site);
  if (bias.valid()) y = y + Rhs(bias, site);
  if (!y.valid()) return {y, y, y};
  const int64_t at_k = heads.heads * heads.dim, at_v = at_k + heads.kv_heads * heads.dim;
  return {columns_by_head(y, 0, heads.heads, heads.dim, heads.by_head, site),
          columns_by_head(y, at_k, heads.kv_heads, heads.dim, heads.by_head, site),
          columns_by_head(y, at_v, heads.kv_heads, heads.dim, heads.by_head, site)};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Qkv, core::QkvHeads, core::qkv;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MATMUL_QKV_H_

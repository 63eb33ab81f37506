// matmul_probe: a product that a wrong kernel for matrix units does not get right by luck.
//
// Only column 0 of a and row 0 of b are not zero, so a b has no zero, and b a, or a product of transposed fragments,
// almost nothing else. Small integers: every type holds them exactly.
#ifndef RLXGPU_KERNELS_MATMUL_PROBE_H_
#define RLXGPU_KERNELS_MATMUL_PROBE_H_

#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/wide.h"
#include "rlxgpu/kernels/movement/transpose.h"

namespace rlxgpu::core {

// `value` of (row, column), stored column by column when transposed.
template <typename Value>
constexpr Tensor probe_matrix(Builder& g, DType dtype, int64_t rows, int64_t cols, bool transposed, Value value) {
  const auto lanes = static_cast<size_t>(per_word(dtype));
  Vec<uint32_t> words;
  words.resize((static_cast<size_t>(rows * cols) + lanes - 1) / lanes);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const auto i = static_cast<size_t>(transposed ? c * rows + r : r * cols + c);
      words[i / lanes] |= word_of(value(r, c), dtype) << (32 / lanes * (i % lanes)) % 32;
    }
  }
  const Shape shape = transposed ? Shape{cols, rows} : Shape{rows, cols};
  const Tensor stored = g.constant(dtype, shape, std::span<const uint32_t>(words.data(), words.size()));
  return transposed ? transpose(stored, {1, 0}) : stored;
}

// Of the types and memory layout of this call, so that operands come the same way.
constexpr void matmul_probe(Builder& g, const Call& call) {
  const DType a = call.operand(0).dtype, b = call.operand(1).dtype;
  const MatmulLayout layout = matmul_layout(call, *call.operand_views[0], *call.operand_views[1]);
  const Wide of_a = wide_a(layout, 8), of_b = wide_b(layout, 8);
  const int64_t m = of_a == Wide::across_k ? 88 : 85, n = of_b == Wide::across_k ? 104 : 101;
  const int64_t k = of_a == Wide::along_k || of_b == Wide::along_k ? 24 : 21;
  const bool a_transposed = layout.a_col != 1 && layout.a_row == 1,
             b_transposed = layout.b_col != 1 && layout.b_row == 1;
  const Tensor left = probe_matrix(
      g, a, m, k, a_transposed, [](int64_t r, int64_t c) { return c == 0 ? 1.0 + static_cast<double>(r % 13) : 0.0; });
  const Tensor right = probe_matrix(
      g, b, k, n, b_transposed, [](int64_t r, int64_t c) { return r == 0 ? 1.0 + static_cast<double>(c % 7) : 0.0; });
  g.output("y", apply(*call.op, {left, right}, std::source_location::current()));
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_PROBE_H_

// row_ranks(x): which place each row of a matrix has in lexicographic order; equal rows keep theirs. i32, (rows).
//
// Every row is compared with every other: for some thousands of rows. NaN is greater than every number. Any real type.
#ifndef RLXGPU_KERNELS_SELECT_RANK_H_
#define RLXGPU_KERNELS_SELECT_RANK_H_

#include <cmath>
#include <cstdint>
#include <source_location>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline constexpr KernelFile kRankFile(
#include "rlxgpu/kernels/select/rank.wgsl"
);

namespace internal {

constexpr void rank_infer(Infer& infer) {
  const DType dtype = infer.dtype(0);
  if (!is_float(dtype) && !is_integer(dtype)) return infer.fail("needs real numbers, not ", name_of(dtype));
  const Shape& x = infer.shape(0);
  if (x.rank() != 2 || x[1] < 1 || x.dynamic()) return infer.fail("takes a matrix with a column at least");
  infer.result(i32, {x[0]});
}

constexpr void rank_emit(Emit& e) {
  const Shape& x = e.call().operand(0).shape;
  const Register reg = register_of(e.call().operand(0).dtype);
  const FoldedGrid grid = fold_grid(ceil_div(x[0], 64), e.target().max_groups);
  e.dispatch(kRankFile)
      .type("Elem", reg)
      .number("kRows", x[0])
      .number("kCols", x[1])
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .output("y", e.result())
      .slot("key", key_text(reg, false))
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kRankVariants[] = {{"all_pairs", nullptr, rank_emit}};

constexpr Cost rank_cost(const Call& call) {
  return {static_cast<double>(call.operand(0).shape[0]) * static_cast<double>(call.operand(0).shape.count()), 0};
}

inline void rank_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const int64_t rows = x.shape[0], cols = x.shape[1];
  const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t other = 0; other < rows; ++other) {
      int order = 0;
      for (int64_t c = 0; c < cols && order == 0; ++c) {
        const double a = x[other * cols + c], b = x[row * cols + c];
        order = less(a, b) ? -1 : less(b, a) ? 1 : 0;
      }
      if (order < 0 || (order == 0 && other < row)) ++call.result()[row];
    }
  }
}

}  // namespace internal

inline constexpr OpDef kRowRanks = {
    .name = "row_ranks",
    .infer = internal::rank_infer,
    .variants = internal::kRankVariants,
    .absorbs_after = true,
    .cost = internal::rank_cost,
    .reference = internal::rank_reference,
};
constexpr Tensor row_ranks(Tensor x, Site site = std::source_location::current()) {
  return apply(kRowRanks, {x}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::row_ranks;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SELECT_RANK_H_

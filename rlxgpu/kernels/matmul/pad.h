// Copies of a product's operands whose rows along k begin and end at whole vectors, for kernels that read nothing else.
#ifndef RLXGPU_KERNELS_MATMUL_PAD_H_
#define RLXGPU_KERNELS_MATMUL_PAD_H_

#include <cstdint>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/matmul/layout.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulPadFile(
#include "rlxgpu/kernels/matmul/pad.wgsl"
);

// A copy of operand 0 or 1 with rows of `padded` elements along k, and where its elements are.
struct MatrixCopy {
  Ref ref;
  View view;
};
constexpr MatrixCopy pad_matrix(Emit& e, const MatmulLayout& layout, int operand, int64_t padded) {
  const TensorType& type = e.call().operand(operand);
  const int rank = type.shape.rank();
  const int64_t lines = operand == 0 ? layout.m : layout.n;
  const int64_t matrices = rank > 2 ? type.shape.count(0, rank - 2) : 1;
  MatrixCopy copy;
  copy.ref = e.scratch(type.dtype, {matrices, lines, padded});
  if (rank > 1) copy.view.strides[operand == 0 ? rank - 2 : rank - 1] = padded;
  copy.view.strides[operand == 0 || rank == 1 ? rank - 1 : rank - 2] = 1;
  int64_t step = lines * padded;
  for (int axis = rank - 3; axis >= 0; step *= type.shape[axis--]) copy.view.strides[axis] = step;
  const int64_t fours = matrices * lines * padded / 4;
  const FoldedGrid grid = fold_grid(ceil_div(fours, 64), e.target().max_groups);
  e.dispatch(kMatmulPadFile)
      .type("Elem", register_of(type.dtype))
      .number("kFours", fours)
      .number("kLines", lines)
      .number("kK", layout.k)
      .number("kPadded", padded)
      .number("kLinesFirst", operand == 0)
      .number("kRow", grid.row * 64)
      .input("x", e.operand(operand))
      .output("y", copy.ref)
      .grid(grid.row, grid.rows);
  return copy;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_PAD_H_

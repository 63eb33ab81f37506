// fold_grid: how many workgroups a kernel is given along x and y.
//
//   const FoldedGrid grid = fold_grid(ceil_div(elements, 64), target.max_groups);
//   dispatch.number("kGridRow", grid.row).grid(grid.row, grid.rows);
#ifndef RLXGPU_COMPILE_GRID_H_
#define RLXGPU_COMPILE_GRID_H_

#include <cstdint>

namespace rlxgpu::core {

// A long row of workgroups as rows of at most `limit`: group (x, y) is number y * row + x.
struct FoldedGrid {
  int64_t row = 1, rows = 1;
};
constexpr FoldedGrid fold_grid(int64_t groups, int64_t limit) {
  if (groups <= limit) return {groups < 1 ? 1 : groups, 1};
  const int64_t rows = (groups + limit - 1) / limit;
  return {(groups + rows - 1) / rows, rows};
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_GRID_H_

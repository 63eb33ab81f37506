// Wide loads of a product's operands: several neighbouring elements in one instruction, where the layout allows it.
#ifndef RLXGPU_KERNELS_MATMUL_WIDE_H_
#define RLXGPU_KERNELS_MATMUL_WIDE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/wgsl/operand_text.h"

namespace rlxgpu::core {

// Which neighbours in memory can be loaded together, `vector` elements at a time.
enum class Wide : uint8_t { none, along_k, across_k };

namespace internal {

constexpr Wide wide_of(int64_t vector, int64_t offset, int64_t across, int64_t along, int64_t extent_across, int64_t k,
                       const MatmulLayout& layout, bool is_a) {
  if (offset % vector != 0) return Wide::none;
  for (const MatmulLayout::BatchAxis& axis : layout.batch) {
    if ((is_a ? axis.a : axis.b) % vector != 0) return Wide::none;
  }
  if (along == 1 && (across % vector == 0 || extent_across == 1) && k % vector == 0) return Wide::along_k;
  if (across == 1 && along % vector == 0 && extent_across % vector == 0) return Wide::across_k;
  return Wide::none;
}

}  // namespace internal

// Run-time lengths of k may end anywhere, so they are not loaded together along k.
constexpr Wide wide_a(const MatmulLayout& l, int64_t vector) {
  const Wide wide = internal::wide_of(vector, l.a_offset, l.a_row, l.a_col, l.m, l.k, l, true);
  return wide == Wide::along_k && l.products.symbol >= 0 ? Wide::none : wide;
}
constexpr Wide wide_b(const MatmulLayout& l, int64_t vector) {
  const Wide wide = internal::wide_of(vector, l.b_offset, l.b_col, l.b_row, l.n, l.k, l, false);
  return wide == Wide::along_k && l.products.symbol >= 0 ? Wide::none : wide;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_WIDE_H_

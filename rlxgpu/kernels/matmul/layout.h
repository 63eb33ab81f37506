// MatmulLayout: the sizes of a product and where its elements are, whatever the operands' ranks, views
// and batch axes.
#ifndef RLXGPU_KERNELS_MATMUL_LAYOUT_H_
#define RLXGPU_KERNELS_MATMUL_LAYOUT_H_

#include <cstdint>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

struct MatmulLayout {
  static constexpr int kBatchAxes = 6;
  struct BatchAxis {
    int64_t extent = 1, a = 0, b = 0;
  };

  int64_t m = 1, n = 1, k = 1, batches = 1;
  Dim products;  // k as a run-time number, perhaps
  int64_t a_offset = 0, a_row = 0, a_col = 0, b_offset = 0, b_row = 0, b_col = 0;
  BatchAxis batch[kBatchAxes];  // outermost first, unused ones before them

  // The batch as a tensor of matrices.
  constexpr Shape batch_shape() const {
    Shape shape;
    for (const BatchAxis& axis : batch) {
      if (axis.extent != 1) shape.push_back(axis.extent);
    }
    return shape;
  }
  constexpr View batch_view(bool of_a) const {
    View view;
    view.offset = of_a ? a_offset : b_offset;
    int rank = 0;
    for (const BatchAxis& axis : batch) {
      if (axis.extent != 1) view.strides[rank++] = of_a ? axis.a : axis.b;
    }
    return view;
  }

  constexpr void give_to(Dispatch& dispatch) const {
    const auto number = [&](std::string_view name, int64_t value) {
      dispatch.number(name, static_cast<uint32_t>(value));
    };
    number("kM", m), number("kN", n), number("kK", k);
    number("kARow", a_row), number("kACol", a_col), number("kBRow", b_row), number("kBCol", b_col);
    dispatch.extent("products", products);
    dispatch.place("a_begin", batch_shape(), batch_view(true)).place("b_begin", batch_shape(), batch_view(false));
  }
};

// a and b: where the operands' elements are. A vector is a matrix of one row (a) or one column (b).
constexpr MatmulLayout matmul_layout(const Call& call, const View& a, const View& b) {
  const Shape& sa = call.operand(0).shape;
  const Shape& sb = call.operand(1).shape;
  const int ra = sa.rank(), rb = sb.rank();
  MatmulLayout layout;
  layout.products = sa.dim(ra - 1);
  layout.k = sa[ra - 1];
  layout.a_offset = a.offset, layout.a_col = a.strides[ra - 1];
  if (ra > 1) layout.m = sa[ra - 2], layout.a_row = a.strides[ra - 2];
  layout.b_offset = b.offset, layout.b_row = b.strides[rb > 1 ? rb - 2 : 0];
  if (rb > 1) layout.n = sb[rb - 1], layout.b_col = b.strides[rb - 1];

  // From the innermost batch axis outwards; an axis that continues the one inside it is joined to it.
  const int batch_a = ra > 2 ? ra - 2 : 0, batch_b = rb > 2 ? rb - 2 : 0;
  const int axes = batch_a > batch_b ? batch_a : batch_b;
  int used = 0;
  for (int i = 1; i <= axes; ++i) {
    const int64_t ea = i <= batch_a ? sa[batch_a - i] : 1, eb = i <= batch_b ? sb[batch_b - i] : 1;
    const MatmulLayout::BatchAxis axis = {ea == 1 ? eb : ea, ea == 1 ? 0 : a.strides[batch_a - i],
                                          eb == 1 ? 0 : b.strides[batch_b - i]};
    layout.batches *= axis.extent;
    if (axis.extent == 1) continue;
    if (used > 0) {
      MatmulLayout::BatchAxis& inside = layout.batch[MatmulLayout::kBatchAxes - used];
      if (axis.a == inside.a * inside.extent && axis.b == inside.b * inside.extent) {
        inside.extent *= axis.extent;
        continue;
      }
    }
    ++used;
    layout.batch[MatmulLayout::kBatchAxes - used] = axis;
  }
  return layout;
}

// Of a call whose operands' places are known; dense otherwise.
constexpr MatmulLayout matmul_layout(const Call& call) { return matmul_layout(call, call.view(0), call.view(1)); }

// The sizes of a product, before its operands' places are known.
constexpr MatmulLayout matmul_sizes(const Call& call) {
  const View a = {0, dense_strides(call.operand(0).shape)}, b = {0, dense_strides(call.operand(1).shape)};
  return matmul_layout(call, a, b);
}

// The least of 1, 2, 4, ... `most` that covers n with `lanes` invocations: smaller blocks for smaller products.
constexpr int64_t each_of(int64_t n, int64_t lanes, int64_t most) {
  int64_t each = 1;
  while (each < most && each * lanes < n) each *= 2;
  return each;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_LAYOUT_H_

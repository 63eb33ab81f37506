// AttentionLayout: the sizes of one use of attention, its options, and where its operands' elements are.
#ifndef RLXGPU_KERNELS_ATTENTION_LAYOUT_H_
#define RLXGPU_KERNELS_ATTENTION_LAYOUT_H_

#include <bit>
#include <cstdint>
#include <span>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"

namespace rlxgpu::core {

// Operands: q, k, v, then length, mask and bias, those that there are.
struct AttentionAttrs {
  bool sequence_first = false, causal = false;
  int64_t window = 0;
  float scale = 1, softcap = 0;
  int length = -1, mask = -1, bias = -1;  // operands; -1: none

  constexpr explicit AttentionAttrs(std::span<const int64_t> attrs)
      : sequence_first(attrs[0] != 0),
        causal(attrs[1] != 0),
        window(attrs[2]),
        scale(real(attrs[3])),
        softcap(real(attrs[4])) {
    int next = 3;
    if (attrs[5] != 0) length = next++;
    if (attrs[6] != 0) mask = next++;
    if (attrs[7] != 0) bias = next++;
  }

 private:
  static constexpr float real(int64_t attr) { return std::bit_cast<float>(static_cast<uint32_t>(attr)); }
};

// Axes of a tensor of rank 4, whatever their order.
struct HeadAxes {
  int batch = 0, head = 1, row = 2, col = 3;
  constexpr explicit HeadAxes(bool sequence_first) : head(sequence_first ? 2 : 1), row(sequence_first ? 1 : 2) {}
};

struct AttentionSizes {
  int64_t batches, heads, kv_heads, group;  // group: query heads for each head of keys
  Dim queries, keys;
  int64_t size, value_size;  // columns

  constexpr AttentionSizes(const Shape& q, const Shape& k, const Shape& v, bool sequence_first) {
    const HeadAxes axes(sequence_first);
    batches = q[axes.batch], heads = q[axes.head], kv_heads = k[axes.head];
    group = kv_heads > 0 ? heads / kv_heads : 1;
    queries = q.dim(axes.row), keys = k.dim(axes.row);
    size = q[axes.col], value_size = v[axes.col];
  }
  constexpr explicit AttentionSizes(const Call& call)
      : AttentionSizes(call.operand(0).shape, call.operand(1).shape, call.operand(2).shape,
                       AttentionAttrs(call.attrs).sequence_first) {}

  constexpr int64_t rows() const { return queries.extent * group; }  // of each head of keys
};

// Where q, k or v are in their buffers.
struct HeadView {
  int64_t offset = 0, batch = 0, head = 0, row = 0, col = 1;

  constexpr HeadView(const View& view, const Shape& shape, bool sequence_first) : offset(view.offset) {
    const HeadAxes axes(sequence_first);
    const auto step = [&](int axis) { return shape[axis] > 1 ? view.strides[axis] : 0; };
    batch = step(axes.batch), head = step(axes.head), row = step(axes.row);
    col = view.strides[axes.col];
  }
  // Columns come in whole vectors of four.
  constexpr bool wide(int64_t size) const {
    return (col == 1 || size == 1) && size % 4 == 0 && offset % 4 == 0 && batch % 4 == 0 && head % 4 == 0 &&
           row % 4 == 0;
  }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ATTENTION_LAYOUT_H_

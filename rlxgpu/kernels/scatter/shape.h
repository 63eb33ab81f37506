// The shape and dtype rules of scatter_elements (attributes: mode, axis) and scatter_nd (mode).
#ifndef RLXGPU_KERNELS_SCATTER_SHAPE_H_
#define RLXGPU_KERNELS_SCATTER_SHAPE_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/graph/builder.h"

namespace rlxgpu::core {

enum class Scatter : uint8_t { replace, add, mul, max, min };

constexpr bool check_scatter_types(Infer& infer) {
  const DType x = infer.dtype(0), index = infer.dtype(1), updates = infer.dtype(2);
  const auto mode = static_cast<Scatter>(infer.attr(0));
  if (!is_index(index)) {
    infer.fail("indices are i32 or u32, not ", name_of(index));
  } else if (x != updates) {
    infer.fail("updates are ", name_of(updates), ", the tensor is ", name_of(x));
  } else if (mode != Scatter::replace && !is_float(x) && !is_integer(x)) {
    infer.fail(name_of(x), " can be replaced only");
  } else {
    return true;
  }
  return false;
}

// Where an index means; beyond the extent when it is out of range.
constexpr std::string_view place_text(DType dtype) {
  return dtype == u32 ? "fn place(v : IndexType, extent : u32) -> u32 { return v; }"
                      : "fn place(v : IndexType, extent : u32) -> u32 { return bitcast<u32>(select(v, v + i32(extent), "
                        "v < 0)); }";
}

constexpr void scatter_elements_infer(Infer& infer) {
  const Shape& x = infer.shape(0);
  const Shape& indices = infer.shape(1);
  const int axis = normalise_axis(infer.attr(1), x.rank());
  if (!check_scatter_types(infer)) return;
  if (axis < 0) return infer.fail("axis ", infer.attr(1), " does not exist in rank ", x.rank());
  if (!(indices == infer.shape(2))) return infer.fail("indices and updates differ in shape");
  if (indices.rank() != x.rank())
    return infer.fail("indices have rank ", indices.rank(), ", the tensor has rank ", x.rank());
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && indices[i] > x[i]) return infer.fail("axis ", i, " of the indices is longer than the tensor's");
  }
  infer.result(infer.dtype(0), x);
}

constexpr void scatter_nd_infer(Infer& infer) {
  const Shape& x = infer.shape(0);
  const Shape& indices = infer.shape(1);
  if (!check_scatter_types(infer)) return;
  if (indices.rank() == 0) return infer.fail("indices need an axis of tuples");
  const int last = indices.rank() - 1;
  if (indices.symbol(last) >= 0) return infer.fail("the length of the tuples is known only at run time");
  if (indices[last] > x.rank()) return infer.fail("tuples of ", indices[last], " for a tensor of rank ", x.rank());
  const int tuple = static_cast<int>(indices[last]);
  Shape updates;
  for (int i = 0; i < last; ++i) updates.push_back(indices.dim(i));
  for (int i = tuple; i < x.rank(); ++i) updates.push_back(x.dim(i));
  if (!(updates == infer.shape(2))) return infer.fail("updates must have the shape ", updates);
  for (int i = 1; i < last; ++i) {
    if (indices.symbol(i) >= 0) return infer.fail("only the first axis of the indices may have a run-time extent");
  }
  infer.result(infer.dtype(0), x);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Scatter;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SCATTER_SHAPE_H_

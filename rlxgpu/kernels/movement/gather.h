// gather(x, indices, axis): whole slices of x by index. gather_elements: one index for each element of the result.
// gather_nd: one index vector for each slice.
//
//   gather(table, tokens, 0)            // (vocabulary, width) by (batch, sequence): (batch, sequence, width)
//   gather_elements(x, order, -1)       // as NumPy's take_along_axis
//   gather_nd(x, points)                // points: (..., k), k leading axes of x
//
// Indices are i32 or u32. Negative ones count from the end; one that is outside is taken as the nearest inside. The
// indexed axes must not have run-time extents.
#ifndef RLXGPU_KERNELS_MOVEMENT_GATHER_H_
#define RLXGPU_KERNELS_MOVEMENT_GATHER_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

inline constexpr char kIndexFunctions[] = R"wgsl(
fn rlx_index(i : i32, extent : i32) -> u32 { return u32(clamp(select(i, i + extent, i < 0), 0, extent - 1)); }
)wgsl";

namespace internal {

// The operand's coordinate that an index means, along an axis of that extent.
constexpr Name checked_index(At& at, int k, Name index, int64_t extent) {
  if (at.operand_dtype(k) == u32) return at.let("min(", index, ", ", extent > 0 ? extent - 1 : 0, "u)");
  return at.let("rlx_index(", index, ", ", extent, ')');
}

// Operand 1 holds indices into an axis of operand 0; false after a failure.
constexpr bool infer_indexed(Infer& infer, int axis) {
  if (!is_index(infer.dtype(1))) {
    infer.fail("indices are i32 or u32, not ", name_of(infer.dtype(1)));
    return false;
  }
  if (infer.shape(0).symbol(axis) >= 0) {
    infer.fail("the indexed axis ", axis, " has a run-time extent");
    return false;
  }
  if (infer.shape(0)[axis] == 0 && infer.shape(1).count() != 0) {
    infer.fail("the indexed axis ", axis, " is empty");
    return false;
  }
  return true;
}

constexpr void gather_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &indices = infer.shape(1);
  const int axis = normalise_axis(infer.attr(0), x.rank());
  if (axis < 0) return infer.fail("axis ", infer.attr(0), " does not exist");
  if (!infer_indexed(infer, axis)) return;
  Shape to;
  for (int i = 0; i < axis; ++i) to.push_back(x.dim(i));
  for (int i = 0; i < indices.rank(); ++i) to.push_back(indices.dim(i));
  for (int i = axis + 1; i < x.rank(); ++i) to.push_back(x.dim(i));
  infer.result(infer.dtype(0), to);
}

constexpr void gather_at(At& at) {
  const Shape &x = at.operand_shape(0), &indices = at.operand_shape(1);
  const int axis = normalise_axis(at.attr(0), x.rank());
  Coords which, source;
  for (int i = 0; i < indices.rank(); ++i) which[i] = at.coord(axis + i);
  for (int i = 0; i < axis; ++i) source[i] = at.coord(i);
  for (int i = axis + 1; i < x.rank(); ++i) source[i] = at.coord(i + indices.rank() - 1);
  source[axis] = checked_index(at, 1, at.operand(1, which), x[axis]);
  at.result() << at.operand(0, source);
}

constexpr void gather_elements_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &indices = infer.shape(1);
  const int axis = normalise_axis(infer.attr(0), x.rank());
  if (axis < 0) return infer.fail("axis ", infer.attr(0), " does not exist");
  if (indices.rank() != x.rank())
    return infer.fail("indices of rank ", indices.rank(), " for a tensor of rank ", x.rank());
  if (!infer_indexed(infer, axis)) return;
  for (int i = 0; i < x.rank(); ++i) {
    const bool fits = indices.symbol(i) == x.symbol(i) && indices[i] <= x[i];
    if (i != axis && !fits) return infer.fail("the indices reach beyond axis ", i);
  }
  infer.result(infer.dtype(0), indices);
}

constexpr void gather_elements_at(At& at) {
  const int axis = normalise_axis(at.attr(0), at.shape().rank());
  Coords source = at.coords();
  source[axis] = checked_index(at, 1, at.operand(1), at.operand_shape(0)[axis]);
  at.result() << at.operand(0, source);
}

// attrs: how many leading axes are common to both.
constexpr void gather_nd_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &indices = infer.shape(1);
  const int last = indices.rank() - 1, batch = static_cast<int>(infer.attr(0));
  if (batch < 0 || last < batch) return infer.fail("indices need more than ", batch, " axes");
  const int depth = static_cast<int>(indices[last]);
  if (indices.symbol(last) >= 0 || depth < 1 || batch + depth > x.rank()) {
    return infer.fail("index vectors have ", depth, " parts, ", x.rank() - batch, " axes are there to index");
  }
  Shape to;
  for (int i = 0; i < last; ++i) {
    if (i < batch && x.dim(i) != indices.dim(i)) return infer.fail("the common axis ", i, " differs");
    to.push_back(indices.dim(i));
  }
  for (int i = batch; i < batch + depth; ++i) {
    if (!infer_indexed(infer, i)) return;
  }
  for (int i = batch + depth; i < x.rank(); ++i) to.push_back(x.dim(i));
  infer.result(infer.dtype(0), to);
}

constexpr void gather_nd_at(At& at) {
  const Shape &x = at.operand_shape(0), &indices = at.operand_shape(1);
  const int last = indices.rank() - 1, batch = static_cast<int>(at.attr(0)), depth = static_cast<int>(indices[last]);
  Coords which, source;
  for (int i = 0; i < last; ++i) which[i] = at.coord(i);
  for (int i = 0; i < batch; ++i) source[i] = at.coord(i);
  for (int i = 0; i < depth; ++i) {
    which[last] = name_of(int64_t{i});
    source[batch + i] = checked_index(at, 1, at.operand(1, which), x[batch + i]);
  }
  for (int i = batch + depth; i < x.rank(); ++i) source[i] = at.coord(i - batch - depth + last);
  at.result() << at.operand(0, source);
}

}  // namespace internal

inline constexpr OpDef kGather = {
    .name = "gather",
    .infer = internal::gather_infer,
    .at = internal::gather_at,
    .reads_elsewhere = true,
    .wgsl = {kIndexFunctions},
    .reference = reference::gather,
};
constexpr Tensor gather(Tensor x, Tensor indices, int64_t axis = 0, Site site = std::source_location::current()) {
  return apply(kGather, {x, indices}, {axis}, site);
}

inline constexpr OpDef kGatherElements = {
    .name = "gather_elements",
    .infer = internal::gather_elements_infer,
    .at = internal::gather_elements_at,
    .reads_elsewhere = true,
    .wgsl = {kIndexFunctions},
    .reference = reference::gather_elements,
};
constexpr Tensor gather_elements(Tensor x, Tensor indices, int64_t axis, Site site = std::source_location::current()) {
  return apply(kGatherElements, {x, indices}, {axis}, site);
}

inline constexpr OpDef kGatherNd = {
    .name = "gather_nd",
    .infer = internal::gather_nd_infer,
    .at = internal::gather_nd_at,
    .reads_elsewhere = true,
    .wgsl = {kIndexFunctions},
    .reference = reference::gather_nd,
};
constexpr Tensor gather_nd(Tensor x, Tensor indices, int64_t batch_axes = 0,
                           Site site = std::source_location::current()) {
  return apply(kGatherNd, {x, indices}, {batch_axes}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::gather, core::gather_elements, core::gather_nd;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_GATHER_H_

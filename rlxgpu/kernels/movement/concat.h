// concat({a, b, ...}, axis): the tensors one after the other along an axis. stack: along a new axis.
//
//   Tensor qkv = concat({q, k, v}, -1);
//
// Any number of tensors: more than seven become nested calls, since a kernel binds eight buffers. All other extents and
// the dtype must agree; the joined axis must not have a run-time extent.
#ifndef RLXGPU_KERNELS_MOVEMENT_CONCAT_H_
#define RLXGPU_KERNELS_MOVEMENT_CONCAT_H_

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

constexpr void concat_infer(Infer& infer) {
  Shape to = infer.shape(0);
  const int axis = normalise_axis(infer.attr(0), to.rank());
  if (axis < 0) return infer.fail("axis ", infer.attr(0), " does not exist");
  for (int k = 0; k < infer.count(); ++k) {
    const Shape& shape = infer.shape(k);
    if (infer.dtype(k) != infer.dtype(0)) {
      return infer.fail("operands of ", name_of(infer.dtype(0)), " and ", name_of(infer.dtype(k)),
                        " do not mix: cast one of them");
    }
    if (shape.rank() != to.rank()) return infer.fail("operand ", k, " has rank ", shape.rank(), ", not ", to.rank());
    for (int i = 0; i < to.rank(); ++i) {
      if (i == axis && shape.symbol(i) >= 0) return infer.fail("the joined axis ", i, " has a run-time extent");
      if (i != axis && shape.dim(i) != to.dim(i))
        return infer.fail("operand ", k, " differs in axis ", i, ", which is not joined");
    }
    if (k > 0) to.set(axis, Dim(to[axis] + shape[axis]));
  }
  infer.result(infer.dtype(0), to);
}

// Every operand is read, those that do not have the element at their last one: neighbours read the same word.
constexpr void concat_at(At& at) {
  const int axis = normalise_axis(at.attr(0), at.shape().rank());
  const Coords coords = at.coords();
  Name chosen;
  int64_t offset = 0;
  for (int k = 0; k < at.operand_count(); ++k) {
    const int64_t extent = at.operand_shape(k)[axis];
    if (extent == 0) continue;
    Coords source = coords;
    source[axis] = offset == 0 ? at.let("min(", coords[axis], ", ", extent - 1, "u)")
                               : at.let("min(", coords[axis], " - ", offset, "u, ", extent - 1, "u)");
    const Name here = at.operand(k, source);
    chosen = chosen.size == 0 ? here : at.let("select(", chosen, ", ", here, ", ", coords[axis], " >= ", offset, "u)");
    offset += extent;
  }
  if (chosen.size == 0) chosen = at.operand(0, coords);  // no elements: never run
  at.result() << chosen;
}

}  // namespace internal

inline constexpr OpDef kConcat = {
    .name = "concat",
    .infer = internal::concat_infer,
    .at = internal::concat_at,
    .reads_elsewhere = true,
    .reference = reference::concat,
};

constexpr Tensor concat(std::span<const Tensor> parts, int64_t axis, Site site = std::source_location::current()) {
  constexpr size_t kMost = 7;
  Builder& builder = parts[0].builder();
  const int64_t attrs[1] = {axis};
  if (parts.size() == 1) return parts[0];
  if (parts.size() <= kMost) return {&builder, builder.append(kConcat, parts, attrs, site)};
  Vec<Tensor> joined;
  for (size_t i = 0; i < parts.size(); i += kMost) {
    joined.push_back(concat(parts.subspan(i, i + kMost < parts.size() ? kMost : parts.size() - i), axis, site));
  }
  return concat(std::span<const Tensor>(joined.data(), joined.size()), axis, site);
}
constexpr Tensor concat(std::initializer_list<Tensor> parts, int64_t axis,
                        Site site = std::source_location::current()) {
  return concat(std::span<const Tensor>(parts.begin(), parts.size()), axis, site);
}

constexpr Tensor stack(std::initializer_list<Tensor> parts, int64_t axis, Site site = std::source_location::current()) {
  Vec<Tensor> layers;
  for (const Tensor& part : parts) {
    const Shape& first = parts.begin()->shape();
    if (part.valid() && part.shape() != first) part.builder().fail(site, "stack: ", first, " and ", part.shape(), " differ in shape");
    layers.push_back(unsqueeze(part, {axis}, site.as("stack")));
  }
  return concat(std::span<const Tensor>(layers.data(), layers.size()), axis, site.as("stack"));
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::concat, core::stack;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_CONCAT_H_

// The shape and dtype rule of reductions. Attributes: keep_dims, then the axes.
#ifndef RLXGPU_KERNELS_REDUCE_SHAPE_H_
#define RLXGPU_KERNELS_REDUCE_SHAPE_H_

#include <cstdint>

#include "rlxgpu/graph/builder.h"

namespace rlxgpu::core {

enum class Reduce : uint8_t { sum, mean, prod, max, min, l1, l2, sum_square, log_sum_exp, any, all };

// Which axes are reduced.
class ReducedAxes {
 public:
  constexpr ReducedAxes(Span<int64_t> axes, int rank) {
    for (const int64_t given : axes) {
      const int axis = normalise_axis(given, rank);
      if (axis >= 0) reduced_[axis] = true;
    }
  }
  constexpr bool operator[](int axis) const { return reduced_[axis]; }

 private:
  bool reduced_[kMaxRank] = {};
};

// False, with the reason told, when the axes are not some of the operand's, each once.
constexpr bool check_axes(Infer& infer, Span<int64_t> axes) {
  const int rank = infer.shape(0).rank();
  bool seen[kMaxRank] = {};
  int run_time = 0;
  for (const int64_t given : axes) {
    const int axis = normalise_axis(given, rank);
    if (axis < 0) {
      infer.fail("axis ", given, " does not exist in rank ", rank);
      return false;
    }
    if (seen[axis]) {
      infer.fail("axis ", axis, " is given twice");
      return false;
    }
    seen[axis] = true;
    run_time += infer.shape(0).symbol(axis) >= 0;
  }
  if (run_time > 1) {
    infer.fail(run_time, " of the reduced axes have run-time extents: reduce them one after another");
    return false;
  }
  return true;
}

constexpr Shape reduced_shape(const Shape& shape, Span<int64_t> axes, bool keep_dims) {
  const ReducedAxes reduced(axes, shape.rank());
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!reduced[axis]) result.push_back(shape.dim(axis));
    if (reduced[axis] && keep_dims) result.push_back(1);
  }
  return result;
}

template <Reduce kKind>
constexpr void reduce_infer(Infer& infer) {
  const DType dtype = infer.dtype(0);
  constexpr bool kLogical = kKind == Reduce::any || kKind == Reduce::all;
  constexpr bool kNumbers =
      kKind == Reduce::sum || kKind == Reduce::prod || kKind == Reduce::max || kKind == Reduce::min;
  if (kLogical && dtype != boolean) return infer.fail("needs a bool tensor, not ", name_of(dtype));
  if (kNumbers && !is_float(dtype) && !is_integer(dtype))
    return infer.fail("needs a real number, not ", name_of(dtype));
  if (!kLogical && !kNumbers && !is_float(dtype)) return infer.fail("needs a float, not ", name_of(dtype));
  if (!check_axes(infer, infer.call().attrs.subspan(1))) return;
  infer.result(dtype, reduced_shape(infer.shape(0), infer.call().attrs.subspan(1), infer.attr(0) != 0));
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_SHAPE_H_

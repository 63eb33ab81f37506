// moving_average(x, window): the mean of each element and those before it in the last axis, at most `window` of them.
// A kernel op of a user's own, with its own WGSL: maps before it are computed on the fly, maps after it join its
// kernel.
#ifndef CONSUMER_MOVING_AVERAGE_H_
#define CONSUMER_MOVING_AVERAGE_H_

#include <algorithm>

#include "rlxgpu/rlxgpu.h"

namespace consumer {

using rlxgpu::Tensor;

inline constexpr rlxgpu::core::KernelFile kMovingAverageFile(
#include "moving_average.wgsl"
);

constexpr void moving_average_infer(rlxgpu::core::Infer& infer) {
  if (infer.dtype(0) != rlxgpu::f32) return infer.fail("takes f32, not ", rlxgpu::core::name_of(infer.dtype(0)));
  if (infer.shape(0).rank() == 0) return infer.fail("a single number has no neighbours");
  if (infer.attr(0) < 1) return infer.fail("a window of ", infer.attr(0), " elements");
  infer.result(rlxgpu::f32, infer.shape(0));
}

constexpr void moving_average_emit(rlxgpu::core::Emit& e) {
  const rlxgpu::Shape& shape = e.call().result().shape;
  const rlxgpu::core::FoldedGrid grid = rlxgpu::core::fold_grid(rlxgpu::core::ceil_div(shape.count(), 64), e.target().max_groups);
  e.dispatch(kMovingAverageFile)
      .number("kCount", shape.count())
      .number("kCols", shape[shape.rank() - 1])
      .number("kWindow", e.attr(0))
      .number("kRow", 64 * grid.row)
      .input("x", e.operand(0))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

inline constexpr rlxgpu::core::Variant kMovingAverageVariants[] = {{"plain", nullptr, moving_average_emit}};

inline void moving_average_reference(rlxgpu::core::reference::Call& call) {
  const int64_t cols = call.operand(0).shape[call.operand(0).shape.rank() - 1];
  for (int64_t i = 0; i < call.result().count(); ++i) {
    const int64_t taken = std::min(i % cols + 1, call.attr(0));
    for (int64_t k = 0; k < taken; ++k) call.result()[i] += call.operand(0)[i - k] / static_cast<double>(taken);
  }
}

inline constexpr rlxgpu::core::OpDef kMovingAverage = {
    .name = "moving_average",
    .infer = moving_average_infer,
    .variants = kMovingAverageVariants,
    .absorbs = 1,  // operand 0
    .absorbs_after = true,
    .reference = moving_average_reference,
};

constexpr Tensor moving_average(Tensor x, int window, rlxgpu::core::Site site = std::source_location::current()) {
  return apply(kMovingAverage, {x}, {window}, site);
}

}  // namespace consumer

#endif  // CONSUMER_MOVING_AVERAGE_H_

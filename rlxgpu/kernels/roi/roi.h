// roi_align and max_roi_pool: parts of images, brought to one size.
//
//   roi_align(x, regions, batches, {.rows = 7, .cols = 7, .scale = 1.0f / 16})     // (regions, channels, 7, 7)
//   max_roi_pool(x, regions, {.rows = 7, .cols = 7})
//
// x: (batch, channel, row, col). roi_align: regions (n, 4): x1, y1, x2, y2; batches: i32 (n), the image of each. Every
// cell is the mean (or greatest share) of places between elements. max_roi_pool: regions (n, 5): batch, x1, y1, x2, y2,
// rounded to whole elements; a cell without any is 0. Computed in f32.
#ifndef RLXGPU_KERNELS_ROI_ROI_H_
#define RLXGPU_KERNELS_ROI_ROI_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/roi/reference.h"

namespace rlxgpu::core {

struct RoiOptions {
  int64_t rows = 1, cols = 1;  // of the result
  float scale = 1;             // from units of the regions to elements of x
  int64_t samples = 0;         // roi_align: places along each side of a cell; 0: as many as it covers elements
  bool half_pixel = true;  // roi_align: the middle of the first element is 0.5; false: 0, and regions are 1 at least
  bool max = false;        // roi_align: the greatest instead of the mean
};

inline constexpr KernelFile kRoiAlignFile(
#include "rlxgpu/kernels/roi/align.wgsl"
);
inline constexpr KernelFile kRoiPoolFile(
#include "rlxgpu/kernels/roi/pool.wgsl"
);

namespace internal {

// Attributes: rows, cols, scale, samples, half_pixel, max.
constexpr void roi_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &regions = infer.shape(1);
  const bool align = infer.count() == 3;
  if (!is_float(infer.dtype(0)) || !is_float(infer.dtype(1))) return infer.fail("takes floats");
  if (x.rank() != 4 || x.dynamic() || regions.dynamic())
    return infer.fail("takes images (batch, channel, row, col) of known extents");
  if (regions.rank() != 2 || regions[1] != (align ? 4 : 5))
    return infer.fail("regions must be (n, ", align ? 4 : 5, ')');
  if (align && (infer.shape(2) != Shape{regions[0]} || infer.dtype(2) != i32))
    return infer.fail("needs the image of each region, i32");
  if (infer.attr(0) < 1 || infer.attr(1) < 1 || infer.attr(3) < 0)
    return infer.fail("the result would be ", infer.attr(0), " x ", infer.attr(1));
  if (x.count() == 0 && regions[0] > 0) return infer.fail("there is no image");
  infer.result(infer.dtype(0), {regions[0], x[1], infer.attr(0), infer.attr(1)});
}

constexpr void give_roi(Dispatch& dispatch, Emit& e, const FoldedGrid& grid) {
  const Shape& x = e.call().operand(0).shape;
  dispatch.number("kCount", e.call().result().shape.count())
      .number("kChannels", x[1])
      .number("kRows", x[2])
      .number("kCols", x[3])
      .number("kOutRows", e.attr(0))
      .number("kOutCols", e.attr(1))
      .number("kBatch", x[0])
      .real("kScale", e.call().attr_float(2))
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .input("regions", e.operand(1))
      .output("y", e.result());
}
constexpr FoldedGrid roi_grid(Emit& e) {
  return fold_grid(ceil_div(e.call().result().shape.count(), 64), e.target().max_groups);
}

constexpr void roi_align_emit(Emit& e) {
  const FoldedGrid grid = roi_grid(e);
  Dispatch dispatch = e.dispatch(kRoiAlignFile);
  give_roi(dispatch, e, grid);
  dispatch.number("kSamples", e.attr(3))
      .real("kShift", e.attr(4) != 0 ? 0.5f : 0.0f)
      .boolean("kMax", e.attr(5) != 0)
      .input("batches", e.operand(2));
  dispatch.grid(grid.row, grid.rows);
}
constexpr void roi_pool_emit(Emit& e) {
  const FoldedGrid grid = roi_grid(e);
  Dispatch dispatch = e.dispatch(kRoiPoolFile);
  give_roi(dispatch, e, grid);
  dispatch.grid(grid.row, grid.rows);
}
inline constexpr Variant kRoiAlignVariants[] = {{"cells", nullptr, roi_align_emit}};
inline constexpr Variant kRoiPoolVariants[] = {{"cells", nullptr, roi_pool_emit}};

}  // namespace internal

inline constexpr OpDef kRoiAlign = {
    .name = "roi_align",
    .infer = internal::roi_infer,
    .variants = internal::kRoiAlignVariants,
    .absorbs_after = true,
    .reference = reference::roi_align,
};
constexpr Tensor roi_align(Tensor x, Tensor regions, Tensor batches, const RoiOptions& options,
                           Site site = std::source_location::current()) {
  return apply(kRoiAlign, {x, regions, batches},
               {options.rows, options.cols, attr_of(options.scale), options.samples, options.half_pixel, options.max},
               site);
}

inline constexpr OpDef kMaxRoiPool = {
    .name = "max_roi_pool",
    .infer = internal::roi_infer,
    .variants = internal::kRoiPoolVariants,
    .absorbs_after = true,
    .reference = reference::max_roi_pool,
};
constexpr Tensor max_roi_pool(Tensor x, Tensor regions, const RoiOptions& options,
                              Site site = std::source_location::current()) {
  return apply(kMaxRoiPool, {x, regions}, {options.rows, options.cols, attr_of(options.scale), 0, 0, 0}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::RoiOptions, core::max_roi_pool, core::roi_align;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ROI_ROI_H_

// non_max_suppression(boxes, scores, options): of boxes that overlap, the one with the greatest score.
//
//   auto [chosen, count] = non_max_suppression(boxes, scores, {.most = 100, .overlap = 0.5f, .score = 0.1f});
//
// boxes: (batch, n, 4), two opposite corners, or with .centers the middle's x and y, width and height
// scores: (batch, classes, n)     chosen: i32 (batch classes most, 3): batch, class, box; -1 beyond count
// By batch, class, and score within a class; of equal scores the smaller index first.
#ifndef RLXGPU_KERNELS_SELECT_NMS_H_
#define RLXGPU_KERNELS_SELECT_NMS_H_

#include <algorithm>
#include <cstdint>
#include <source_location>
#include <vector>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/movement/stored.h"
#include "rlxgpu/kernels/select/select.h"
#include "rlxgpu/kernels/sort/sort.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

struct NmsOptions {
  int64_t most = 0;   // boxes of each class
  float overlap = 0;  // common area over joint area, above which a box is struck out
  float score = 0;    // with has_score: boxes must be above it
  bool has_score = false;
  bool centers = false;
};

inline constexpr KernelFile kNmsFile(
#include "rlxgpu/kernels/select/nms.wgsl"
);

namespace internal {

// Operands: boxes, scores, their order. Attributes: most, overlap, score, has_score, centers.
constexpr void nms_infer(Infer& infer) {
  const Shape &boxes = infer.shape(0), &scores = infer.shape(1);
  infer.result(i32, {boxes[0], scores[1], infer.attr(0)});
}

constexpr void nms_emit(Emit& e) {
  const Shape& scores = e.call().operand(1).shape;
  const int64_t groups = scores[0] * scores[1];
  const FoldedGrid grid = fold_grid(groups, e.target().max_groups);
  const Ref struck = e.scratch(u32, {groups, scores[2]});
  e.dispatch(kNmsFile)
      .number("kBoxes", scores[2])
      .number("kClasses", scores[1])
      .number("kMost", e.attr(0))
      .number("kLanes", e.target().adapter_class == AdapterClass::software ? 8 : 64)
      .real("kOverlap", e.call().attr_float(1))
      .real("kScore", e.call().attr_float(2))
      .boolean("kAny", e.attr(3) == 0)
      .boolean("kCenters", e.attr(4) != 0)
      .number("kGroups", groups)
      .number("kGridRow", grid.row)
      .input("boxes", e.operand(0))
      .input("scores", e.operand(1))
      .input("order", e.operand(2))
      .raw("struck", struck, true)
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kNmsVariants[] = {{"rounds", nullptr, nms_emit}};

inline void nms_reference(reference::Call& call) {
  const reference::Array &boxes = call.operand(0), &scores = call.operand(1), &order = call.operand(2);
  const int64_t n = scores.shape[2], most = call.attr(0);
  const double overlap = call.attr_float(1), least = call.attr_float(2);
  struct Box {
    double low[2], high[2];
    double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
  };
  const auto box_of = [&](int64_t batch, int64_t i) {
    Box box;
    for (int side = 0; side < 2; ++side) {
      const double a = boxes[(batch * n + i) * 4 + side], b = boxes[(batch * n + i) * 4 + 2 + side];
      box.low[side] = call.attr(4) != 0 ? a - b / 2 : std::min(a, b);
      box.high[side] = call.attr(4) != 0 ? a + b / 2 : std::max(a, b);
    }
    return box;
  };
  for (int64_t row = 0; row < scores.shape[0] * scores.shape[1]; ++row) {
    const int64_t batch = row / scores.shape[1];
    std::vector<int64_t> kept;
    for (int64_t at = 0; at < n && static_cast<int64_t>(kept.size()) < most; ++at) {
      const auto i = static_cast<int64_t>(order[row * n + at]);
      bool good = call.attr(3) == 0 || scores[row * n + i] > least;
      for (const int64_t other : kept) {
        const Box a = box_of(batch, i), b = box_of(batch, other);
        double common = 1;
        for (int side = 0; side < 2; ++side)
          common *= std::max(0.0, std::min(a.high[side], b.high[side]) - std::max(a.low[side], b.low[side]));
        if (common > 0 && common / (a.area() + b.area() - common) > overlap) good = false;
      }
      if (good) kept.push_back(i);
    }
    for (int64_t k = 0; k < most; ++k) {
      call.result()[row * most + k] =
          k < static_cast<int64_t>(kept.size()) ? static_cast<double>(kept[static_cast<size_t>(k)]) : -1;
    }
  }
}

}  // namespace internal

inline constexpr OpDef kNms = {
    .name = "nms",
    .infer = internal::nms_infer,
    .variants = internal::kNmsVariants,
    .reference = internal::nms_reference,
};

constexpr Selected non_max_suppression(Tensor boxes, Tensor scores, const NmsOptions& options,
                                       Site site = std::source_location::current()) {
  Builder& g = boxes.builder();
  const Site here = site.as("non_max_suppression");
  const Selected nothing = {{&g, -1}, {&g, -1}};
  if (!internal::known_shape(boxes, here) || !internal::known_shape(scores, here)) return nothing;
  const Shape b = boxes.shape(), s = scores.shape();
  if (boxes.dtype() != f32 || scores.dtype() != f32 || b.rank() != 3 || s.rank() != 3 || b[2] != 4 || b[0] != s[0] ||
      b[1] != s[2]) {
    g.fail(site, "non_max_suppression(", b, ", ", s, "): takes f32 boxes (batch, n, 4) and scores (batch, classes, n)");
    return nothing;
  }
  const int64_t most = options.most < s[2] ? options.most : s[2];
  if (most <= 0 || s[0] * s[1] == 0) return {expand(g.literal(-1, i32), {0, 3}, here), g.literal(0, i32)};
  const Tensor order = argsort(scores, 2, {.descending = true}, here);
  const Tensor chosen =
      apply(kNms, {boxes, scores, order},
            {most, attr_of(options.overlap), attr_of(options.score), options.has_score, options.centers}, here);
  const int64_t all = s[0] * s[1] * most;
  const Tensor flat = reshape(chosen, {all}, here);
  const Selected at = internal::positions(ge(flat, Rhs(0, here)), here);
  const Tensor place = stored(at.values, here), row = place / Rhs(static_cast<double>(most), here);
  const Tensor classes = g.literal(static_cast<double>(s[1]), i32);
  const Tensor rows =
      stack({row / Rhs(classes, here), mod(row, Rhs(classes, here)), gather(flat, place, 0, here)}, 1, here);
  const Tensor inside = lt(unsqueeze(place, {1}, here), Rhs(static_cast<double>(all), here));
  return {where(inside, Rhs(rows, here), Rhs(-1, here)), at.count};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::NmsOptions, core::non_max_suppression;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SELECT_NMS_H_

// draw(values, tokens, seed): one token of every row of candidates, which come best first. The last part of sample.
//
//   auto [values, tokens] = topk(logits, 40);
//   Tensor token = draw(values, tokens, seed, {.temperature = 0.8f, .top_p = 0.95f});     // one dispatch
//
// values: any float [..., candidates]   tokens: i32, the same shape   seed: one u32   result: i32 [...]
#ifndef RLXGPU_KERNELS_SAMPLE_DRAW_H_
#define RLXGPU_KERNELS_SAMPLE_DRAW_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/functions.h"
#include "rlxgpu/kernels/random/random.h"
#include "rlxgpu/kernels/sample/reference.h"

namespace rlxgpu::core {

inline constexpr KernelFile kDrawFile(
#include "rlxgpu/kernels/sample/draw.wgsl"
);

constexpr void draw_infer(Infer& infer) {
  const Shape& x = infer.shape(0);
  if (!is_float(infer.dtype(0))) return infer.fail("needs floats, not ", name_of(infer.dtype(0)));
  if (x.rank() < 1 || x[x.rank() - 1] < 1) return infer.fail("there are no candidates");
  if (x.symbol(x.rank() - 1) >= 0) return infer.fail("the number of candidates is a run-time extent");
  if (infer.dtype(1) != i32 || !(infer.shape(1) == x)) return infer.fail("tokens are i32", x);
  if (infer.dtype(2) != u32 || infer.shape(2).count() != 1) return infer.fail("a seed is one u32");
  Shape rows;
  for (int axis = 0; axis + 1 < x.rank(); ++axis) rows.push_back(x.dim(axis));
  infer.result(i32, rows);
}

constexpr void draw_emit(Emit& e) {
  const Shape& x = e.call().operand(0).shape;
  const DrawAttrs attrs(e.call().attrs);
  const int64_t cols = x[x.rank() - 1], rows = x.count() / cols;
  const FoldedGrid grid = fold_grid(rows, e.target().max_groups);
  e.dispatch(kDrawFile)
      .number("kRows", rows)
      .number("kCols", cols)
      .real("kScale", attrs.scale)
      .real("kTopP", attrs.top_p)
      .real("kMinP", attrs.min_p)
      .number("kStream", attrs.stream)
      .number("kLanes", e.target().adapter_class == AdapterClass::software ? 8 : 64)
      .number("kGridRow", grid.row)
      .input("x", e.operand(0))
      .input("tokens", e.operand(1))
      .input("seed", e.operand(2))
      .output("y", e.result())
      .slot("functions", "")
      .functions(kExpFunctions)
      .functions(kLogFunctions)
      .functions(internal::kThreefryText)
      .grid(grid.row, grid.rows);
}

inline constexpr Variant kDrawVariants[] = {{"rows", nullptr, draw_emit}};

inline constexpr OpDef kDraw{
    .name = "draw",
    .infer = draw_infer,
    .variants = kDrawVariants,
    .absorbs = 0b111,
    .absorbs_after = true,
    .reference = draw_reference,
};

struct DrawOptions {
  float temperature = 1;  // above 0
  float top_p = 1, min_p = 0;
  uint32_t stream = 0;
};

constexpr Tensor draw(Tensor values, Tensor tokens, Tensor seed, const DrawOptions& options = {},
                      Site site = std::source_location::current()) {
  return apply(kDraw, {values, tokens, seed},
               {attr_of(1 / options.temperature), attr_of(options.top_p), attr_of(options.min_p), options.stream},
               site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::DrawOptions, core::draw;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SAMPLE_DRAW_H_

// Rows of x, each by itself, times packed rows: the variant "dots" of packed products, and the ops that have no other,
// whose matrices are named by each row's expert, or are two, one of which is gated.
#ifndef RLXGPU_KERNELS_BLOCKS_DOTS_H_
#define RLXGPU_KERNELS_BLOCKS_DOTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/blocks/format.h"
#include "rlxgpu/kernels/elementwise/activation_slot.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {
namespace blocks {

inline constexpr KernelFile kDotsFile(
#include "rlxgpu/kernels/blocks/dots.wgsl"
);

// A workgroup that is one subgroup, on adapters that run on a CPU: those of eight lanes or more sum without barriers.
constexpr bool in_one_subgroup(const Target& target) {
  return target.adapter_class == AdapterClass::software && target.subgroups && target.subgroup_min >= 8;
}
constexpr int64_t lanes_of(const Target& target, int64_t k) {
  int64_t lanes = 8;
  while (target.adapter_class != AdapterClass::software && lanes < 64 && lanes < k / 32) lanes *= 2;
  return lanes;
}

// What the operands after x and w are; -1: not there.
struct More {
  int up = -1, expert = -1;
  int64_t experts = 1;
  Activation activation = Activation::none;
};

constexpr void emit_rows_by_dots(Emit& e, const More& more) {
  const Sizes s = sizes_of(e.call());
  constexpr int64_t kEach = 4;
  const int64_t rows = rows_of(e.call()), groups = rows * ceil_div(s.n, kEach);
  if (groups == 0) return;
  const bool gated = more.up >= 0, subgroups = in_one_subgroup(e.target());
  const Ref x = e.dense(0);
  const FoldedGrid grid = fold_grid(groups, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kDotsFile);
  give_parts(e, dispatch, s, 1);
  dispatch.flag("SUBGROUPS", subgroups)
      .number("kRows", rows)
      .number("kN", s.n)
      .number("kEach", kEach)
      .number("kLanes", lanes_of(e.target(), s.k))
      .number("kExperts", more.experts)
      .boolean("kGated", gated)
      .number("kGroups", groups)
      .number("kGridRow", grid.row)
      .buffer("x", x, 4)
      .flag("GATED", gated)
      .flag("GROUPED", more.expert >= 0);
  if (gated) dispatch.raw("u", e.operand(more.up));
  if (more.expert >= 0) dispatch.input("expert", e.operand(more.expert));
  give_functions(dispatch, act_functions(more.activation));
  dispatch.slot("word", gated ? std::string_view() : "fn word(i : u32) -> u32 { return w[i]; }")
      .slot("matrix", more.expert >= 0 ? std::string_view() : "fn matrix(row : u32) -> u32 { return 0u; }")
      .slot("act", act_text(more.activation))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

constexpr void emit_dots(Emit& e) { emit_rows_by_dots(e, {}); }
constexpr bool accepts_dots(const Call& call, const Target&) { return rows_of(call) >= 1; }
constexpr bool prefers_dots(const Call& call, const Target& target) {
  return in_one_subgroup(target) ? rows_of(call) <= 4
                                 : rows_of(call) == 1 && target.adapter_class != AdapterClass::software;
}

constexpr void infer_grouped(Infer& infer) {
  const Shape &x = infer.shape(0), &expert = infer.shape(2);
  if (!is_float(infer.dtype(0))) return infer.fail("packed weights are multiplied with floats");
  if (infer.dtype(2) != i32 && infer.dtype(2) != u32) return infer.fail("experts are named by i32 or u32");
  if (x.rank() != 2 || expert.rank() != 1) return infer.fail("needs a matrix, matrices, and a number for each row");
  if (x[1] != infer.attr(2) || x.symbol(1) >= 0) {
    return infer.fail("inner dimensions differ (", x[1], " vs rows of ", infer.attr(2), ")");
  }
  if (!(x.dim(0) == expert.dim(0))) return infer.fail(x[0], " rows, but ", expert[0], " experts of rows");
  infer.result(infer.dtype(0), {x.dim(0), Dim(infer.attr(1))});
}
constexpr void emit_grouped(Emit& e) { emit_rows_by_dots(e, {.expert = 2, .experts = e.attr(3)}); }
inline constexpr Variant kGroupedVariants[] = {{"dots", nullptr, emit_grouped}};

inline void grouped_reference(reference::Call& call) {
  const Sizes s = sizes_of(call);
  const reference::Array &x = call.operand(0), &expert = call.operand(2);
  for (int64_t m = 0; m < expert.count(); ++m) {
    if (expert[m] < 0 || expert[m] >= static_cast<double>(call.attr(3))) continue;  // zeros
    for (int64_t n = 0; n < s.n; ++n) {
      const std::vector<float> row = decoded_row(call.operand(1), s, static_cast<int64_t>(expert[m]) * s.n + n);
      double& y = call.result()[m * s.n + n];
      for (int64_t k = 0; k < s.k; ++k) y += x[m * s.k + k] * static_cast<double>(row[static_cast<size_t>(k)]);
    }
  }
}

// attrs: storage, rows and columns, experts, activation. Operands: x, gate, up, and perhaps experts.
constexpr void infer_gated(Infer& infer) {
  const Shape& x = infer.shape(0);
  if (!is_float(infer.dtype(0))) return infer.fail("packed weights are multiplied with floats");
  const int last = x.rank() - 1;
  if (last < 0 || x[last] != infer.attr(2) || x.symbol(last) >= 0) {
    return infer.fail("rows of ", x.rank() > 0 ? x[last] : 0, " for matrices of ", infer.attr(2), " columns");
  }
  if (infer.count() == 4) {
    const Shape& expert = infer.shape(3);
    if (infer.dtype(3) != i32 && infer.dtype(3) != u32) return infer.fail("experts are named by i32 or u32");
    if (x.rank() != 2 || expert.rank() != 1 || !(x.dim(0) == expert.dim(0))) {
      return infer.fail("needs a matrix, and a number for each row");
    }
  }
  Shape to = x;
  to.set(last, Dim(infer.attr(1)));
  infer.result(infer.dtype(0), to);
}
constexpr void emit_gated(Emit& e) {
  emit_rows_by_dots(e, {.up = 2,
                        .expert = e.call().operand_count == 4 ? 3 : -1,
                        .experts = e.attr(3),
                        .activation = static_cast<Activation>(e.attr(4))});
}
inline constexpr Variant kGatedVariants[] = {{"dots", nullptr, emit_gated}};

inline void gated_reference(reference::Call& call) {
  const Sizes s = sizes_of(call);
  const reference::Array& x = call.operand(0);
  const bool grouped = call.operands.size() == 4;
  for (int64_t m = 0; m < x.count() / s.k; ++m) {
    const double expert = grouped ? call.operand(3)[m] : 0;
    if (expert < 0 || expert >= static_cast<double>(call.attr(3))) continue;  // zeros
    for (int64_t n = 0; n < s.n; ++n) {
      double sums[2] = {};
      for (int which = 0; which < 2; ++which) {
        const std::vector<float> row = decoded_row(call.operand(1 + which), s, static_cast<int64_t>(expert) * s.n + n);
        for (int64_t k = 0; k < s.k; ++k)
          sums[which] += x[m * s.k + k] * static_cast<double>(row[static_cast<size_t>(k)]);
      }
      call.result()[m * s.n + n] = activated(static_cast<Activation>(call.attr(4)), sums[0]) * sums[1];
    }
  }
}

constexpr Cost dots_cost(const Call& call) {
  const Sizes s = sizes_of(call);
  const double matrices = call.op->infer == infer_gated ? 2 : 1;
  return {2 * matrices * static_cast<double>(rows_of(call) * s.n * s.k), 0};
}

}  // namespace blocks

inline constexpr OpDef kBlockGroupedMatmul{
    .name = "block_grouped_matmul",
    .infer = blocks::infer_grouped,
    .variants = blocks::kGroupedVariants,
    .absorbs = 1u << 2,
    .absorbs_after = true,
    .extra_bindings = 1,  // the grid of a format
    .cost = blocks::dots_cost,
    .reference = blocks::grouped_reference,
};
inline constexpr OpDef kBlockGatedMatmul{
    .name = "block_gated_matmul",
    .infer = blocks::infer_gated,
    .variants = blocks::kGatedVariants,
    .absorbs = 1u << 3,
    .absorbs_after = true,
    .extra_bindings = 1,
    .cost = blocks::dots_cost,
    .reference = blocks::gated_reference,
    .accuracy = {8, 0x1p-22},  // as of normed_linear: activations whose tails cancel, and what they are multiplied by
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_BLOCKS_DOTS_H_

// The variant "materialized" of attention: scores, weights and the sum of values in three kernels with a matrix of
// scores between them. Faster on CPUs while that matrix stays small: both products run without barriers from registers.
#ifndef RLXGPU_KERNELS_ATTENTION_MATERIALIZED_H_
#define RLXGPU_KERNELS_ATTENTION_MATERIALIZED_H_

#include <cstdint>

#include "rlxgpu/kernels/attention/streaming.h"

namespace rlxgpu::core {

inline constexpr KernelFile kAttentionScoresFile(
#include "rlxgpu/kernels/attention/scores.wgsl"
);
inline constexpr KernelFile kAttentionWeightsFile(
#include "rlxgpu/kernels/attention/weights.wgsl"
);
inline constexpr KernelFile kAttentionValuesFile(
#include "rlxgpu/kernels/attention/values.wgsl"
);

// Vectors between neighbouring rows of scores: an odd number of cache lines, so that a column of them does not fall
// into a few sets of a CPU's cache.
constexpr int64_t attention_pitch(const AttentionSizes& sizes) { return (ceil_div(sizes.keys.extent, 16) | 1) * 4; }

inline constexpr Parameter kMaterializedParameters[] = {
    {"queries", 4, 32, 4, "rows of a workgroup: queries of the heads that share keys"},
    {"lanes", 8, 64, kPowersOfTwo, "its invocations, with four keys or columns each"},
};
// 32 rows in registers that a CPU keeps on its stack; 16 elsewhere, 64 registers.
constexpr void attention_materialized_defaults(const Call& call, const Target& target, Parameters& p) {
  const bool software = target.adapter_class == AdapterClass::software;
  p.fill("queries", !software || AttentionSizes(call).rows() <= 16 ? 16 : 32);
  p.fill("lanes", software ? 8 : 32);
}
constexpr bool attention_materialized_valid(const Call&, const Target& target, const Parameters& p) {
  return p["lanes"] <= target.max_invocations;
}

constexpr void attention_materialized_emit(Emit& e) {
  using namespace attention_internal;  // NOLINT: what it shares with streaming
  const AttentionAttrs attrs(e.call().attrs);
  const AttentionSizes sizes(e.call());
  const bool software = e.target().adapter_class == AdapterClass::software;
  const int64_t block = e.parameter("queries"), quarter = block / 4, lanes = e.parameter("lanes");
  const int64_t blocks = ceil_div(sizes.rows(), block), heads = sizes.batches * sizes.kv_heads;
  const int64_t rows = heads * sizes.rows(), vectors = ceil_div(sizes.keys.extent, 4);
  const int64_t pitch = attention_pitch(sizes);
  const View* const q_in_memory = e.call().operand_views[0];
  const Shape& q_shape = e.call().operand(0).shape;
  const Ref q = q_in_memory != nullptr ? e.operand(0) : e.dense(0);
  const HeadView q_view(q_in_memory != nullptr ? *q_in_memory : View{0, dense_strides(q_shape)}, q_shape,
                        attrs.sequence_first);
  const bool all_seen = !attrs.causal && attrs.window == 0 && attrs.length < 0 && sizes.keys.symbol < 0;
  const Ref p = e.scratch(f32, {rows * pitch * 4}), sums = e.scratch(f32, {rows});
  if (vectors > 0) {
    const int64_t tiles = heads * blocks * ceil_div(vectors, lanes);
    const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
    Dispatch dispatch = e.dispatch(kAttentionScoresFile);
    give_scores(dispatch, e);
    give_keys(dispatch, e);
    give_heads<'q'>(dispatch, e, 0, q, q_view, sizes.size);
    dispatch.number("kR", quarter)
        .number("kPVectors", rows * pitch)
        .number("kPitch", pitch)
        .number("kLanes", lanes)
        .boolean("kAllSeen", all_seen)
        .number("kTiles", tiles)
        .number("kGridRow", grid.row)
        .raw("p", p, true)
        .grid(grid.row, grid.rows);
  }
  {
    const FoldedGrid grid = fold_grid(rows, e.target().max_groups);
    Dispatch dispatch = e.dispatch(kAttentionWeightsFile);
    give_range(dispatch, e);
    const bool held =
        all_seen && vectors > 0 && sizes.keys.extent % (4 * lanes) == 0 && vectors <= 32 * lanes && software;
    dispatch.number("kBlock", block)
        .number("kPVectors", rows * pitch)
        .number("kPitch", pitch)
        .number("kLanes", lanes)
        .boolean("kHeld", held)
        .number("kEach", held ? vectors / lanes : 1)
        .flag("SUBGROUP", is_one_subgroup(lanes, e.target()))
        .number("kRowsInAll", rows)
        .number("kGridRow", grid.row)
        .raw("p", p, true)
        .raw("sums", sums, true)
        .slot("range", kKeyRangeText)
        .slot("decay", kDecayText)
        .grid(grid.row, grid.rows);
  }
  const int64_t tiles = heads * blocks * ceil_div(sizes.value_size, 4 * lanes);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kAttentionValuesFile);
  give_range(dispatch, e);
  give_values(dispatch, e);
  dispatch.boolean("kSequenceFirst", attrs.sequence_first)
      .number("kR", quarter)
      .number("kPVectors", rows * pitch)
      .number("kPitch", pitch)
      .number("kLanes", lanes)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .raw("p", p)
      .raw("sums", sums)
      .output("y", e.result())
      .slot("range", kKeyRangeText)
      .grid(grid.row, grid.rows);
}

constexpr bool attention_materialized_accepts(const Call& call, const Target& target) {
  const AttentionSizes sizes(call);
  const int64_t scores = sizes.batches * sizes.heads * sizes.queries.extent * attention_pitch(sizes) * 16;
  return target.subgroups && scores <= static_cast<int64_t>(target.max_binding_bytes);
}
// On CPUs: enough rows for the keys in registers to pay, and scores of 64 MiB at most.
constexpr bool attention_materialized_prefers(const Call& call, const Target& target) {
  const AttentionSizes sizes(call);
  return target.adapter_class == AdapterClass::software && sizes.rows() >= 32 &&
         attention_materialized_accepts(call, target) &&
         sizes.batches * sizes.heads * sizes.queries.extent * sizes.keys.extent <= (int64_t{16} << 20);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ATTENTION_MATERIALIZED_H_

// The variants "streaming" and "split" of attention: one pass over the keys; with few queries and many keys, shared by
// several workgroups.
#ifndef RLXGPU_KERNELS_ATTENTION_STREAMING_H_
#define RLXGPU_KERNELS_ATTENTION_STREAMING_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/attention/layout.h"
#include "rlxgpu/kernels/attention/score.h"
#include "rlxgpu/kernels/reduce/lanes.h"
#include "rlxgpu/kernels/softmax/decay.h"

namespace rlxgpu::core {

inline constexpr KernelFile kAttentionStreamingFile(
#include "rlxgpu/kernels/attention/streaming.wgsl"
);
inline constexpr KernelFile kAttentionCombineFile(
#include "rlxgpu/kernels/attention/combine.wgsl"
);

namespace attention_internal {

constexpr HeadView head_view(const Emit& e, int operand) {
  return HeadView(e.view(operand), e.call().operand(operand).shape, AttentionAttrs(e.call().attrs).sequence_first);
}

// What decides which keys are seen.
constexpr void give_range(Dispatch& dispatch, const Emit& e) {
  const AttentionAttrs attrs(e.call().attrs);
  const AttentionSizes sizes(e.call());
  dispatch.number("kKvHeads", sizes.kv_heads)
      .number("kGroup", sizes.group)
      .number("kQueries", sizes.queries.extent)
      .number("kKeys", sizes.keys.extent)
      .boolean("kCausal", attrs.causal)
      .number("kWindow", attrs.window)
      .number("kLengthBatch", attrs.length >= 0 && e.call().operand(attrs.length).shape.count() > 1)
      .extent("queries", sizes.queries)
      .extent("keys", sizes.keys)
      .flag("LENGTH", attrs.length >= 0);
  if (attrs.length >= 0) dispatch.input("length", e.operand(attrs.length));
  dispatch.slot("length_of", attrs.length < 0                              ? kNoLengthText
                             : e.call().operand(attrs.length).dtype == i32 ? kSignedLengthText
                                                                           : std::string_view());
}

// The distances of neighbours of a mask or a bias along the four axes, 0 where it is broadcast.
constexpr void give_steps(Dispatch& dispatch, const Emit& e, int operand, const std::string_view (&names)[4]) {
  for (int axis = 0; axis < 4; ++axis) {
    int64_t step = 0;
    if (operand >= 0) {
      const Shape& shape = e.call().operand(operand).shape;
      const int own = axis + shape.rank() - 4;
      if (own >= 0 && shape[own] > 1) step = dense_strides(shape)[own];
    }
    dispatch.number(names[axis], step);
  }
}

// The same, and what becomes of a score.
constexpr void give_scores(Dispatch& dispatch, const Emit& e) {
  const AttentionAttrs attrs(e.call().attrs);
  give_range(dispatch, e);
  dispatch.real("kSoftcap", attrs.softcap);
  constexpr std::string_view kMask[] = {"kMaskBatch", "kMaskHead", "kMaskQuery", "kMaskKey"};
  constexpr std::string_view kBias[] = {"kBiasBatch", "kBiasHead", "kBiasQuery", "kBiasKey"};
  give_steps(dispatch, e, attrs.mask, kMask);
  give_steps(dispatch, e, attrs.bias, kBias);
  dispatch.real("kScale", attrs.scale).flag("MASK", attrs.mask >= 0);
  if (attrs.mask >= 0) dispatch.input("mask", e.operand(attrs.mask));
  dispatch.flag("BIAS", attrs.bias >= 0);
  if (attrs.bias >= 0) dispatch.input("bias", e.operand(attrs.bias));
  dispatch.slot("mask_of", attrs.mask < 0 ? kNoMaskText : std::string_view())
      .slot("bias_of", attrs.bias < 0 ? kNoBiasText : std::string_view())
      .slot("scores", kScoreText)
      .functions(kDecayText);
}

// Where q, k or v are: the operand's sizes and steps, its loads and its buffer.
template <char kName>
constexpr void give_heads(Dispatch& dispatch, const Emit& e, int operand, Ref from, const HeadView& view,
                          int64_t size) {
  constexpr std::string_view kNames[3][6] = {
      {"kQSize", "kQOffset", "kQBatch", "kQHead", "kQRow", "kQCol"},
      {"kKSize", "kKOffset", "kKBatch", "kKHead", "kKRow", "kKCol"},
      {"kVSize", "kVOffset", "kVBatch", "kVHead", "kVRow", "kVCol"},
  };
  const int64_t numbers[] = {size, view.offset, view.batch, view.head, view.row, view.col};
  for (int i = 0; i < 6; ++i) dispatch.number(kNames[operand][i], static_cast<uint32_t>(numbers[i]));
  constexpr char kVector[] = {kName, '_', 'v', 'e', 'c', 't', 'o', 'r'}, kBuffer[] = {kName};
  dispatch.slot({kVector, sizeof(kVector)}, vector_text<kName>(e.call().operand(operand).dtype, view.wide(size)));
  dispatch.raw({kBuffer, sizeof(kBuffer)}, from);
}
constexpr void give_keys(Dispatch& dispatch, const Emit& e) {
  give_heads<'k'>(dispatch, e, 1, e.operand(1), head_view(e, 1), AttentionSizes(e.call()).size);
}
constexpr void give_values(Dispatch& dispatch, const Emit& e) {
  give_heads<'v'>(dispatch, e, 2, e.operand(2), head_view(e, 2), AttentionSizes(e.call()).value_size);
}

inline constexpr std::string_view kFourKeysText = R"wgsl(
const kKeysEach = 4u;
fn products(lane : u32, at : u32, batch : u32, kv_head : u32, first_row : u32, k0 : u32, last : u32, count : u32) {
  var sums : array<vec4f, kRows>;
  let key = k0 + 4u * lane;
  let most = max(last, 1u) - 1u;
  let at0 = at + min(key, most) * kKRow;
  let at1 = at + min(key + 1u, most) * kKRow;
  let at2 = at + min(key + 2u, most) * kKRow;
  let at3 = at + min(key + 3u, most) * kKRow;
  for (var d = 0u; d < kD4; d++) {
    let u0 = k_vector(at0, d);
    let u1 = k_vector(at1, d);
    let u2 = k_vector(at2, d);
    let u3 = k_vector(at3, d);
    for (var r = 0u; r < kRows; r++) {
      let u = qs[r * kD4 + d];
      sums[r] += vec4f(dot(u, u0), dot(u, u1), dot(u, u2), dot(u, u3));
    }
  }
  for (var r = 0u; r < kRows; r++) {
    let row = first_row + r;
    let head = kv_head * kGroup + row % kGroup;
    for (var e = 0u; e < 4u; e++) {
      let s = score(sums[r][e], batch, head, row / kGroup, key + e, count);
      p[r * kTile + 4u * lane + e] = select(kLeast, s, key + e < last);
    }
  }
}
)wgsl";

// Rows of all splits one after another, each with its sums, greatest score and denominator.
inline constexpr std::string_view kLeaveText = R"wgsl(
fn finish(batch : u32, head : u32, query : u32, split : u32, column : u32, u : vec4f, most : f32, sum : f32) {
  let rows = kTiles / (kBlocks * kSplits) * kGroup * kQueries;  // in all
  let at = (split * rows + place(batch, head, query, 1u)) * (kVSize + 2u);
  let i = at + 4u * column;
  parts[i] = u.x;
  if (4u * column + 1u < kVSize) { parts[i + 1u] = u.y; }
  if (4u * column + 2u < kVSize) { parts[i + 2u] = u.z; }
  if (4u * column + 3u < kVSize) { parts[i + 3u] = u.w; }
  if (column == 0u) {
    parts[at + kVSize] = most;
    parts[at + kVSize + 1u] = sum;
  }
}
)wgsl";

struct Tiling {
  int64_t lanes = 64, rows = 16, columns = 16, cols_each = 1, row_groups = 4, blocks = 1;
};

constexpr int64_t power_of_two_above(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

constexpr Tiling tiling_of(const AttentionSizes& sizes, int64_t lanes, int64_t rows) {
  Tiling t;
  t.lanes = lanes, t.rows = rows;
  const int64_t vectors = ceil_div(sizes.value_size < 1 ? 1 : sizes.value_size, 4);
  t.columns = power_of_two_above(vectors) < t.lanes ? power_of_two_above(vectors) : t.lanes;
  t.cols_each = ceil_div(vectors, t.columns);
  t.row_groups = t.lanes / t.columns < t.rows ? t.lanes / t.columns : t.rows;
  t.blocks = ceil_div(sizes.rows(), t.rows);
  return t;
}
// A CPU has one subgroup of 8 and four keys for each lane; elsewhere 64 invocations with a key each. At most 16 rows; 8
// KiB of queries; 32 vectors of sums for each invocation, which Mesa still unrolls.
constexpr bool has_room(const AttentionSizes& sizes, const Tiling& t) {
  return t.rows * ceil_div(sizes.size, 4) * 16 <= 8192 && t.rows * t.cols_each <= 32;
}
constexpr Tiling tiling_of(const AttentionSizes& sizes, const Target& target) {
  const int64_t lanes = target.adapter_class == AdapterClass::software ? 8 : 64;
  // Of 16 rows Intel's GPUs keep some in memory (bmg, heads of 128: 64 registers).
  const int64_t most = target.vendor == Vendor::intel ? 8 : 16;
  int64_t rows = power_of_two_above(sizes.rows()) < most ? power_of_two_above(sizes.rows()) : most;
  while (rows > 1 && !has_room(sizes, tiling_of(sizes, lanes, rows))) rows /= 2;
  return tiling_of(sizes, lanes, rows);
}

inline constexpr Parameter kStreamingParameters[] = {
    {"queries", 1, 32, kPowersOfTwo, "rows of a workgroup: queries of the heads that share keys"},
    {"keys", 1, 4, 3, "keys of an invocation: 1 or 4"},
    {"lanes", 8, 128, kPowersOfTwo, "invocations of a workgroup"},
};
inline constexpr Parameter kSplitParameters[] = {
    kStreamingParameters[0],
    kStreamingParameters[1],
    kStreamingParameters[2],
    {"splits", 2, 512, 1, "workgroups that share the keys"},
};
constexpr void streaming_defaults(const Call& call, const Target& target, Parameters& p) {
  const AttentionSizes sizes(call);
  const Tiling t = tiling_of(sizes, target);
  p.fill("lanes", t.lanes);
  int64_t rows = t.rows;
  while (rows > 1 && !has_room(sizes, tiling_of(sizes, p["lanes"], rows))) rows /= 2;
  p.fill("queries", rows);
  p.fill("keys", p["lanes"] == 8 ? 4 : 1);
}
// Queries, scores of a tile, and numbers of every row in workgroup memory.
constexpr bool streaming_valid(const Call& call, const Target& target, const Parameters& p) {
  const AttentionSizes sizes(call);
  const Tiling t = tiling_of(sizes, p["lanes"], p["queries"]);
  const int64_t parts = t.lanes > t.rows ? t.lanes / t.rows : 1;
  const int64_t bytes = t.rows * (ceil_div(sizes.size, 4) * 16 + 4 * t.lanes * p["keys"] + 12 + 8 * parts);
  const bool by_default = t.rows == tiling_of(sizes, target).rows && t.lanes == tiling_of(sizes, target).lanes;
  return t.lanes <= target.max_invocations && bytes <= target.max_workgroup_bytes && (by_default || has_room(sizes, t));
}

constexpr void emit_streaming(Emit& e, int64_t splits) {
  const AttentionSizes sizes(e.call());
  const Tiling t = tiling_of(sizes, e.parameter("lanes"), e.parameter("queries"));
  const int64_t tiles = sizes.batches * sizes.kv_heads * t.blocks * splits;
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  const int64_t rows = sizes.batches * sizes.heads * sizes.queries.extent;
  const Ref parts = splits > 1 ? e.scratch(f32, {splits * rows * (sizes.value_size + 2)}) : e.result();
  {
    Dispatch dispatch = e.dispatch(kAttentionStreamingFile);
    give_scores(dispatch, e);
    give_keys(dispatch, e);
    give_values(dispatch, e);
    dispatch.boolean("kSequenceFirst", AttentionAttrs(e.call().attrs).sequence_first)
        .number("kRows", t.rows)
        .number("kLanes", t.lanes)
        .number("kColumns", t.columns)
        .number("kColsEach", t.cols_each)
        .number("kRowGroups", t.row_groups)
        .number("kBlocks", t.blocks)
        .number("kSplits", splits)
        .number("kTiles", tiles)
        .number("kGridRow", grid.row)
        .input("q", e.operand(0))
        .flag("WHOLE", splits == 1)
        .flag("PARTS", splits > 1);
    if (splits == 1) dispatch.output("y", e.result());
    if (splits > 1) dispatch.raw("parts", parts, true);
    dispatch.slot("products", e.parameter("keys") == 4 ? kFourKeysText : std::string_view())
        .slot("finish", splits > 1 ? kLeaveText : std::string_view())
        .grid(grid.row, grid.rows);
  }
  if (splits == 1) return;
  const int64_t count = rows * sizes.value_size;
  const FoldedGrid last = fold_grid(ceil_div(count, 64), e.target().max_groups);
  e.dispatch(kAttentionCombineFile)
      .number("kCount", count)
      .number("kVSize", sizes.value_size)
      .number("kSplits", splits)
      .number("kRow", last.row * 64)
      .raw("parts", parts)
      .output("y", e.result())
      .slot("decay", kDecayText)
      .grid(last.row, last.rows);
}

// Enough workgroups for the device, each with 128 keys at least.
constexpr int64_t splits_of(const AttentionSizes& sizes, const Target& target) {
  const int64_t tiles = sizes.batches * sizes.kv_heads * tiling_of(sizes, target).blocks;
  const int64_t wanted = ceil_div(target.adapter_class == AdapterClass::software ? 8 : 256, tiles < 1 ? 1 : tiles);
  const int64_t most = sizes.keys.extent / 128;
  const int64_t splits = wanted < most ? wanted : most;
  return splits < 2 ? 2 : splits;
}

}  // namespace attention_internal

constexpr void attention_streaming_emit(Emit& e) { attention_internal::emit_streaming(e, 1); }
constexpr void attention_split_emit(Emit& e) { attention_internal::emit_streaming(e, e.parameter("splits")); }
constexpr void attention_split_defaults(const Call& call, const Target& target, Parameters& p) {
  p.fill("splits", attention_internal::splits_of(AttentionSizes(call), target));
  attention_internal::streaming_defaults(call, target, p);
}
constexpr bool attention_split_valid(const Call& call, const Target& target, const Parameters& p) {
  const AttentionSizes sizes(call);
  const int64_t rows = sizes.batches * sizes.heads * sizes.queries.extent;
  return attention_internal::streaming_valid(call, target, p) &&
         4 * p["splits"] * rows * (sizes.value_size + 2) <= static_cast<int64_t>(target.max_binding_bytes);
}

constexpr bool attention_split_accepts(const Call& call, const Target& target) {
  const AttentionSizes sizes(call);
  const int64_t rows = sizes.batches * sizes.heads * sizes.queries.extent;
  const int64_t floats = attention_internal::splits_of(sizes, target) * rows * (sizes.value_size + 2);
  return 4 * floats <= static_cast<int64_t>(target.max_binding_bytes);
}
// Too few blocks of rows for the device, and keys enough to share. On GPUs for few queries only: a prompt's attention
// is one dispatch.
constexpr bool attention_split_prefers(const Call& call, const Target& target) {
  const AttentionSizes sizes(call);
  const bool software = target.adapter_class == AdapterClass::software;
  return sizes.keys.extent >= 512 && (software || sizes.queries.extent <= 32) &&
         attention_split_accepts(call, target) &&
         sizes.batches * sizes.kv_heads * attention_internal::tiling_of(sizes, target).blocks <= (software ? 4 : 64);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ATTENTION_STREAMING_H_

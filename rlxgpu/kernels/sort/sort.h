// argsort, sort and topk: elements in order along one axis, or where they are.
//
//   Tensor order = argsort(scores);                       // i32: x at order[0] is the least
//   Tensor sorted = sort(x, 1, {.descending = true});
//   auto [best, where] = topk(logits, 40);                // the 40 greatest, greatest first
//
// Equal elements keep their order: ties go to the smaller index. NaN is greater than every number. x: any real type.
#ifndef RLXGPU_KERNELS_SORT_SORT_H_
#define RLXGPU_KERNELS_SORT_SORT_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/movement/gather.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/sort/reference.h"

namespace rlxgpu::core {

struct SortOptions {
  bool descending = false;
};
struct TopK {
  Tensor values, indices;
};

inline constexpr KernelFile kSortBlockFile(
#include "rlxgpu/kernels/sort/block.wgsl"
);
inline constexpr KernelFile kSortMergeFile(
#include "rlxgpu/kernels/sort/merge.wgsl"
);

// Attributes: the axis, descending, how many to keep (-1: all).
constexpr void argsort_infer(Infer& infer) {
  const Shape& shape = infer.shape(0);
  const DType dtype = infer.dtype(0);
  if (!is_float(dtype) && !is_integer(dtype)) return infer.fail("needs a real number, not ", name_of(dtype));
  const int axis = normalise_axis(infer.attr(0), shape.rank());
  if (axis < 0) return infer.fail("axis ", infer.attr(0), " does not exist in rank ", shape.rank());
  Shape to = shape;
  if (infer.attr(2) >= 0) {
    if (shape.symbol(axis) >= 0) return infer.fail("axis ", axis, " has a run-time extent: sort it whole");
    if (infer.attr(2) > shape[axis]) return infer.fail("takes ", infer.attr(2), " of ", shape[axis], " elements");
    to.set(axis, Dim(infer.attr(2)));
  }
  infer.result(i32, to);
}

inline constexpr std::string_view kStoreEntryText =
    "fn store(row : u32, run : u32, i : u32, entry : vec2u) {\n"
    "  let at = 2u * ((row * kStored + run) * kKeep + i);\n"
    "  y_put(at, entry.x);\n  y_put(at + 1u, entry.y);\n}";

struct SortLayout {
  int64_t rows = 1, cols = 1, inner = 1, keep = 1;
};
constexpr SortLayout sort_layout(const Call& call) {
  const Shape& shape = call.operand(0).shape;
  const int axis = normalise_axis(call.attr(0), shape.rank());
  const int64_t inner = shape.count(axis + 1, shape.rank());
  return {shape.count(0, axis) * inner, shape[axis], inner, call.result().shape[axis]};
}

// Where a dispatch puts its entries: the columns of the last one are the result.
constexpr void store_run(Emit& e, Dispatch& dispatch, bool last, Ref runs) {
  if (last) {
    dispatch.slot("store").output("y", e.result());
  } else {
    dispatch.slot("store", kStoreEntryText).output("y", runs);
  }
}

// Eight runs take seven searches of an entry in one dispatch, instead of three in three: better where a dispatch is
// dearer than the entries.
constexpr int64_t merged_at_once(int64_t entries) { return entries <= 65536 ? 8 : 2; }

// The least power of two that holds a row, at least 2.
constexpr int64_t block_of(int64_t cols, int64_t most) {
  int64_t block = 2;
  while (block < cols && block < most) block *= 2;
  return block;
}

inline constexpr Parameter kArgsortParameters[] = {
    {"block", 2, 1024, kPowersOfTwo, "neighbours that a workgroup sorts"},
    {"lanes", 1, 256, kPowersOfTwo, "its invocations"},
    {"ways", 0, 8, 2, "sorted runs that are merged at once; 0: 8 of few entries, else 2"},
};
// Software adapters pay for every step of the network: there small blocks, which need fewer of them, and one subgroup,
// for barriers are dear; elsewhere an invocation for every comparison of a step.
constexpr void argsort_defaults(int64_t most_block, const Call& call, const Target& target, Parameters& p) {
  p.fill("block", block_of(sort_layout(call).cols, most_block));
  const int64_t wide = power_of_two_below(target.max_invocations);
  const int64_t most = target.adapter_class == AdapterClass::software ? 8 : wide < 256 ? wide : 256;
  p.fill("lanes", p["block"] / 2 < most ? p["block"] / 2 : most);
  p.fill("ways", 0);
}
constexpr bool argsort_valid(const Call&, const Target& target, const Parameters& p) {
  return p["lanes"] <= target.max_invocations && p["lanes"] <= p["block"];
}

constexpr void argsort_emit(Emit& e) {
  const int64_t block = e.parameter("block");
  const SortLayout l = sort_layout(e.call());
  const DType dtype = e.call().operand(0).dtype;
  const Shape& shape = e.call().operand(0).shape;
  const auto smaller = [](int64_t a, int64_t b) { return a < b ? a : b; };
  int64_t runs = ceil_div(l.cols, block), width = smaller(block, l.keep);
  Ref given = runs > 1 ? e.scratch(u32, {l.rows, runs, width, 2}) : Ref();
  {
    const FoldedGrid grid = fold_grid(l.rows * runs, e.target().max_groups);
    Dispatch dispatch = e.dispatch(kSortBlockFile);
    dispatch.number("kRows", l.rows)
        .number("kCols", l.cols)
        .number("kInner", l.inner)
        .number("kStored", runs)
        .number("kKeep", width)
        .number("kDescending", e.attr(1))
        .number("kBlock", block)
        .number("kLanes", e.parameter("lanes"))
        .number("kGridRow", grid.row)
        .extent("cols", shape.dim(normalise_axis(e.attr(0), shape.rank())))
        .input("x", e.operand(0))
        .slot("key", key_text(register_of(dtype), false));
    store_run(e, dispatch, runs == 1, given);
    dispatch.grid(grid.row, grid.rows);
  }
  while (runs > 1) {
    const int64_t given_ways = e.parameter("ways");
    const int64_t ways = smaller(runs, given_ways > 0 ? given_ways : merged_at_once(l.rows * runs * width));
    const int64_t left = ceil_div(runs, ways), kept = smaller(ways * width, l.keep);
    const FoldedGrid grid = fold_grid(ceil_div(l.rows * left * ways * width, 64), e.target().max_groups);
    const Ref merged = left > 1 ? e.scratch(u32, {l.rows, left, kept, 2}) : Ref();
    Dispatch dispatch = e.dispatch(kSortMergeFile);
    dispatch.number("kRows", l.rows)
        .number("kRuns", runs)
        .number("kWidth", width)
        .number("kStored", left)
        .number("kInner", l.inner)
        .number("kKeep", kept)
        .number("kWays", ways)
        .number("kRow", grid.row * 64)
        .input("given", given);
    store_run(e, dispatch, left == 1, merged);
    dispatch.grid(grid.row, grid.rows);
    given = merged, runs = left, width = kept;
  }
}

constexpr bool fits_block(const Call& call, const Target&) { return sort_layout(call).cols <= 1024; }
constexpr void argsort_block_defaults(const Call& call, const Target& target, Parameters& p) {
  argsort_defaults(1024, call, target, p);
}
constexpr bool argsort_block_valid(const Call& call, const Target& target, const Parameters& p) {
  return argsort_valid(call, target, p) && p["block"] >= sort_layout(call).cols;
}
constexpr void argsort_merge_defaults(const Call& call, const Target& target, Parameters& p) {
  argsort_defaults(target.adapter_class == AdapterClass::software ? 64 : 512, call, target, p);
}

inline constexpr Variant kArgsortVariants[] = {
    {.name = "block",
     .accepts = fits_block,
     .emit = argsort_emit,
     .parameters = {kArgsortParameters, argsort_block_defaults, argsort_block_valid}},
    {.name = "merge", .emit = argsort_emit, .parameters = {kArgsortParameters, argsort_merge_defaults, argsort_valid}},
};

inline constexpr OpDef kArgsort{
    .name = "argsort",
    .infer = argsort_infer,
    .variants = kArgsortVariants,
    .absorbs = 1,
    .absorbs_after = true,
    .reference = argsort_reference,
};

constexpr Tensor argsort(Tensor x, int axis = -1, SortOptions options = {},
                         Site site = std::source_location::current()) {
  return apply(kArgsort, {x}, {axis, options.descending, -1}, site);
}
constexpr Tensor sort(Tensor x, int axis = -1, SortOptions options = {}, Site site = std::source_location::current()) {
  return gather_elements(x, argsort(x, axis, options, site.as("sort")), axis, site.as("sort"));
}
// The k greatest, or with largest = false the k least.
constexpr TopK topk(Tensor x, int64_t k, int axis = -1, bool largest = true,
                    Site site = std::source_location::current()) {
  if (k < 0) x.builder().fail(site, "topk: ", k, " elements are wanted");
  const Tensor indices = apply(kArgsort, {x}, {axis, largest, k}, site.as("topk"));
  return {gather_elements(x, indices, axis, site.as("topk")), indices};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::SortOptions, core::TopK, core::argsort, core::sort, core::topk;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SORT_SORT_H_

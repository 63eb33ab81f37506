// kv_append(cache, x, position, axis): writes x into a cache, in place, from a run-time position on.
//
//   Tensor cache = g.state("keys", f32, {batch, heads, 4096, 64});
//   Tensor n = g.scalar("n", u32);                                        // tokens before this one
//   Tensor keys = kv_append(cache, rope(k, positions), n, 2);             // one dispatch: rope joins it
//   Tensor y = attention(q, keys, values, {.causal = true, .length = n + 1u});
//
// x has the cache's type and shape but for the axis, where it is shorter (its extent there may be a run-time one).
// position: one number, or, for texts side by side, one for each row of the first axis. The cache is a state; what was
// it before is no more. What would lie beyond its end is dropped.
#ifndef RLXGPU_KERNELS_KV_CACHE_KV_APPEND_H_
#define RLXGPU_KERNELS_KV_CACHE_KV_APPEND_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/kv_cache/reference.h"

namespace rlxgpu::core {

inline constexpr KernelFile kKvAppendFile(
#include "rlxgpu/kernels/kv_cache/append.wgsl"
);

constexpr void kv_append_infer(Infer& infer) {
  const Shape &cache = infer.shape(0), &x = infer.shape(1);
  const int axis = normalise_axis(infer.attr(0), cache.rank());
  if (axis < 0) return infer.fail("axis ", infer.attr(0), " does not exist");
  if (infer.dtype(0) != infer.dtype(1)) {
    return infer.fail("a cache of ", name_of(infer.dtype(0)), " takes no ", name_of(infer.dtype(1)));
  }
  const Shape& position = infer.shape(2);
  const bool each = position.rank() == 1 && axis > 0 && !x.dynamic() && position[0] == x[0];
  if (!is_index(infer.dtype(2)) || (position.count() != 1 && !each)) {
    return infer.fail("the position is one i32 or u32, or one for each row of the first axis");
  }
  if (cache.dynamic()) return infer.fail("a cache has no run-time extents");
  bool fits = cache.rank() == x.rank();
  for (int i = 0; fits && i < cache.rank(); ++i) fits = i == axis ? x[i] <= cache[i] : x.dim(i) == cache.dim(i);
  if (!fits) return infer.fail("what is appended does not fit into the cache");
  infer.result(infer.dtype(0), cache);
}

constexpr void kv_append_emit(Emit& e) {
  const Shape &cache = e.call().operand(0).shape, &x = e.call().operand(1).shape;
  const int axis = normalise_axis(e.attr(0), cache.rank());
  const int64_t count = x.count();
  if (count == 0) return;
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  const int64_t positions = e.call().operand(2).shape.count();
  e.dispatch(kKvAppendFile)
      .type("Elem", register_of(e.call().operand(1).dtype))
      .number("kCount", count)
      .number("kSteps", x[axis])
      .number("kLength", cache[axis])
      .number("kInner", x.count(axis + 1, x.rank()))
      .number("kEach", ceil_div(count, positions))
      .number("kRow", grid.row * 64)
      .extent("steps", x.dim(axis))
      .input("x", e.operand(1))
      .input("position", e.operand(2))
      .output("cache", e.result())
      .grid(grid.row, grid.rows);
}

inline constexpr Variant kKvAppendVariants[] = {{"copy", nullptr, kv_append_emit}};

constexpr Cost kv_append_cost(const Call& call) {
  const auto bytes = static_cast<double>(storage_bytes(call.operand(1).dtype, call.operand(1).shape.count()));
  return {0, 2 * bytes};
}

inline constexpr OpDef kKvAppend{
    .name = "kv_append",
    .infer = kv_append_infer,
    .variants = kKvAppendVariants,
    .absorbs = 0b110,
    .in_place = 0,
    .cost = kv_append_cost,
    .reference = kv_append_reference,
};

constexpr Tensor kv_append(Tensor cache, Tensor x, Tensor position, int64_t axis,
                           Site site = std::source_location::current()) {
  return apply(kKvAppend, {cache, x, position}, {axis}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::kv_append;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_KV_CACHE_KV_APPEND_H_

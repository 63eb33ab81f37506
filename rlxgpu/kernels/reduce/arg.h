// argmax(x, axis) and argmin(x, axis): where along one axis the greatest or least element is, as i32.
//
//   Tensor token = argmax(logits);   // [batch, vocabulary] -> [batch]
//
// The first of equal elements. A NaN is both greatest and least, as in NumPy. x: any real type.
#ifndef RLXGPU_KERNELS_REDUCE_ARG_H_
#define RLXGPU_KERNELS_REDUCE_ARG_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/reduce/arg_reference.h"
#include "rlxgpu/kernels/reduce/lanes.h"
#include "rlxgpu/kernels/reduce/layout.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {

inline constexpr KernelFile kArgFile(
#include "rlxgpu/kernels/reduce/arg.wgsl"
);

// Attributes: keep_dims, the axis.
constexpr void arg_infer(Infer& infer) {
  const DType dtype = infer.dtype(0);
  if (!is_float(dtype) && !is_integer(dtype)) return infer.fail("needs a real number, not ", name_of(dtype));
  const std::span<const int64_t> axis = infer.call().attrs.subspan(1);
  if (!check_axes(infer, axis)) return;
  if (infer.shape(0)[normalise_axis(axis[0], infer.shape(0).rank())] == 0)
    return infer.fail("axis ", axis[0], " is empty");
  infer.result(i32, reduced_shape(infer.shape(0), axis, infer.attr(0) != 0));
}

// Numbers in the order of the elements, or for argmin in the opposite order; NaN above all.
constexpr std::string_view key_text(Register reg, bool least) {
  if (reg == Register::i32) {
    return least ? "fn key(v : i32) -> u32 { return bitcast<u32>(v) ^ 0x7fffffffu; }"
                 : "fn key(v : i32) -> u32 { return bitcast<u32>(v) ^ 0x80000000u; }";
  }
  if (reg == Register::u32)
    return least ? "fn key(v : u32) -> u32 { return ~v; }" : "fn key(v : u32) -> u32 { return v; }";
  return least ? "fn key(v : f32) -> u32 {\n"
                 "  let bits = bitcast<u32>(v);\n"
                 "  let magnitude = bits & 0x7fffffffu;\n"
                 "  if (magnitude > 0x7f800000u) { return 0xffffffffu; }\n"
                 "  if (magnitude == 0u) { return 0x7fffffffu; }\n"
                 "  return select(bits ^ 0x7fffffffu, bits, bits != magnitude);\n}"
               : "fn key(v : f32) -> u32 {\n"
                 "  let bits = bitcast<u32>(v);\n"
                 "  let magnitude = bits & 0x7fffffffu;\n"
                 "  if (magnitude > 0x7f800000u) { return 0xffffffffu; }\n"
                 "  if (magnitude == 0u) { return 0x80000000u; }\n"
                 "  return select(bits | 0x80000000u, ~bits, bits != magnitude);\n}";
}

inline constexpr std::string_view kElementText =
    "fn candidate(row : u32, col : u32) -> vec2u { return vec2u(key(x_at(row * kCols + col)), col); }";
inline constexpr std::string_view kCandidateText =
    "fn candidate(row : u32, col : u32) -> vec2u {\n"
    "  let i = 2u * (row * kCols + col);\n  return vec2u(given_at(i), given_at(i + 1u));\n}";
inline constexpr std::string_view kStoreText = "fn store(part : u32, best : vec2u) { y_put(part, i32(best.y)); }";
inline constexpr std::string_view kStoreCandidateText =
    "fn store(part : u32, best : vec2u) {\n  y_put(2u * part, best.x);\n  y_put(2u * part + 1u, best.y);\n}";

template <bool kLeast>
constexpr void arg_rows_emit(Emit& e) {
  const ReduceLayout layout = reduce_layout(e.call());
  const Lanes lanes = lanes_of(reduce_rows_of(layout), e);
  Dispatch dispatch = e.dispatch(kArgFile);
  give_lanes(dispatch, lanes);
  dispatch.number("kRows", layout.rows)
      .number("kCols", layout.cols)
      .number("kSplits", 1)
      .number("kChunk", layout.cols)
      .extent("cols", layout.steps)
      .flag("ELEMENTS", true)
      .flag("CANDIDATES", false)
      .input("x", e.operand(0), layout.axes())
      .slot("key", key_text(register_of(e.call().operand(0).dtype), kLeast))
      .slot("candidate", kElementText)
      .slot("store", kStoreText)
      .output("y", e.result())
      .grid(lanes.grid.row, lanes.grid.rows, 1, lanes.grid.rows == 1 ? layout.row_symbol : -1);
}

template <bool kLeast>
constexpr void arg_split_emit(Emit& e) {
  const ReduceLayout layout = reduce_layout(e.call());
  const auto [splits, chunk] = split_of(layout, e);
  const Ref parts = e.scratch(u32, {layout.rows, splits, 2});
  {
    const Lanes lanes = lanes_of({layout.rows * splits, chunk, 1}, e);
    Dispatch dispatch = e.dispatch(kArgFile);
    give_lanes(dispatch, lanes);
    dispatch.number("kRows", layout.rows)
        .number("kCols", layout.cols)
        .number("kSplits", splits)
        .number("kChunk", chunk)
        .extent("cols", layout.steps)
        .flag("ELEMENTS", true)
        .flag("CANDIDATES", false)
        .input("x", e.operand(0), layout.axes())
        .slot("key", key_text(register_of(e.call().operand(0).dtype), kLeast))
        .slot("candidate", kElementText)
        .slot("store", kStoreCandidateText)
        .output("y", parts)
        .grid(lanes.grid.row, lanes.grid.rows);
  }
  const Lanes lanes = lanes_of({layout.rows, splits, 1}, e.target());
  Dispatch dispatch = e.dispatch(kArgFile);
  give_lanes(dispatch, lanes);
  dispatch.number("kRows", layout.rows)
      .number("kCols", splits)
      .number("kSplits", 1)
      .number("kChunk", splits)
      .extent("cols", splits)
      .flag("ELEMENTS", false)
      .flag("CANDIDATES", true)
      .input("given", parts)
      .slot("candidate", kCandidateText)
      .slot("store", kStoreText)
      .output("y", e.result())
      .grid(lanes.grid.row, lanes.grid.rows);
}

template <bool kLeast>
inline constexpr Variant kArgVariants[] = {
    {"split", split_accepts, arg_split_emit<kLeast>, nullptr, nullptr, kReduceSplitRules},
    {"rows", nullptr, arg_rows_emit<kLeast>, nullptr, nullptr, kReduceRowsRules},
};

inline constexpr OpDef kArgmax{
    .name = "argmax",
    .infer = arg_infer,
    .variants = kArgVariants<false>,
    .absorbs = 1,
    .absorbs_after = true,
    .cost = reduce_cost,
    .reference = arg_reference<false>,
};
inline constexpr OpDef kArgmin{
    .name = "argmin",
    .infer = arg_infer,
    .variants = kArgVariants<true>,
    .absorbs = 1,
    .absorbs_after = true,
    .cost = reduce_cost,
    .reference = arg_reference<true>,
};

constexpr Tensor argmax(Tensor x, int axis = -1, ReduceOptions options = {},
                        Site site = std::source_location::current()) {
  return apply(kArgmax, {x}, {options.keep_dims, axis}, site);
}
constexpr Tensor argmin(Tensor x, int axis = -1, ReduceOptions options = {},
                        Site site = std::source_location::current()) {
  return apply(kArgmin, {x}, {options.keep_dims, axis}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::argmax, core::argmin;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_REDUCE_ARG_H_

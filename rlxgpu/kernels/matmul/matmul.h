// matmul(a, b): the product over the last axis of a and the last but one of b; leading axes broadcast.
//
//   Tensor y = gelu(matmul(x, w) + b);   // bias and gelu join the product's dispatch
//
// a: (..., m, k)   b: (..., k, n)   result: (..., m, n). As in NumPy a vector a is one row, a vector b one
// column, and that axis is dropped from the result. Transposed and sliced operands are read where they
// are. Floats may differ in storage type; they are summed in f32 and the result has a's type. Integers:
// i32 and u32 (wrapping), i8 (to i32) and u8 (to u32), both operands of one type.
#ifndef RLXGPU_KERNELS_MATMUL_MATMUL_H_
#define RLXGPU_KERNELS_MATMUL_MATMUL_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/matmul/dot4.h"
#include "rlxgpu/kernels/matmul/few.h"
#include "rlxgpu/kernels/matmul/gemv.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/packed.h"
#include "rlxgpu/kernels/matmul/probe.h"
#include "rlxgpu/kernels/matmul/reference.h"
#include "rlxgpu/kernels/matmul/subgroup_matrix.h"
#include "rlxgpu/kernels/matmul/tiled_8x8.h"
#include "rlxgpu/kernels/matmul/uniform.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulPlainFile(
#include "rlxgpu/kernels/matmul/plain.wgsl"
);
inline constexpr KernelFile kMatmulTiledFile(
#include "rlxgpu/kernels/matmul/tiled.wgsl"
);
inline constexpr KernelFile kMatmulRowsFile(
#include "rlxgpu/kernels/matmul/rows.wgsl"
);

constexpr void matmul_infer(Infer& infer) {
  const DType a = infer.dtype(0), b = infer.dtype(1);
  if (a == boolean || a == c64 || b == boolean || b == c64) return infer.fail("needs real numbers");
  if (!(is_float(a) && is_float(b)) && a != b)
    return infer.fail(name_of(a), " and ", name_of(b), " do not mix: cast one of them");
  const Shape& sa = infer.shape(0);
  const Shape& sb = infer.shape(1);
  if (sa.rank() == 0 || sb.rank() == 0) return infer.fail("a scalar is no matrix: use *");
  const Dim ka = sa.dim(sa.rank() - 1), kb = sb.dim(sb.rank() > 1 ? sb.rank() - 2 : 0);
  if (ka.extent != kb.extent) return infer.fail("inner dimensions differ (", ka.extent, " vs ", kb.extent, ")");
  if (!(ka == kb)) return infer.fail("inner dimensions differ (they are not one run-time extent)");
  Shape batch_a, batch_b, result;
  for (int axis = 0; axis < sa.rank() - 2; ++axis) batch_a.push_back(sa.dim(axis));
  for (int axis = 0; axis < sb.rank() - 2; ++axis) batch_b.push_back(sb.dim(axis));
  if (!broadcast(batch_a, batch_b, result))
    return infer.fail("leading axes ", batch_a, " and ", batch_b, " do not broadcast");
  if (sa.rank() > 1) result.push_back(sa.dim(sa.rank() - 2));
  if (sb.rank() > 1) result.push_back(sb.dim(sb.rank() - 1));
  infer.result(a == i8 ? i32 : a == u8 ? u32 : a, result);
}

// Both operands' buffers, with their strides.
constexpr void give_operands(Dispatch& dispatch, const Emit& e, const MatmulLayout& layout) {
  layout.give_to(dispatch);
  dispatch.buffer("a", e.operand(0)).buffer("b", e.operand(1));
}

inline constexpr Parameter kTiledParameters[] = {
    {"rows_each", 1, 8, kPowersOfTwo, "rows of an invocation; a workgroup has 16 times as many"},
    {"cols_each", 1, 8, kPowersOfTwo, "its columns"},
    {"tile_k", 4, 32, kPowersOfTwo, "products between two barriers"},
};
constexpr void tiled_defaults(const MatmulLayout& layout, Parameters& p) {
  p.fill("rows_each", each_of(layout.m, 16, 4));
  p.fill("cols_each", each_of(layout.n, 16, 4));
  p.fill("tile_k", 16);
}
constexpr bool tiled_valid(const Target& target, int64_t matrices, const Parameters& p) {
  const int64_t bytes = 4 * 16 * p["tile_k"] * (p["rows_each"] + matrices * p["cols_each"]);
  return bytes <= target.max_workgroup_bytes && bytes <= 16384;
}
constexpr void matmul_tiled_defaults(const Call& call, const Target&, Parameters& p) {
  tiled_defaults(matmul_sizes(call), p);
}
constexpr bool matmul_tiled_valid(const Call&, const Target& target, const Parameters& p) {
  return tiled_valid(target, 1, p);
}

// The product by tiles of one matrix, or of two, the other laid out as in `up`; `give` says what is made of the sums.
template <typename Give>
constexpr void tiled_emit(Emit& e, const MatmulLayout& layout, int64_t matrices, const MatmulLayout& up,
                          const Give& give) {
  const int64_t rows_each = e.parameter("rows_each"), cols_each = e.parameter("cols_each");
  const int64_t tiles = layout.batches * ceil_div(layout.m, 16 * rows_each) * ceil_div(layout.n, 16 * cols_each);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulTiledFile);
  give_operands(dispatch, e, layout);
  dispatch.type("Acc", register_of(e.call().result().dtype))
      .number("kAAlongM", layout.a_col != 1 && layout.a_row == 1)
      .number("kBAlongK", layout.b_col != 1 && layout.b_row == 1)
      .number("kRowsEach", rows_each)
      .number("kColsEach", matrices * cols_each)
      .number("kTileK", e.parameter("tile_k"))
      .number("kMatrices", matrices)
      .number("kURow", static_cast<uint32_t>(up.b_row))
      .number("kUCol", static_cast<uint32_t>(up.b_col))
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .flag("GATED", matrices > 1);
  give(dispatch);
  dispatch.output("y", e.result()).grid(grid.row, grid.rows);
}

constexpr void matmul_tiled_emit(Emit& e) {
  tiled_emit(e, matmul_layout(e.call(), e.view(0), e.view(1)), 1, {},
             [](Dispatch& dispatch) { dispatch.slot("fetch").slot("gate"); });
}

constexpr bool matmul_rows_accepts(const Call& call, const Target& target) {
  return target.adapter_class == AdapterClass::software && is_float(call.result().dtype);
}

inline constexpr Parameter kMatmulRowsParameters[] = {
    {"rows_each", 1, 32, kPowersOfTwo, "rows of a workgroup, whose sums are in registers"},
};
constexpr void matmul_rows_defaults(const Call& call, const Target&, Parameters& p) {
  p.fill("rows_each", each_of(matmul_sizes(call).m, 1, 16));
}

constexpr void matmul_rows_emit(Emit& e) {
  const MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  const int64_t rows_each = e.parameter("rows_each");
  const int64_t tiles = layout.batches * ceil_div(layout.m, rows_each) * ceil_div(layout.n, 16);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulRowsFile);
  give_operands(dispatch, e, layout);
  dispatch.number("kRowsEach", rows_each)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

constexpr void matmul_plain_emit(Emit& e) {
  const View a = {0, dense_strides(e.call().operand(0).shape)}, b = {0, dense_strides(e.call().operand(1).shape)};
  const int64_t count = e.call().result().shape.count();
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulPlainFile);
  matmul_layout(e.call(), a, b).give_to(dispatch);
  dispatch.type("Acc", register_of(e.call().result().dtype))
      .number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("a", e.operand(0))
      .input("b", e.operand(1))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

inline constexpr Variant kMatmulVariants[] = {
    {.name = "gemv",
     .accepts = matmul_gemv_accepts,
     .emit = matmul_gemv_emit,
     .prefers = matmul_gemv_prefers,
     .parameters = {gemv::kParameters, gemv::defaults, gemv::valid}},
    {.name = "few",
     .accepts = matmul_few_accepts,
     .emit = matmul_few_emit,
     .prefers = matmul_few_prefers,
     .parameters = {few::kParameters, few::defaults, few::valid}},
    {.name = "packed_split",
     .accepts = matmul_packed_split_accepts,
     .emit = matmul_packed_emit,
     .prefers = matmul_packed_split_prefers,
     .parameters = {packed::kSplitParameters, matmul_packed_split_defaults, matmul_packed_valid}},
    {.name = "packed",
     .accepts = matmul_packed_accepts,
     .emit = matmul_packed_emit,
     .prefers = matmul_packed_prefers,
     .parameters = {packed::kParameters, matmul_packed_defaults, matmul_packed_valid}},
    {.name = "rows",
     .accepts = matmul_rows_accepts,
     .emit = matmul_rows_emit,
     .prefers = matmul_has_many_elements,
     .parameters = {kMatmulRowsParameters, matmul_rows_defaults}},
    {.name = "subgroup_matrix",
     .accepts = matmul_subgroup_matrix_accepts,
     .emit = matmul_subgroup_matrix_emit,
     .prefers = matmul_subgroup_matrix_prefers,
     .probe = matmul_probe,
     .parameters = {subgroup_matrix::kParameters, subgroup_matrix::defaults, subgroup_matrix::valid}},
    {.name = "uniform",
     .accepts = matmul_uniform_accepts,
     .emit = matmul_uniform_emit,
     .prefers = matmul_uniform_prefers,
     .parameters = {uniform::kParameters, uniform::defaults, uniform::valid}},
    {.name = "tiled_8x8",
     .accepts = matmul_tiled_8x8_accepts,
     .emit = matmul_tiled_8x8_emit,
     .prefers = matmul_tiled_8x8_prefers,
     .parameters = {tiled_8x8::kParameters, matmul_tiled_8x8_defaults, tiled_8x8::valid}},
    {.name = "dot4",
     .accepts = matmul_dot4_accepts,
     .emit = matmul_dot4_emit,
     .prefers = matmul_has_many_elements,
     .parameters = {dot4::kParameters, dot4::defaults, dot4::valid}},
    {.name = "tiled",
     .emit = matmul_tiled_emit,
     .prefers = matmul_has_many_elements,
     .parameters = {kTiledParameters, matmul_tiled_defaults, matmul_tiled_valid}},
    {.name = "plain", .emit = matmul_plain_emit},
};

constexpr Cost matmul_cost(const Call& call) {
  const Shape& a = call.operand(0).shape;
  return {2.0 * static_cast<double>(call.result().shape.count()) * static_cast<double>(a[a.rank() - 1]), 0};
}

inline constexpr OpDef kMatmul{
    .name = "matmul",
    .infer = matmul_infer,
    .variants = kMatmulVariants,
    .absorbs_after = true,
    .cost = matmul_cost,
    .reference = matmul_reference,
};

constexpr Tensor matmul(Tensor a, Tensor b, Site site = std::source_location::current()) {
  return apply(kMatmul, {a, b}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::matmul;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MATMUL_MATMUL_H_

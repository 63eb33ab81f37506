// The variant "subgroup_matrix" of matmul: products by the matrix units, in a shape that the adapter lists. f16 (or
// f32, where listed) operands, f32 sums. Chosen by name or by measurement, never merely because it is there.
#ifndef RLXGPU_KERNELS_MATMUL_SUBGROUP_MATRIX_H_
#define RLXGPU_KERNELS_MATMUL_SUBGROUP_MATRIX_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/pad.h"
#include "rlxgpu/kernels/matmul/wide.h"

namespace rlxgpu::core {

inline constexpr KernelFile kMatmulSubgroupMatrixFile(
#include "rlxgpu/kernels/matmul/subgroup_matrix.wgsl"
);

namespace subgroup_matrix {

inline constexpr char kTypesF16[] =
    "alias Left = subgroup_matrix_left<f16, kFragK, kFragM>;\nalias Right = subgroup_matrix_right<f16, kFragN, "
    "kFragK>;";
inline constexpr char kTypesF32[] =
    "alias Left = subgroup_matrix_left<f32, kFragK, kFragM>;\nalias Right = subgroup_matrix_right<f32, kFragN, "
    "kFragK>;";

// A vector's elements lie together, ...
inline constexpr char kWideLoad[] = "alias @Words = vec4u;\nfn $_load(i : u32) -> vec4u { return $[i / kPer]; }";
inline constexpr char kWideSome[] =
    "fn $_some(i : u32, count : u32) -> vec4u {\n"
    "  if (count == 0u) { return vec4u(); }\n"
    "  return $_load(i);\n}";
// ... or k@Step apart.
inline constexpr char kLoadF16[] =
    "alias @Words = u32;\n"
    "fn $_bits(i : u32) -> u32 { return ($[i >> 1u] >> ((i & 1u) * 16u)) & 0xffffu; }\n"
    "fn $_pair(i : u32) -> u32 { return $_bits(i) | ($_bits(i + k@Step) << 16u); }\n"
    "fn $_load(i : u32) -> vec4u {\n"
    "  return vec4u($_pair(i), $_pair(i + 2u * k@Step), $_pair(i + 4u * k@Step), $_pair(i + 6u * k@Step));\n}";
inline constexpr char kSomeF16[] =
    "fn $_some(i : u32, count : u32) -> vec4u {\n"
    "  var v : vec4u;\n"
    "  for (var j = 0u; j < min(count, 8u); j++) { v[j / 2u] |= $_bits(i + j * k@Step) << (16u * (j % 2u)); }\n"
    "  return v;\n}";
inline constexpr char kLoadF32[] =
    "alias @Words = u32;\n"
    "fn $_load(i : u32) -> vec4u { return vec4u($[i], $[i + k@Step], $[i + 2u * k@Step], $[i + 3u * k@Step]); }";
inline constexpr char kSomeF32[] =
    "fn $_some(i : u32, count : u32) -> vec4u {\n"
    "  var v : vec4u;\n"
    "  for (var j = 0u; j < min(count, 4u); j++) { v[j] = $[i + j * k@Step]; }\n"
    "  return v;\n}";

template <char kName, const auto& kPattern>
inline constexpr OperandText<sizeof(kPattern)> kText{kPattern, kName};

template <char kName>
constexpr std::string_view load_text(DType dtype, bool wide) {
  if (wide) return kText<kName, kWideLoad>.view();
  return dtype == DType::f16 ? kText<kName, kLoadF16>.view() : kText<kName, kLoadF32>.view();
}
template <char kName>
constexpr std::string_view some_text(DType dtype, bool wide) {
  if (wide) return kText<kName, kWideSome>.view();
  return dtype == DType::f16 ? kText<kName, kSomeF16>.view() : kText<kName, kSomeF32>.view();
}

// How the kernel uses the units of a target; shape.m is 0 when it cannot.
struct Plan {
  MatrixShape shape = {};
  int64_t subgroup = 0, each = 0, per = 0;

  constexpr int64_t tile_m() const { return 2 * each * shape.m; }
  constexpr int64_t tile_n() const { return 2 * each * shape.n; }
  constexpr int64_t workgroup_bytes() const {
    return (tile_m() + tile_n()) * (16 / per + 1) * 16 + 4 * shape.m * shape.n * 4;
  }
};

constexpr Plan plan_for(DType operand, const Target& target) {
  Plan plan;
  if (!target.subgroups || (operand == DType::f16 && !target.shader_f16)) return plan;
  // The kernel divides its work by subgroups, so their size must be known.
  plan.subgroup = target.subgroup_min;
  if (target.subgroup_min != target.subgroup_max) {
    if (!target.subgroup_size_control) return plan;
    if (target.subgroup_min < 32 && target.subgroup_max >= 32) plan.subgroup = 32;
  }
  if (plan.subgroup == 0 || 4 * plan.subgroup > target.max_invocations) return plan;
  plan.per = operand == DType::f16 ? 8 : 4;
  for (uint32_t i = 0; i < target.matrix_count; ++i) {
    const MatrixShape& shape = target.matrix[i];
    if (shape.operand != operand || shape.result != DType::f32) continue;
    if (shape.k == 0 || 16 % shape.k != 0 || shape.k % plan.per != 0 || shape.m > 16 || shape.n > 16) continue;
    if (shape.m * shape.n * shape.k > plan.shape.m * plan.shape.n * plan.shape.k) plan.shape = shape;
  }
  const int64_t limit = target.max_workgroup_bytes < 16384 ? target.max_workgroup_bytes : 16384;
  plan.each = 4;
  if (plan.workgroup_bytes() > limit) plan.each = 2;
  if (plan.workgroup_bytes() > limit) plan.shape = {};
  return plan;
}

constexpr int64_t mode_of(Wide wide, DType dtype) {
  return wide == Wide::along_k ? 0 : wide == Wide::across_k && dtype == DType::f16 ? 1 : 2;
}

}  // namespace subgroup_matrix

constexpr bool matmul_subgroup_matrix_accepts(const Call& call, const Target& target) {
  const DType dtype = call.operand(0).dtype;
  return (dtype == DType::f16 || dtype == DType::f32) && call.operand(1).dtype == dtype &&
         call.operand_views[0] != nullptr && call.operand_views[1] != nullptr &&
         subgroup_matrix::plan_for(dtype, target).shape.m != 0;
}

constexpr void emit_subgroup_matrix(Emit& e, const KernelFile& file) {
  const DType dtype = e.call().operand(0).dtype;
  const subgroup_matrix::Plan plan = subgroup_matrix::plan_for(dtype, e.target());
  MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  MatrixCopy a = {e.operand(0), e.view(0)}, b = {e.operand(1), e.view(1)};
  // Loads of single elements cost more than the products, so operands without whole vectors are copied first where each
  // of their elements is used often.
  if (layout.m >= 64 && layout.n >= 64 && layout.k > 0 && layout.products.symbol < 0) {
    const int64_t padded = ceil_div(layout.k, plan.per) * plan.per;
    const bool both = padded != layout.k;
    if (both || wide_a(layout, plan.per) == Wide::none) a = pad_matrix(e, layout, 0, padded);
    if (both || wide_b(layout, plan.per) == Wide::none) b = pad_matrix(e, layout, 1, padded);
    layout = matmul_layout(e.call(), a.view, b.view);
    layout.k = padded, layout.products = Dim(padded);
  }
  const int64_t a_mode = subgroup_matrix::mode_of(wide_a(layout, plan.per), dtype);
  const int64_t b_mode = subgroup_matrix::mode_of(wide_b(layout, plan.per), dtype);
  const int64_t tiles = layout.batches * ceil_div(layout.m, plan.tile_m()) * ceil_div(layout.n, plan.tile_n());
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(file);
  layout.give_to(dispatch);
  dispatch.flag("F16", dtype == DType::f16)
      .flag("SIZED", e.target().subgroup_size_control)
      .flag("EACH4", plan.each == 4)
      .number("kFragM", plan.shape.m)
      .number("kFragN", plan.shape.n)
      .number("kFragK", plan.shape.k)
      .number("kEachM", plan.each)
      .number("kEachN", plan.each)
      .number("kSubgroup", plan.subgroup)
      .number("kPer", plan.per)
      .number("kAMode", a_mode)
      .number("kBMode", b_mode)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .slot("types", dtype == DType::f16 ? subgroup_matrix::kTypesF16 : subgroup_matrix::kTypesF32)
      .raw("a", a.ref)
      .raw("b", b.ref)
      .slot("a_load", subgroup_matrix::load_text<'a'>(dtype, a_mode != 2))
      .slot("a_some", subgroup_matrix::some_text<'a'>(dtype, a_mode != 2))
      .slot("b_load", subgroup_matrix::load_text<'b'>(dtype, b_mode != 2))
      .slot("b_some", subgroup_matrix::some_text<'b'>(dtype, b_mode != 2))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
constexpr void matmul_subgroup_matrix_emit(Emit& e) { emit_subgroup_matrix(e, kMatmulSubgroupMatrixFile); }

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_SUBGROUP_MATRIX_H_

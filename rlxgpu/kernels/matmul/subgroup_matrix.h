// The variant "subgroup_matrix" of matmul: products by the matrix units, in a shape that the adapter lists. f16 (or
// f32, where listed) operands, f32 sums. The first choice for f16 on GPUs, after its probe; elsewhere, and for f32, only
// by name or by measurement.
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

// Workgroup memory: a vector more for each row; a product of each subgroup on its way out.
constexpr int64_t workgroup_bytes(int64_t tile_m, int64_t tile_n, int64_t tile_k, int64_t per, int64_t results) {
  return (tile_m + tile_n) * (tile_k / per + 1) * 16 + results * 4;
}

// How the kernel uses the units of a target; shape.m is 0 when it cannot.
struct Plan {
  MatrixShape shape = {};
  int64_t subgroup = 0, each = 0, per = 0;

  constexpr int64_t tile_m() const { return 2 * each * shape.m; }
  constexpr int64_t tile_n() const { return 2 * each * shape.n; }
  constexpr int64_t workgroup_bytes() const {
    return subgroup_matrix::workgroup_bytes(tile_m(), tile_n(), 16, per, 4 * shape.m * shape.n);
  }
};

inline constexpr Parameter kParameters[] = {
    {"frag_m", 8, 16, kPowersOfTwo, "rows of a product of the matrix units: one of the shapes that the adapter lists"},
    {"frag_n", 8, 16, kPowersOfTwo, "its columns"},
    {"frag_k", 4, 32, kPowersOfTwo, "its products"},
    {"subgroup", 4, 128, kPowersOfTwo, "invocations of a subgroup"},
    {"subs_m", 1, 4, kPowersOfTwo, "subgroups of a workgroup along m"},
    {"subs_n", 1, 4, kPowersOfTwo, "subgroups along n"},
    {"each_m", 1, 4, kPowersOfTwo, "products of the units along m, for each subgroup"},
    {"each_n", 1, 4, kPowersOfTwo, "products along n"},
    {"tile_k", 16, 64, kPowersOfTwo, "elements along k between two barriers"},
};

// The kernel divides its work by subgroups, so their size must be known; 0 when it is not.
constexpr int64_t subgroup_of(const Target& target) {
  if (target.subgroup_min == target.subgroup_max) return target.subgroup_min;
  if (!target.subgroup_size_control) return 0;
  if (target.vendor == Vendor::intel) return target.subgroup_min;  // a register file holds half as many sums of 32
  return target.subgroup_min < 32 && target.subgroup_max >= 32 ? 32 : target.subgroup_min;
}
// Elements in a vector of 16 bytes.
constexpr int64_t per_vector(DType operand) { return operand == DType::f16 ? 8 : 4; }
constexpr int64_t workgroup_limit(const Target& target) {
  return target.max_workgroup_bytes < 16384 ? target.max_workgroup_bytes : 16384;
}

constexpr bool can_use(const MatrixShape& shape, DType operand) {
  return shape.operand == operand && shape.result == DType::f32 && shape.k != 0 && 16 % shape.k == 0 &&
         shape.k % per_vector(operand) == 0 && shape.m <= 16 && shape.n <= 16;
}

constexpr Plan plan_for(DType operand, const Target& target) {
  Plan plan;
  if (!target.subgroups || (operand == DType::f16 && !target.shader_f16)) return plan;
  plan.subgroup = subgroup_of(target);
  if (plan.subgroup == 0 || 4 * plan.subgroup > target.max_invocations) return plan;
  plan.per = per_vector(operand);
  for (uint32_t i = 0; i < target.matrix_count; ++i) {
    const MatrixShape& shape = target.matrix[i];
    if (can_use(shape, operand) && shape.m * shape.n * shape.k > plan.shape.m * plan.shape.n * plan.shape.k)
      plan.shape = shape;
  }
  plan.each = target.vendor == Vendor::intel ? 2 : 4;  // 4 x 4 products are all of its registers
  if (plan.workgroup_bytes() > workgroup_limit(target)) plan.each = 2;
  if (plan.workgroup_bytes() > workgroup_limit(target)) plan.shape = {};
  return plan;
}

constexpr void defaults(const Call& call, const Target& target, Parameters& p) {
  const Plan plan = plan_for(call.operand(0).dtype, target);
  p.fill("frag_m", plan.shape.m);
  p.fill("frag_n", plan.shape.n);
  p.fill("frag_k", plan.shape.k);
  p.fill("subgroup", plan.subgroup);
  p.fill("subs_m", 2);
  p.fill("subs_n", 2);
  p.fill("each_m", plan.each);
  p.fill("each_n", plan.each);
  p.fill("tile_k", 16);
}
constexpr bool valid(const Call& call, const Target& target, const Parameters& p) {
  const DType operand = call.operand(0).dtype;
  const int64_t m = p["frag_m"], n = p["frag_n"], k = p["frag_k"], subs = p["subs_m"] * p["subs_n"];
  bool listed = false;
  for (uint32_t i = 0; i < target.matrix_count; ++i) {
    const MatrixShape& shape = target.matrix[i];
    listed =
        listed || (shape.operand == operand && shape.result == f32 && shape.m == m && shape.n == n && shape.k == k);
  }
  const bool subgroup = p["subgroup"] >= target.subgroup_min && p["subgroup"] <= target.subgroup_max &&
                        (target.subgroup_size_control || target.subgroup_min == target.subgroup_max);
  const int64_t per = per_vector(operand);
  return listed && subgroup && subs * p["subgroup"] <= target.max_invocations && p["tile_k"] % k == 0 && k % per == 0 &&
         workgroup_bytes(p["subs_m"] * p["each_m"] * m, p["subs_n"] * p["each_n"] * n, p["tile_k"], per,
                         subs * m * n) <= workgroup_limit(target);
}

// Every product of a subgroup by its own constant index.
constexpr void write_puts(Text& out, std::span<const int64_t> args) {
  for (int64_t i = 0; i < args[0]; ++i) {
    for (int64_t j = 0; j < args[1]; ++j)
      out << "  put(part, lane, " << i << "u, " << j << "u, sums[" << i << "][" << j << "]);\n";
  }
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

// A GPU, f16, and a tile at least: f32 operands would be rounded on many units, so they are asked for by name.
constexpr bool matmul_subgroup_matrix_prefers(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::discrete && target.adapter_class != AdapterClass::integrated) return false;
  // Intel's GPUs with subgroups of 8 keep some 240 registers of this kernel in memory.
  if (target.vendor == Vendor::intel && target.subgroup_min < 16) return false;
  const MatmulLayout layout = matmul_sizes(call);
  return call.operand(0).dtype == DType::f16 && matmul_subgroup_matrix_accepts(call, target) && layout.m >= 32 &&
         layout.n >= 32 && layout.k >= 16;
}

constexpr void emit_subgroup_matrix(Emit& e, const KernelFile& file) {
  const DType dtype = e.call().operand(0).dtype;
  const int64_t per = subgroup_matrix::per_vector(dtype);
  const int64_t each_m = e.parameter("each_m"), each_n = e.parameter("each_n");
  MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  MatrixCopy a = {e.operand(0), e.view(0)}, b = {e.operand(1), e.view(1)};
  // Loads of single elements cost more than the products, so operands without whole vectors are copied first where each
  // of their elements is used often.
  if (layout.m >= 64 && layout.n >= 64 && layout.k > 0 && layout.products.symbol < 0) {
    const int64_t padded = ceil_div(layout.k, per) * per;
    const bool both = padded != layout.k;
    if (both || wide_a(layout, per) == Wide::none) a = pad_matrix(e, layout, 0, padded);
    if (both || wide_b(layout, per) == Wide::none) b = pad_matrix(e, layout, 1, padded);
    layout = matmul_layout(e.call(), a.view, b.view);
    layout.k = padded, layout.products = Dim(padded);
  }
  const int64_t a_mode = subgroup_matrix::mode_of(wide_a(layout, per), dtype);
  const int64_t b_mode = subgroup_matrix::mode_of(wide_b(layout, per), dtype);
  const int64_t tiles = layout.batches * ceil_div(layout.m, e.parameter("subs_m") * each_m * e.parameter("frag_m")) *
                        ceil_div(layout.n, e.parameter("subs_n") * each_n * e.parameter("frag_n"));
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(file);
  layout.give_to(dispatch);
  dispatch.flag("F16", dtype == DType::f16)
      .flag("SIZED", e.target().subgroup_size_control)
      .number("kFragM", e.parameter("frag_m"))
      .number("kFragN", e.parameter("frag_n"))
      .number("kFragK", e.parameter("frag_k"))
      .number("kSubsM", e.parameter("subs_m"))
      .number("kSubsN", e.parameter("subs_n"))
      .number("kEachM", each_m)
      .number("kEachN", each_n)
      .number("kTileK", e.parameter("tile_k"))
      .number("kSubgroup", e.parameter("subgroup"))
      .number("kPer", per)
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
      .slot("puts", subgroup_matrix::write_puts, {each_m, each_n})
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}
constexpr void matmul_subgroup_matrix_emit(Emit& e) { emit_subgroup_matrix(e, kMatmulSubgroupMatrixFile); }

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_SUBGROUP_MATRIX_H_

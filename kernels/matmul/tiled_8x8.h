// The variant "tiled_8x8" of matmul: blocks of 8 x 8 in registers, fed from workgroup memory. For real GPUs.
#ifndef KERNELS_MATMUL_TILED_8X8_H_
#define KERNELS_MATMUL_TILED_8X8_H_

#include "kernels/matmul/layout.h"
#include "kernels/matmul/wide.h"
#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/lower.h"

namespace rlxgpu {

inline constexpr KernelFile kMatmulTiled8x8File(
#include "kernels/matmul/tiled_8x8.wgsl"
);

namespace tiled_8x8 {

// Four elements of one vector, ...
inline constexpr char kWideF32[] = "alias @Words = vec4f;\nfn $_load(i : u32) -> vec4f { return $[i / 4u]; }";
inline constexpr char kWideF16[] =
    "alias @Words = vec2u;\nfn $_load(i : u32) -> vec4f {\n  let words = $[i / 4u];\n"
    "  return vec4f(unpack2x16float(words.x), unpack2x16float(words.y));\n}";
inline constexpr char kWideBf16[] =
    "alias @Words = vec2u;\nfn $_load(i : u32) -> vec4f {\n  let words = $[i / 4u].xxyy;\n"
    "  return bitcast<vec4f>(select(words << vec4u(16u), words & vec4u(0xffff0000u), vec4(false, true, false, "
    "true)));\n}";
inline constexpr char kWideSome[] =
    "fn $_some(i : u32, count : u32) -> vec4f {\n"
    "  if (count == 0u) { return vec4f(); }\n"
    "  return $_load(i);\n}";

// ... and four that are k@Step apart.
inline constexpr char kF32[] = "alias @Words = f32;\nfn $_one(i : u32) -> f32 { return $[i]; }";
inline constexpr char kF16[] =
    "alias @Words = u32;\nfn $_one(i : u32) -> f32 { return unpack2x16float($[i >> 1u])[i & 1u]; }";
inline constexpr char kBf16[] =
    "alias @Words = u32;\nfn $_one(i : u32) -> f32 {\n"
    "  let word = $[i >> 1u];\n"
    "  return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (i & 1u) == 1u));\n}";
inline constexpr char kSome[] =
    "fn $_load(i : u32) -> vec4f {\n"
    "  return vec4f($_one(i), $_one(i + k@Step), $_one(i + 2u * k@Step), $_one(i + 3u * k@Step));\n}\n"
    "fn $_some(i : u32, count : u32) -> vec4f {\n"
    "  var v : vec4f;\n"
    "  if (count > 0u) { v.x = $_one(i); }\n"
    "  if (count > 1u) { v.y = $_one(i + k@Step); }\n"
    "  if (count > 2u) { v.z = $_one(i + 2u * k@Step); }\n"
    "  if (count > 3u) { v.w = $_one(i + 3u * k@Step); }\n"
    "  return v;\n}";

template <char kName, const auto& kPattern>
inline constexpr OperandText<sizeof(kPattern)> kText{kPattern, kName};

template <char kName>
constexpr std::string_view load_text(DType dtype, bool wide) {
  if (dtype == DType::f16) return wide ? kText<kName, kWideF16>.view() : kText<kName, kF16>.view();
  if (dtype == DType::bf16) return wide ? kText<kName, kWideBf16>.view() : kText<kName, kBf16>.view();
  return wide ? kText<kName, kWideF32>.view() : kText<kName, kF32>.view();
}
template <char kName>
constexpr std::string_view some_text(bool wide) {
  return wide ? kText<kName, kWideSome>.view() : kText<kName, kSome>.view();
}

// kAMode, kBMode of the kernel file.
constexpr int64_t mode_of(Wide wide, int64_t along_k) {
  return wide == Wide::across_k ? 0 : wide == Wide::along_k || along_k == 1 ? 1 : 2;
}

}  // namespace tiled_8x8

constexpr bool matmul_tiled_8x8_accepts(const Call& call, const Target& target) {
  return is_float(call.result().dtype) && call.operand_views[0] != nullptr && call.operand_views[1] != nullptr &&
         target.max_invocations >= 256 && target.max_workgroup_bytes >= 16384;
}

// A GPU, and a block or more in either direction.
constexpr bool matmul_tiled_8x8_prefers(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::discrete && target.adapter_class != AdapterClass::integrated) return false;
  const Shape& y = call.result().shape;
  return matmul_tiled_8x8_accepts(call, target) && y.rank() >= 2 && y[y.rank() - 1] >= 48 && y[y.rank() - 2] >= 48;
}

constexpr void matmul_tiled_8x8_emit(Emit& e) {
  const MatmulLayout layout = matmul_layout(e.call(), e.view(0), e.view(1));
  const Wide wide_of_a = wide_a(layout, 4), wide_of_b = wide_b(layout, 4);
  const auto tiles_of = [&](int64_t size) {
    return layout.batches * ceil_div(layout.m, size) * ceil_div(layout.n, size);
  };
  const int64_t lanes = tiles_of(128) >= 64 ? 16 : 8;  // few large blocks would leave units idle
  const int64_t tiles = tiles_of(8 * lanes);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kMatmulTiled8x8File);
  layout.give_to(dispatch);
  dispatch.number("kAMode", tiled_8x8::mode_of(wide_of_a, layout.a_col))
      .number("kBMode", tiled_8x8::mode_of(wide_of_b, layout.b_row))
      .number("kLanesM", lanes)
      .number("kLanesN", lanes)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .raw("a", e.operand(0))
      .raw("b", e.operand(1))
      .slot("a_load", tiled_8x8::load_text<'a'>(e.call().operand(0).dtype, wide_of_a != Wide::none))
      .slot("a_some", tiled_8x8::some_text<'a'>(wide_of_a != Wide::none))
      .slot("b_load", tiled_8x8::load_text<'b'>(e.call().operand(1).dtype, wide_of_b != Wide::none))
      .slot("b_some", tiled_8x8::some_text<'b'>(wide_of_b != Wide::none))
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

}  // namespace rlxgpu

#endif  // KERNELS_MATMUL_TILED_8X8_H_

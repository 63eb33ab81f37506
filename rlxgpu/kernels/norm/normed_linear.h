// normed_linear(x, w): act(norm(x) w + bias), or gated, in one dispatch: what a transformer does where its layers
// begin.
//
//   NormedLinear up = normed_linear(x, w1, {.norm = {.weight = g, .bias = s}, .activation = Activation::gelu});
//   Tensor gated = normed_linear(x, w_gate, {.up = w_up, .activation = Activation::silu}).y;
//
// x: (..., k)   w, up: (k, n)   y: (..., n); `normal` is norm(x), as layer_norm or rms_norm gives it, stored on the way
// if .keep. With `up`: act(norm(x) w + bias) (norm(x) up). Every workgroup finds the mean and variance of its rows
// again, so that no dispatch has to do it before. For decoding, where a dispatch costs more than that, and for GPUs
// that a small product does not fill. On CPUs many rows are better left to layer_norm and matmul, whose kernels reuse
// more of what they load (lavapipe, a BERT-base layer of 128 tokens: 383 ms with it, 48 without).
#ifndef RLXGPU_KERNELS_NORM_NORMED_LINEAR_H_
#define RLXGPU_KERNELS_NORM_NORMED_LINEAR_H_

#include <string_view>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/activation_slot.h"
#include "rlxgpu/kernels/norm/normed_linear_reference.h"

namespace rlxgpu::core {

inline constexpr KernelFile kNormedLinearFile(
#include "rlxgpu/kernels/norm/normed_linear.wgsl"
);
inline constexpr KernelFile kNormedLinearFewFile(
#include "rlxgpu/kernels/norm/normed_linear_few.wgsl"
);
inline constexpr KernelFile kNormedLinearTiledFile(
#include "rlxgpu/kernels/norm/normed_linear_tiled.wgsl"
);

constexpr void normed_linear_infer(Infer& infer) {
  const NormedLinearAttrs attrs(infer.call().attrs);
  const Shape &x = infer.shape(0), &w = infer.shape(1);
  for (int k = 0; k < infer.count(); ++k) {
    if (!is_float(infer.dtype(k))) return infer.fail("needs floats, not ", name_of(infer.dtype(k)));
  }
  if (x.rank() < 1 || w.rank() != 2) return infer.fail("needs rows and a matrix");
  const Dim width = x.dim(x.rank() - 1);
  if (!(width == w.dim(0)) || width.symbol >= 0) return infer.fail("rows of ", width.extent, " for a matrix of ", w[0]);
  if (width.extent == 0) return infer.fail("rows without elements");
  if (attrs.up >= 0 && !(infer.shape(attrs.up) == w)) return infer.fail("the two matrices differ");
  const Shape row = {width}, column = {w.dim(1)};
  for (const int operand : {attrs.scale, attrs.shift}) {
    if (operand >= 0 && !(infer.shape(operand) == row)) return infer.fail("weight and bias of the norm are of ", row);
  }
  if (attrs.bias >= 0 && !(infer.shape(attrs.bias) == column)) return infer.fail("the bias is of ", column);
  Shape y = x;
  y.set(x.rank() - 1, w.dim(1));
  infer.result(infer.dtype(0), y);
  if (attrs.keep) infer.result(infer.dtype(0), x);
}

namespace normed_linear_internal {

// Everything but how the work is shared; `width` is that of loads of the matrices, whose neighbours along n are
// contiguous if it is 4.
constexpr void give_operands(Dispatch& dispatch, const Emit& e, int width, bool tiled = false) {
  const NormedLinearAttrs attrs(e.call().attrs);
  const View w_view = e.view(1), u_view = attrs.up >= 0 ? e.view(attrs.up) : w_view;
  dispatch.number("kWK", static_cast<uint32_t>(w_view.strides[0]));
  dispatch.number("kUK", static_cast<uint32_t>(u_view.strides[0]));
  if (width == 1 || tiled) {
    dispatch.number("kWN", static_cast<uint32_t>(w_view.strides[1]));
    dispatch.number("kUN", static_cast<uint32_t>(u_view.strides[1]));
  }
  dispatch.boolean("kCentred", attrs.centred)
      .boolean("kGated", attrs.up >= 0)
      .boolean("kKept", attrs.keep)
      .real("kEpsilon", attrs.epsilon)
      .input("x", e.operand(0));
  if (tiled) dispatch.flag("WIDE", width == 4);
  dispatch.place("w_begin", Shape(), {w_view.offset, {}}).buffer("w", e.operand(1), width).flag("GATED", attrs.up >= 0);
  if (attrs.up >= 0) dispatch.place("u_begin", Shape(), {u_view.offset, {}}).buffer("u", e.operand(attrs.up), width);
  dispatch.flag("SCALE", attrs.scale >= 0);
  if (attrs.scale >= 0) dispatch.input("scale", e.operand(attrs.scale));
  dispatch.flag("SHIFT", attrs.shift >= 0);
  if (attrs.shift >= 0) dispatch.input("shift", e.operand(attrs.shift));
  dispatch.flag("BIAS", attrs.bias >= 0);
  if (attrs.bias >= 0) dispatch.input("bias", e.operand(attrs.bias));
  dispatch.output("y", e.result()).flag("KEPT", attrs.keep);
  if (attrs.keep) dispatch.output("normal", e.result(1));
  constexpr std::string_view kAsInFile;
  constexpr std::string_view kNoUp[] = {"fn up_of(k : u32, n : u32) -> f32 { return 0.0f; }",
                                        "fn up_of(k : u32, n : u32) -> vec4f { return vec4f(); }"};
  dispatch.slot("scale_of", attrs.scale >= 0 ? kAsInFile : "fn scale_of(k : u32) -> f32 { return 1.0f; }")
      .slot("shift_of", attrs.shift >= 0 ? kAsInFile : "fn shift_of(k : u32) -> f32 { return 0.0f; }")
      .slot("bias_of", attrs.bias >= 0 ? kAsInFile : "fn bias_of(n : u32) -> f32 { return 0.0f; }")
      .slot("up_of", attrs.up >= 0 ? kAsInFile : kNoUp[width == 4 || tiled])
      .slot("keep", attrs.keep ? kAsInFile : "fn keep(i : u32, v : f32) {}")
      .slot("act", act_text(attrs.activation));
  give_functions(dispatch, act_functions(attrs.activation));
}

struct Few {
  int64_t m = 0, n = 0, k = 0, quads = 8, slices = 1;

  constexpr explicit Few(const Call& call) {
    const Shape& w = call.operand(1).shape;
    k = w[0], n = w[1], m = k > 0 ? call.operand(0).shape.count() / k : 0;
  }
  constexpr Few(const Call& call, const Parameters& p) : Few(call) { quads = p["quads"], slices = p["slices"]; }
  constexpr Few(const Call& call, const Target& target) : Few(call) {
    if (target.adapter_class == AdapterClass::software) return;
    while (slices < 32 && slices * 16 < k) slices *= 2;
    while (slices > 1 && bytes() > target.max_workgroup_bytes) slices /= 2;
  }
  constexpr int64_t bytes() const {  // of workgroup memory
    return 16 * m * ceil_div(k, 4) + 16 * quads * slices + (slices > 1 ? 16 * quads * slices : 0);
  }
};

inline constexpr Parameter kFewParameters[] = {
    {"quads", 1, 64, kPowersOfTwo, "groups of four neighbouring columns of a workgroup"},
    {"slices", 1, 64, kPowersOfTwo, "invocations that share a column along k"},
};
constexpr void few_defaults(const Call& call, const Target& target, Parameters& p) {
  const Few few(call, target);
  p.fill("quads", few.quads);
  p.fill("slices", few.slices);
}
constexpr bool few_valid(const Call& call, const Target& target, const Parameters& p) {
  const int64_t size = p["quads"] * p["slices"];
  return size <= 256 && size <= target.max_invocations && Few(call, p).bytes() <= target.max_workgroup_bytes;
}

inline constexpr Parameter kRowsParameters[] = {
    {"rows_each", 1, 16, kPowersOfTwo, "rows of a workgroup"},
    {"lanes", 8, 256, kPowersOfTwo, "its columns, one for each invocation"},
};
constexpr void rows_defaults(const Call& call, const Target& target, Parameters& p) {
  const int64_t m = Few(call).m;
  const bool software = target.adapter_class == AdapterClass::software;
  p.fill("lanes", software ? 8 : 64);
  int64_t rows = 1;
  while (rows < (software ? 16 : 8) && rows < m) rows *= 2;
  p.fill("rows_each", rows);
}
constexpr bool rows_valid(const Call&, const Target& target, const Parameters& p) {
  return p["lanes"] <= target.max_invocations && p["rows_each"] * (p["lanes"] * 8 + 16) <= target.max_workgroup_bytes;
}

// Rows of whole vectors, one after another or apart.
constexpr bool in_fours(const View* view) {
  return view != nullptr && view->strides[1] == 1 && view->strides[0] % 4 == 0 && view->strides[0] >= 0 &&
         view->offset % 4 == 0;
}

}  // namespace normed_linear_internal

constexpr void normed_linear_rows_emit(Emit& e) {
  const Shape &x = e.call().operand(0).shape, &w = e.call().operand(1).shape;
  const int64_t k = w[0], n = w[1], m = x.count() / k;
  const int64_t lanes = e.parameter("lanes"), rows = e.parameter("rows_each");
  const int64_t tiles = ceil_div(m, rows) * ceil_div(n, lanes);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kNormedLinearFile);
  dispatch.number("kM", m)
      .number("kN", n)
      .number("kK", k)
      .number("kRowsEach", rows)
      .number("kLanes", lanes)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row);
  normed_linear_internal::give_operands(dispatch, e, 1);
  dispatch.grid(grid.row, grid.rows);
}

constexpr bool normed_linear_few_accepts(const Call& call, const Target& target) {
  const NormedLinearAttrs attrs(call.attrs);
  const normed_linear_internal::Few few(call, target);
  return few.m >= 1 && few.m <= 8 && few.n % 4 == 0 && few.n > 0 && few.bytes() <= target.max_workgroup_bytes &&
         normed_linear_internal::in_fours(call.operand_views[1]) &&
         (attrs.up < 0 || normed_linear_internal::in_fours(call.operand_views[static_cast<size_t>(attrs.up)]));
}

constexpr void normed_linear_few_emit(Emit& e) {
  const normed_linear_internal::Few few(e.call(), e.parameters());
  const int64_t tiles = ceil_div(few.n, 4 * few.quads);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  Dispatch dispatch = e.dispatch(kNormedLinearFewFile);
  dispatch.number("kM", few.m)
      .number("kN", few.n)
      .number("kK", few.k)
      .number("kQuads", few.quads)
      .number("kSlices", few.slices)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row);
  normed_linear_internal::give_operands(dispatch, e, 4);
  dispatch
      .slot("gather",
            few.slices > 1 ? std::string_view() : "fn gather(lane : u32, sum : vec4f) -> vec4f { return sum; }")
      .grid(grid.row, grid.rows);
}

constexpr void normed_linear_tiled_emit(Emit& e) {
  const NormedLinearAttrs attrs(e.call().attrs);
  const Shape& w = e.call().operand(1).shape;
  const int64_t k = w[0], n = w[1], m = e.call().operand(0).shape.count() / k;
  const int64_t tiles = ceil_div(m, 64) * ceil_div(n, 64);
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  const View w_view = e.view(1), u_view = attrs.up >= 0 ? e.view(attrs.up) : w_view;
  const bool wide =
      n % 4 == 0 && normed_linear_internal::in_fours(&w_view) && normed_linear_internal::in_fours(&u_view);
  Dispatch dispatch = e.dispatch(kNormedLinearTiledFile);
  dispatch.number("kM", m).number("kN", n).number("kK", k).number("kTiles", tiles).number("kGridRow", grid.row);
  normed_linear_internal::give_operands(dispatch, e, wide ? 4 : 1, true);
  constexpr std::string_view kNoTile =
      "fn stage_up(k : u32, quad : u32, v : vec4f) {}\n"
      "fn staged_up(k : u32, quad : u32) -> vec4f { return vec4f(); }";
  dispatch.slot("tile_u", attrs.up >= 0 ? std::string_view() : kNoTile).grid(grid.row, grid.rows);
}
constexpr bool normed_linear_tiled_accepts(const Call& call, const Target& target) {
  return target.max_invocations >= 256 && call.result().shape.count() > 0;
}
constexpr bool normed_linear_tiled_prefers(const Call& call, const Target& target) {
  return target.adapter_class != AdapterClass::software && normed_linear_tiled_accepts(call, target);
}

inline constexpr Variant kNormedLinearVariants[] = {
    {.name = "few",
     .accepts = normed_linear_few_accepts,
     .emit = normed_linear_few_emit,
     .parameters = {normed_linear_internal::kFewParameters, normed_linear_internal::few_defaults,
                    normed_linear_internal::few_valid}},
    {.name = "tiled",
     .accepts = normed_linear_tiled_accepts,
     .emit = normed_linear_tiled_emit,
     .prefers = normed_linear_tiled_prefers},
    {.name = "rows",
     .emit = normed_linear_rows_emit,
     .parameters = {normed_linear_internal::kRowsParameters, normed_linear_internal::rows_defaults,
                    normed_linear_internal::rows_valid}},
};

constexpr Cost normed_linear_cost(const Call& call) {
  const double matrices = NormedLinearAttrs(call.attrs).up >= 0 ? 2 : 1;
  const double products =
      static_cast<double>(call.result().shape.count()) * static_cast<double>(call.operand(1).shape[0]);
  return {2 * matrices * products + 7.0 * static_cast<double>(call.operand(0).shape.count()), 0};
}

inline constexpr OpDef kNormedLinear{
    .name = "normed_linear",
    .infer = normed_linear_infer,
    .variants = kNormedLinearVariants,
    .absorbs_after = true,
    .cost = normed_linear_cost,
    .reference = normed_linear_reference,
    .accuracy = {8, 0x1p-22},  // of activations whose tails cancel (gelu), and what they are multiplied by
};

struct NormedLinearOptions {
  struct Norm {
    Tensor weight = {}, bias = {};
    float epsilon = 1e-5f;
    bool centred = true;  // layer_norm; false: rms_norm
  };
  Norm norm = {};
  Tensor up = {};    // the matrix that is not gated
  Tensor bias = {};  // of the product with w
  Activation activation = Activation::none;
  bool keep = false;  // the normalised rows are wanted, too
};

struct NormedLinear {
  Tensor y, normal;  // normal: only with .keep
};

constexpr NormedLinear normed_linear(Tensor x, Tensor w, NormedLinearOptions options = {},
                                     Site site = std::source_location::current()) {
  const NormedLinearOptions::Norm& norm = options.norm;
  const int64_t attrs[] = {norm.weight.given(),
                           norm.bias.given(),
                           options.up.given(),
                           options.bias.given(),
                           norm.centred,
                           options.keep,
                           static_cast<int64_t>(options.activation),
                           attr_of(norm.epsilon)};
  Tensor operands[6] = {x, w};
  size_t count = 2;
  for (const Tensor& optional : {norm.weight, norm.bias, options.up, options.bias}) {
    if (optional.given()) operands[count++] = optional;
  }
  Builder& builder = x.builder();
  const Tensor y(&builder, builder.append(kNormedLinear, {operands, count}, attrs, site));
  return {y, options.keep ? result_of(y, 1) : Tensor()};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::NormedLinear, core::NormedLinearOptions, core::normed_linear;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_NORM_NORMED_LINEAR_H_

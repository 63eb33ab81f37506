// layer_norm and rms_norm over the last axes, and the norms made of them: group_norm, instance_norm, batch_norm,
// layer_norm_2d, ada_layer_norm.
//
//   Tensor y = layer_norm(x + attended, gamma, beta);      // one dispatch: the sum joins it
//   Tensor z = rms_norm(y, gamma, {.epsilon = 1e-6f});
//   Tensor n = group_norm(image, 32, gamma, beta);         // image: (batch, channel, ...)
//   auto [normal, sum] = add_rms_norm(x, attended, gamma); // one dispatch gives both
//
// x: f32, f16 or bf16, computed in f32 in whatever type is stored. layer_norm: (x - mean) / sqrt(variance + epsilon),
// the variance over n, not n - 1. rms_norm: x / sqrt(mean of x^2 + epsilon). Then times weight plus bias, if given;
// Tensor() leaves one out. Mean and variance are mended after rounding, so that a large mean does not hide a small
// variance.
#ifndef RLXGPU_KERNELS_NORM_NORM_H_
#define RLXGPU_KERNELS_NORM_NORM_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/unary.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/norm/layout.h"
#include "rlxgpu/kernels/norm/reference.h"
#include "rlxgpu/kernels/reduce/lanes.h"
#include "rlxgpu/kernels/reduce/row_vectors.h"
#include "rlxgpu/wgsl/operand_text.h"

namespace rlxgpu::core {

inline constexpr KernelFile kNormRowsFile(
#include "rlxgpu/kernels/norm/rows.wgsl"
);
inline constexpr KernelFile kNormVectorsFile(
#include "rlxgpu/kernels/norm/vectors.wgsl"
);

constexpr void norm_infer(Infer& infer) {
  const NormAttrs norm(infer.call().attrs);
  const Shape& x = infer.shape(0);
  if (!is_float(infer.dtype(0))) return infer.fail("needs a float, not ", name_of(infer.dtype(0)));
  if (norm.first < 0 || norm.first >= norm.last || norm.last > x.rank()) {
    return infer.fail("there are no such axes to normalise in rank ", x.rank());
  }
  for (int axis = norm.first + 1; axis < norm.last; ++axis) {
    if (x.symbol(axis) >= 0) return infer.fail("of the normalised axes only the first may have a run-time extent");
  }
  for (int k = 1; k < infer.count(); ++k) {
    if (!is_float(infer.dtype(k))) return infer.fail("weight and bias are floats, not ", name_of(infer.dtype(k)));
    const Shape& shape = infer.shape(k);
    bool fits = shape.rank() == norm.last - norm.first;
    for (int i = 0; fits && i < shape.rank(); ++i) fits = shape[i] == x[norm.first + i];
    if (!fits) return infer.fail("weight and bias have the normalised axes' extents, not ", shape);
  }
  infer.result(infer.dtype(0), x);
  if (norm.keep) infer.result(infer.dtype(0), x);
}

// Normalised elements times weight plus bias, of a column or of a vector of four.
constexpr std::string_view affine_text(const NormAttrs& norm, bool vectors) {
  if (norm.has_weight && norm.has_bias) return {};  // as in the files
  if (norm.has_weight) {
    return vectors ? "fn affine(v : vec4f, c : u32) -> vec4f { return v * w_load4(c); }"
                   : "fn affine(v : f32, col : u32) -> f32 { return v * weight_at(col); }";
  }
  if (norm.has_bias) {
    return vectors ? "fn affine(v : vec4f, c : u32) -> vec4f { return v + b_load4(c); }"
                   : "fn affine(v : f32, col : u32) -> f32 { return v + bias_at(col); }";
  }
  return vectors ? "fn affine(v : vec4f, c : u32) -> vec4f { return v; }"
                 : "fn affine(v : f32, col : u32) -> f32 { return v; }";
}

constexpr RowsOf norm_rows(const Call& call) {
  const NormAttrs norm(call.attrs);
  const Shape& shape = call.operand(0).shape;
  const int64_t cols = shape.count(norm.first, norm.last), inner = shape.count(norm.last, shape.rank());
  return {shape.count() / (cols > 0 ? cols : 1), cols, inner};
}
constexpr void norm_rows_defaults(const Call& call, const Target& target, Parameters& p) {
  fill_lanes(norm_rows(call), target, p);
}

constexpr void norm_rows_emit(Emit& e) {
  const NormAttrs norm(e.call().attrs);
  const Shape& shape = e.call().operand(0).shape;
  const auto [rows, cols, inner] = norm_rows(e.call());
  const Lanes lanes = lanes_of({rows, cols, inner}, e);
  Dispatch dispatch = e.dispatch(kNormRowsFile);
  dispatch.number("kRows", rows)
      .number("kCols", cols)
      .number("kInner", inner)
      .number("kColInner", shape.count(norm.first + 1, norm.last))
      .boolean("kCentred", norm.centred)
      .real("kEpsilon", norm.epsilon);
  give_lanes(dispatch, lanes);
  dispatch.extent("steps", shape.dim(norm.first)).input("x", e.operand(0)).flag("WEIGHT", norm.has_weight);
  if (norm.has_weight) dispatch.input("weight", e.operand(1));
  dispatch.flag("BIAS", norm.has_bias);
  if (norm.has_bias) dispatch.input("bias", e.operand(1 + norm.has_weight));
  dispatch.output("y", e.result()).flag("KEPT", norm.keep);
  if (norm.keep) dispatch.output("sum", e.result(1));
  dispatch.slot("keep", norm.keep ? std::string_view() : std::string_view("fn keep(i : u32, v : f32) {}"))
      .slot("affine", affine_text(norm, false))
      .grid(lanes.grid.row, lanes.grid.rows, 1, norm.first > 0 && lanes.grid.rows == 1 ? shape.symbol(0) : -1);
}

// Rows of whole vectors, everything in memory without gaps.
constexpr bool norm_vectors_accepts(const Call& call, const Target&) {
  const NormAttrs norm(call.attrs);
  const Shape& shape = call.operand(0).shape;
  if (norm.keep || norm.last != shape.rank() || shape.count(norm.first, norm.last) % 4 != 0 ||
      shape.symbol(norm.first) >= 0)
    return false;
  for (int k = 0; k < call.operand_count; ++k) {
    const View* view = call.operand_views[static_cast<size_t>(k)];
    if (view == nullptr || !is_dense(*view, call.operand(k).shape)) return false;
  }
  return true;
}

constexpr RowVectors norm_row_vectors(const Call& call, const Target& target) {
  const RowsOf of = norm_rows(call);
  return row_vectors(of.rows, of.cols, target);
}
constexpr void norm_vectors_defaults(const Call& call, const Target& target, Parameters& p) {
  fill_row_vectors(norm_row_vectors(call, target), target, p);
}
constexpr bool norm_vectors_valid(const Call& call, const Target& target, const Parameters& p) {
  return row_vectors_valid(norm_row_vectors(call, target), target, p);
}

constexpr void norm_vectors_emit(Emit& e) {
  const NormAttrs norm(e.call().attrs);
  const Shape& shape = e.call().operand(0).shape;
  const RowVectors rows = row_vectors(norm_row_vectors(e.call(), e.target()), e);
  Dispatch dispatch = e.dispatch(kNormVectorsFile);
  rows.give_to(dispatch);
  dispatch.boolean("kCentred", norm.centred)
      .boolean("kHeld", rows.held)
      .real("kEpsilon", norm.epsilon)
      .slot("x_load4", load4_text<'x'>(e.call().operand(0).dtype))
      .raw("x", e.operand(0))
      .flag("WEIGHT", norm.has_weight);
  if (norm.has_weight) dispatch.slot("w_load4", load4_text<'w'>(e.call().operand(1).dtype)).raw("w", e.operand(1));
  dispatch.flag("BIAS", norm.has_bias);
  if (norm.has_bias) {
    const int bias = 1 + norm.has_weight;
    dispatch.slot("b_load4", load4_text<'b'>(e.call().operand(bias).dtype)).raw("b", e.operand(bias));
  }
  dispatch.output4("y", e.result())
      .slot("affine", affine_text(norm, true))
      .grid(rows.grid.row, rows.grid.rows, 1, norm.first > 0 && rows.grid.rows == 1 ? shape.symbol(0) : -1);
}

inline constexpr Variant kNormVariants[] = {
    {.name = "vectors",
     .accepts = norm_vectors_accepts,
     .emit = norm_vectors_emit,
     .parameters = {kRowVectorsParameters, norm_vectors_defaults, norm_vectors_valid}},
    {.name = "rows", .emit = norm_rows_emit, .parameters = {kLanesParameters, norm_rows_defaults, lanes_valid}}};

constexpr Cost norm_cost(const Call& call) {
  return {(NormAttrs(call.attrs).centred ? 7.0 : 4.0) * static_cast<double>(call.operand(0).shape.count()), 0};
}

constexpr OpDef norm_op(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = norm_infer;
  op.variants = kNormVariants;
  op.absorbs = 7;
  op.absorbs_after = true;
  op.cost = norm_cost;
  op.reference = norm_reference;
  return op;
}
inline constexpr OpDef kLayerNorm = norm_op("layer_norm");
inline constexpr OpDef kRmsNorm = norm_op("rms_norm");

struct NormOptions {
  int axes = 1;  // how many of the last axes are normalised together
  float epsilon = 1e-5f;
};

namespace internal {

// Axes [first, last) of x.
constexpr Tensor norm(const OpDef& op, Tensor x, Tensor weight, Tensor bias, int first, int last, float epsilon,
                      Site site, bool keep = false) {
  const int64_t attrs[] = {first, last, weight.given(), bias.given(), &op == &kLayerNorm, attr_of(epsilon), keep};
  if (weight.given() && bias.given()) return apply(op, {x, weight, bias}, attrs, site);
  if (weight.given() || bias.given()) return apply(op, {x, weight.given() ? weight : bias}, attrs, site);
  return apply(op, {x}, attrs, site);
}

// One number for each channel, beside x: (batch, channel, ...).
constexpr Tensor by_channel(Tensor x, Tensor numbers, Site site) {
  Shape shape = {Dim(-1)};
  for (int axis = 2; axis < x.shape().rank(); ++axis) shape.push_back(1);
  return reshape(numbers, shape, site);
}

constexpr Tensor scaled_by_channel(Tensor x, Tensor weight, Tensor bias, Site site) {
  if (weight.given()) x = x * Rhs(by_channel(x, weight, site), site);
  if (bias.given()) x = x + Rhs(by_channel(x, bias, site), site);
  return x;
}

}  // namespace internal

constexpr Tensor layer_norm(Tensor x, Tensor weight = {}, Tensor bias = {}, NormOptions options = {},
                            Site site = std::source_location::current()) {
  const int rank = x.shape().rank();
  return internal::norm(kLayerNorm, x, weight, bias, rank - options.axes, rank, options.epsilon, site);
}
constexpr Tensor rms_norm(Tensor x, Tensor weight = {}, NormOptions options = {},
                          Site site = std::source_location::current()) {
  const int rank = x.shape().rank();
  return internal::norm(kRmsNorm, x, weight, {}, rank - options.axes, rank, options.epsilon, site);
}
// The norm of a sum, and the sum, for what comes after: a residual connection.
struct NormedSum {
  Tensor normal, sum;
};
constexpr NormedSum add_layer_norm(Tensor x, Tensor residual, Tensor weight = {}, Tensor bias = {},
                                   NormOptions options = {}, Site site = std::source_location::current()) {
  const Tensor sum = x + Rhs(residual, site);
  const int rank = sum.shape().rank();
  const Tensor y =
      internal::norm(kLayerNorm, sum, weight, bias, rank - options.axes, rank, options.epsilon, site, true);
  return {y, result_of(y, 1)};
}
constexpr NormedSum add_rms_norm(Tensor x, Tensor residual, Tensor weight = {}, NormOptions options = {},
                                 Site site = std::source_location::current()) {
  const Tensor sum = x + Rhs(residual, site);
  const int rank = sum.shape().rank();
  const Tensor y = internal::norm(kRmsNorm, sum, weight, {}, rank - options.axes, rank, options.epsilon, site, true);
  return {y, result_of(y, 1)};
}
// Over the channels of each pixel. x: (batch, channel, ...), weight and bias: (channel).
constexpr Tensor layer_norm_2d(Tensor x, Tensor weight = {}, Tensor bias = {}, float epsilon = 1e-5f,
                               Site site = std::source_location::current()) {
  return internal::norm(kLayerNorm, x, weight, bias, 1, 2, epsilon, site);
}

// The channels of x (batch, channel, ...) in `groups` equal groups, each normalised with all its pixels; weight and
// bias: (channel).
constexpr Tensor group_norm(Tensor x, int64_t groups, Tensor weight = {}, Tensor bias = {}, float epsilon = 1e-5f,
                            Site site = std::source_location::current()) {
  const Shape shape = x.shape();
  if (x.valid() && (shape.rank() < 2 || groups < 1 || shape[1] % groups != 0)) {
    x.builder().fail(site, "group_norm(", shape, "): the channels, axis 1, are not ", groups, " equal groups");
    return {&x.builder(), -1};
  }
  const Dim batch = x.valid() ? shape.dim(0) : Dim(1);
  const Tensor rows = reshape(x, {batch, groups, x.valid() ? shape.count(1, shape.rank()) / groups : 1}, site);
  return internal::scaled_by_channel(reshape(layer_norm(rows, {}, {}, {.epsilon = epsilon}, site), shape, site), weight,
                                     bias, site);
}
// Each channel of each image by itself.
constexpr Tensor instance_norm(Tensor x, Tensor weight = {}, Tensor bias = {}, float epsilon = 1e-5f,
                               Site site = std::source_location::current()) {
  return group_norm(x, x.shape().rank() < 2 ? 1 : x.shape()[1], weight, bias, epsilon, site);
}

// With the mean and variance of each channel that training found: a map, which joins what is before or after it.
constexpr Tensor batch_norm(Tensor x, Tensor mean, Tensor variance, Tensor weight = {}, Tensor bias = {},
                            float epsilon = 1e-5f, Site site = std::source_location::current()) {
  const Tensor deviation = rsqrt(internal::by_channel(x, variance, site) + Rhs(epsilon, site), site);
  const Tensor centred = x - Rhs(internal::by_channel(x, mean, site), site);
  return internal::scaled_by_channel(centred * Rhs(deviation, site), weight, bias, site);
}

// layer_norm(x) * (1 + scale) + shift. scale and shift: (batch, width) for x of (batch, sequence, width), or of a shape
// that broadcasts.
constexpr Tensor ada_layer_norm(Tensor x, Tensor scale, Tensor shift, float epsilon = 1e-5f,
                                Site site = std::source_location::current()) {
  const auto beside = [&](Tensor t) {
    return t.shape().rank() == 2 && x.shape().rank() == 3 ? unsqueeze(t, {1}, site) : t;
  };
  const Tensor normal = layer_norm(x, {}, {}, {.epsilon = epsilon}, site);
  return normal * Rhs(beside(scale) + Rhs(1.0f, site), site) + Rhs(beside(shift), site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::NormOptions, core::NormedSum, core::ada_layer_norm, core::add_layer_norm, core::add_rms_norm,
    core::batch_norm, core::group_norm, core::instance_norm, core::layer_norm, core::layer_norm_2d, core::rms_norm;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_NORM_NORM_H_

// softmax(x, axis) and log_softmax(x, axis): exp(x) over its sum along one axis, and the logarithm of it.
//
//   Tensor p = softmax(scores * scale);   // the last axis; the product joins the kernel
//
// x: f32, f16 or bf16, computed in f32. A row that holds a NaN or +infinity, or nothing but -infinity,
// is NaN throughout, as in NumPy. (attention gives zeros for a row that is masked entirely.)
#ifndef RLXGPU_KERNELS_SOFTMAX_SOFTMAX_H_
#define RLXGPU_KERNELS_SOFTMAX_SOFTMAX_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/reduce/lanes.h"
#include "rlxgpu/kernels/reduce/row_vectors.h"
#include "rlxgpu/kernels/softmax/decay.h"
#include "rlxgpu/kernels/softmax/reference.h"
#include "rlxgpu/wgsl/operand_text.h"

namespace rlxgpu::core {

inline constexpr KernelFile kSoftmaxFile(
#include "rlxgpu/kernels/softmax/softmax.wgsl"
);

inline constexpr KernelFile kSoftmaxVectorsFile(
#include "rlxgpu/kernels/softmax/vectors.wgsl"
);

// Attributes: the axis.
constexpr void softmax_infer(Infer& infer) {
  const Shape& shape = infer.shape(0);
  if (!is_float(infer.dtype(0))) return infer.fail("needs a float, not ", name_of(infer.dtype(0)));
  if (normalise_axis(infer.attr(0), shape.rank()) < 0) {
    return infer.fail("axis ", infer.attr(0), " does not exist in rank ", shape.rank());
  }
  infer.result(infer.dtype(0), shape);
}

constexpr RowsOf softmax_rows(const Call& call) {
  const Shape& shape = call.operand(0).shape;
  const int axis = normalise_axis(call.attr(0), shape.rank());
  const int64_t inner = shape.count(axis + 1, shape.rank());
  return {shape.count(0, axis) * inner, shape[axis], inner};
}
constexpr void softmax_rows_defaults(const Call& call, const Target& target, Parameters& p) {
  fill_lanes(softmax_rows(call), target, p);
}

constexpr void softmax_emit(Emit& e, std::string_view normalised) {
  const Shape& shape = e.call().operand(0).shape;
  const int axis = normalise_axis(e.attr(0), shape.rank());
  const auto [rows, cols, inner] = softmax_rows(e.call());
  const Lanes lanes = lanes_of({rows, cols, inner}, e);
  const int row_symbol = axis > 0 && lanes.grid.rows == 1 ? shape.symbol(0) : -1;
  Dispatch dispatch = e.dispatch(kSoftmaxFile);
  give_lanes(dispatch, lanes);
  dispatch.number("kRows", rows)
      .number("kCols", shape[axis])
      .number("kInner", inner)
      .extent("cols", shape.dim(axis))
      .input("x", e.operand(0))
      .output("y", e.result())
      .slot("normalised", normalised)
      .slot("decay", kDecayText)
      .grid(lanes.grid.row, lanes.grid.rows, 1, row_symbol);
}

constexpr void softmax_rows_emit(Emit& e) {
  softmax_emit(e, "fn normalised(v : f32, m : f32, s : f32) -> f32 { return decay(v - m) / s; }");
}
constexpr void log_softmax_rows_emit(Emit& e) {
  softmax_emit(e, "fn normalised(v : f32, m : f32, s : f32) -> f32 { return (v - m) - log(s); }");
}

// Rows that lie in memory without gaps, and fit into registers: 32 vectors on a CPU (Mesa unrolls no longer loops), 8
// elsewhere. On a CPU also rows that are no whole vectors (lavapipe, 2352 x 294: 0.8 ms, "rows" 2.3).
constexpr RowVectors softmax_vectors(const Call& call, const Target& target) {
  const Shape& shape = call.operand(0).shape;
  const int64_t cols = shape[shape.rank() - 1];
  return row_vectors(shape.count() / (cols > 0 ? cols : 1), ceil_div(cols, 4) * 4, target);
}
constexpr bool softmax_vectors_accepts(const Call& call, const Target& target) {
  const Shape& shape = call.operand(0).shape;
  const int last = shape.rank() - 1;
  const View* const view = call.operand_views[0];
  return normalise_axis(call.attr(0), shape.rank()) == last && shape.symbol(last) < 0 &&
         (shape[last] % 4 == 0 || (target.adapter_class == AdapterClass::software && shape[last] > 32)) &&
         view != nullptr && is_dense(*view, shape) && softmax_vectors(call, target).held;
}

constexpr void softmax_vectors_defaults(const Call& call, const Target& target, Parameters& p) {
  fill_row_vectors(softmax_vectors(call, target), target, p);
}
constexpr bool softmax_vectors_valid(const Call& call, const Target& target, const Parameters& p) {
  return p["held"] != 0 && row_vectors_valid(softmax_vectors(call, target), target, p);
}

constexpr void softmax_vectors_emit(Emit& e, bool log) {
  const Shape& shape = e.call().operand(0).shape;
  const RowVectors rows = row_vectors(softmax_vectors(e.call(), e.target()), e);
  Dispatch dispatch = e.dispatch(kSoftmaxVectorsFile);
  rows.give_to(dispatch);
  const int64_t cols = shape[shape.rank() - 1];
  const bool ragged = cols % 4 != 0;
  dispatch.number("kCols", cols)
      .boolean("kLog", log)
      .flag("SUBGROUP", rows.is_subgroup(e.target()))
      .flag("RAGGED", ragged)
      .slot("decay", kDecayText);
  if (ragged) {
    dispatch.buffer("x", e.operand(0), 1).output("y", e.result());
  } else {
    dispatch.slot("x_load4", load4_text<'x'>(e.call().operand(0).dtype))
        .raw("x", e.operand(0))
        .output4("y", e.result());
  }
  dispatch.grid(rows.grid.row, rows.grid.rows, 1, shape.rank() > 1 && rows.grid.rows == 1 ? shape.symbol(0) : -1);
}
constexpr void softmax_in_vectors_emit(Emit& e) { softmax_vectors_emit(e, false); }
constexpr void log_softmax_in_vectors_emit(Emit& e) { softmax_vectors_emit(e, true); }

inline constexpr ParameterRules kSoftmaxVectorsRules = {kRowVectorsParameters, softmax_vectors_defaults,
                                                        softmax_vectors_valid};
inline constexpr ParameterRules kSoftmaxRowsRules = {kLanesParameters, softmax_rows_defaults, lanes_valid};
inline constexpr Variant kSoftmaxVariants[] = {
    {"vectors", softmax_vectors_accepts, softmax_in_vectors_emit, nullptr, nullptr, kSoftmaxVectorsRules},
    {"rows", nullptr, softmax_rows_emit, nullptr, nullptr, kSoftmaxRowsRules}};
inline constexpr Variant kLogSoftmaxVariants[] = {
    {"vectors", softmax_vectors_accepts, log_softmax_in_vectors_emit, nullptr, nullptr, kSoftmaxVectorsRules},
    {"rows", nullptr, log_softmax_rows_emit, nullptr, nullptr, kSoftmaxRowsRules}};

// A difference, an exponential, a sum and a division for each element.
constexpr Cost softmax_cost(const Call& call) { return {4.0 * static_cast<double>(call.operand(0).shape.count()), 0}; }

inline constexpr OpDef kSoftmax{
    .name = "softmax",
    .infer = softmax_infer,
    .variants = kSoftmaxVariants,
    .absorbs = 1,
    .absorbs_after = true,
    .axis_attrs = 0,
    .cost = softmax_cost,
    .reference = softmax_reference,
};
inline constexpr OpDef kLogSoftmax{
    .name = "log_softmax",
    .infer = softmax_infer,
    .variants = kLogSoftmaxVariants,
    .absorbs = 1,
    .absorbs_after = true,
    .axis_attrs = 0,
    .cost = softmax_cost,
    .reference = log_softmax_reference,
    .accuracy = {8, 0x1p-22},  // of the logarithm of a sum near 1
};

constexpr Tensor softmax(Tensor x, int axis = -1, Site site = std::source_location::current()) {
  return apply(kSoftmax, {x}, {axis}, site);
}
constexpr Tensor log_softmax(Tensor x, int axis = -1, Site site = std::source_location::current()) {
  return apply(kLogSoftmax, {x}, {axis}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::log_softmax, core::softmax;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SOFTMAX_SOFTMAX_H_

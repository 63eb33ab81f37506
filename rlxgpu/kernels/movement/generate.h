// Tensors made from their own coordinates: tril, triu, one_hot, iota, range.
//
//   Tensor mask = triu(ones, 1);      Tensor positions = iota(g, i32, n);      // n may be a run-time extent
//   one_hot(labels, 10)               range(g, f32, 0.0, 1.0, 0.1)
#ifndef RLXGPU_KERNELS_MOVEMENT_GENERATE_H_
#define RLXGPU_KERNELS_MOVEMENT_GENERATE_H_

#include <cstdint>
#include <source_location>
#include <string_view>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

constexpr std::string_view zero_of(DType dtype) {
  switch (register_of(dtype)) {
    case Register::f32:
      return "0.0";
    case Register::i32:
      return "0";
    case Register::u32:
      return "0u";
    case Register::boolean:
      return "false";
    case Register::vec2f:
      return "vec2f(0.0)";
  }
  return "";
}

// attrs: the diagonal; 1 to keep what is above it, 0 to keep what is below.
constexpr void triangle_infer(Infer& infer) {
  if (infer.shape(0).rank() < 2) return infer.fail("takes matrices: two axes or more");
  infer.result(infer.dtype(0), infer.shape(0));
}

constexpr void triangle_at(At& at) {
  const int rank = at.shape().rank();
  const Name diagonal = at.let("i32(", at.coord(rank - 1), ") - i32(", at.coord(rank - 2), ')');
  at.result() << "select(" << zero_of(at.dtype()) << ", " << at.operand(0) << ", " << diagonal
              << (at.attr(1) != 0 ? " >= " : " <= ") << at.attr(0) << ')';
}

// attrs: the axis, the depth. Operands: indices, the value off, the value on.
constexpr void one_hot_infer(Infer& infer) {
  const Shape& indices = infer.shape(0);
  const int axis = normalise_axis(infer.attr(0), indices.rank() + 1);
  if (!is_index(infer.dtype(0))) return infer.fail("indices are i32 or u32, not ", name_of(infer.dtype(0)));
  if (axis < 0) return infer.fail("axis ", infer.attr(0), " does not exist in the result");
  if (infer.attr(1) < 0) return infer.fail("the depth is negative");
  if (infer.dtype(1) != infer.dtype(2)) return infer.fail("the two values have different dtypes");
  Shape to;
  for (int i = 0; i <= indices.rank(); ++i)
    to.push_back(i == axis ? Dim(infer.attr(1)) : indices.dim(i < axis ? i : i - 1));
  infer.result(infer.dtype(1), to);
}

constexpr void one_hot_at(At& at) {
  const int axis = normalise_axis(at.attr(0), at.shape().rank());
  Coords which;
  for (int i = 0; i < at.operand_shape(0).rank(); ++i) which[i] = at.coord(i < axis ? i : i + 1);
  const Name index = at.operand(0, which);
  const Name hot = at.operand_dtype(0) == u32
                       ? index
                       : at.let("select(", index, ", ", index, " + ", at.attr(1), ", ", index, " < 0)");
  at.result() << "select(" << at.operand(1, {}) << ", " << at.operand(2, {}) << ", bitcast<u32>(" << hot
              << ") == " << at.coord(axis) << ')';
}

// attrs: the extent and its symbol. Operands: the first number, the step.
constexpr void iota_infer(Infer& infer) {
  const DType dtype = infer.dtype(0);
  if (dtype == boolean || dtype == c64) return infer.fail("takes floats and integers");
  if (infer.attr(0) < 0) return infer.fail("the count is negative");
  infer.result(dtype, {Dim(infer.attr(0), static_cast<int>(infer.attr(1)))});
}

constexpr void iota_at(At& at) {
  const bool narrow = bytes_of(at.dtype()) == 1;
  if (narrow) at.result() << "extractBits(";
  at.result() << '(' << at.operand(0, {}) << " + " << wgsl_of(register_of(at.dtype())) << '(' << at.coord(0) << ") * "
              << at.operand(1, {}) << ')';
  if (narrow) at.result() << ", 0u, 8u)";
}

}  // namespace internal

inline constexpr OpDef kTriangle = {
    .name = "triangle",
    .infer = internal::triangle_infer,
    .at = internal::triangle_at,
    .reference = reference::triangle,
};
// The last two axes' elements on and below the diagonal; zero above. diagonal > 0 lies above the main one.
constexpr Tensor tril(Tensor x, int64_t diagonal = 0, Site site = std::source_location::current()) {
  return apply(kTriangle, {x}, {diagonal, 0}, site.as("tril"));
}
// Those on and above the diagonal.
constexpr Tensor triu(Tensor x, int64_t diagonal = 0, Site site = std::source_location::current()) {
  return apply(kTriangle, {x}, {diagonal, 1}, site.as("triu"));
}

inline constexpr OpDef kOneHot = {
    .name = "one_hot",
    .infer = internal::one_hot_infer,
    .at = internal::one_hot_at,
    .reads_elsewhere = true,
    .reference = reference::one_hot,
};
// A new axis of `depth` elements, `on` at the index (negative: from the end) and `off` elsewhere; all `off` when the
// index is outside.
constexpr Tensor one_hot(Tensor indices, int64_t depth, int64_t axis = -1, DType dtype = f32, double on = 1,
                         double off = 0, Site site = std::source_location::current()) {
  Builder& g = indices.builder();
  return apply(kOneHot, {indices, g.literal(off, dtype), g.literal(on, dtype)}, {axis, depth}, site);
}

inline constexpr OpDef kIota = {
    .name = "iota",
    .infer = internal::iota_infer,
    .at = internal::iota_at,
    .reads_elsewhere = true,
    .reference = reference::iota,
};
// start, start + step, start + 2 step, ...: `count` numbers. Integers wrap, so unsigned ones may count down, too.
constexpr Tensor iota(Builder& g, DType dtype, Dim count, double start = 0, double step = 1,
                      Site site = std::source_location::current()) {
  if (step < 0 && (dtype == u32 || dtype == u8)) step += dtype == u32 ? 4294967296.0 : 256.0;
  return apply(kIota, {g.literal(start, dtype), g.literal(step, dtype)}, {count.extent, count.symbol}, site);
}
// The numbers from start to before end.
constexpr Tensor range(Builder& g, DType dtype, double start, double end, double step = 1,
                       Site site = std::source_location::current()) {
  const double steps = step == 0 ? -1 : (end - start) / step;
  int64_t count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  if (steps > static_cast<double>(count)) ++count;
  if (step == 0) g.fail(site, "range: the step is 0");
  return iota(g, dtype, count, start, step, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::iota, core::one_hot, core::range, core::tril, core::triu;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_GENERATE_H_

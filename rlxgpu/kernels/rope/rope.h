// rope(x, positions): pairs of columns turned by an angle that grows with the position: rotary position embedding. A
// map: it joins the kernel before or after it (attention's queries, a cache's keys).
//
//   Tensor q = rope(heads, positions, {.sequence_first = true});             // heads: (batch, sequence, head, d)
//   Tensor k = rope(keys, iota(g, u32, n) + start, {.base = 500000.0f});     // keys: (batch, head, sequence, d);
//   run-time start
//
// x: (..., d), a float. positions: i32 or u32, of x's shape without the last axis, or broadcast to it. Pair i of n
// columns is turned by position base^(-2 i / n); it is columns i and i + n/2, or 2 i and 2 i + 1 if interleaved. Of d
// columns only the first n may be turned. rope_by takes angles of the caller's. Angles are exact to a few ulps of a
// turn at any position: turns are counted in 64 bits.
#ifndef RLXGPU_KERNELS_ROPE_ROPE_H_
#define RLXGPU_KERNELS_ROPE_ROPE_H_

#include <span>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/trigonometry.h"
#include "rlxgpu/kernels/movement/concat.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/slice.h"
#include "rlxgpu/kernels/rope/reference.h"
#include "rlxgpu/kernels/rope/table.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

// The angle of a position, in radians, from turns a step as a fraction of 64 bits.
inline constexpr char kRopeFunctions[] = R"wgsl(
fn rlx_rope_angle(position : u32, high : u32, low : u32, negative : bool) -> f32 {
  let turns = position * high + rlx_mul_high(position, low) - select(0u, low, negative);
  return f32(bitcast<i32>(turns)) * 1.4629180792671596e-9f;
}
)wgsl";

// Operands: x, positions, and the turns of each pair in two words.
constexpr void rope_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &positions = infer.shape(1);
  const int64_t columns = infer.attr(0);
  if (!is_float(infer.dtype(0))) return infer.fail("needs a float, not ", name_of(infer.dtype(0)));
  if (!is_index(infer.dtype(1))) return infer.fail("positions are i32 or u32, not ", name_of(infer.dtype(1)));
  if (x.rank() < 1 || columns < 0 || columns % 2 != 0 || columns > x[x.rank() - 1]) {
    return infer.fail(columns, " columns cannot be turned in pairs");
  }
  Shape rows, both;
  for (int axis = 0; axis + 1 < x.rank(); ++axis) rows.push_back(x.dim(axis));
  if (!broadcast(rows, positions, both) || !(both == rows)) return infer.fail("positions do not broadcast to ", rows);
  infer.result(infer.dtype(0), x);
}

constexpr void rope_at(At& at) {
  const int last = at.shape().rank() - 1;
  const int64_t columns = at.attr(0), half = columns / 2;
  const bool interleaved = at.attr(1) != 0, whole = columns == at.shape()[last];
  const Name col = at.coord(last);
  if (columns == 0) {
    at.result() << at.operand(0);
    return;
  }
  // Columns that are not turned take part with angle 0: their partner is any column.
  const Name pair = interleaved ? at.let("min(", col, " / 2u, ", half - 1, "u)") : at.let(col, " % ", half, 'u');
  const Name first = interleaved ? at.let(col, " % 2u == 0u") : at.let(col, " < ", half, 'u');
  const int64_t step = interleaved ? 1 : half;
  Coords partner = at.coords();
  partner[last] = whole ? at.let("select(", col, " - ", step, "u, ", col, " + ", step, "u, ", first, ')')
                        : at.let("min(select(", col, " - ", step, "u, ", col, " + ", step, "u, ", first, "), ",
                                 at.shape()[last] - 1, "u)");
  Coords where;
  const int shift = last - at.operand_shape(1).rank();
  for (int axis = 0; axis < at.operand_shape(1).rank(); ++axis) {
    where[axis] = at.operand_shape(1)[axis] == 1 ? kZero : at.coord(axis + shift);
  }
  Coords high, low;
  high[0] = low[0] = pair, high[1] = kZero, low[1] = Name("1u");
  const Name position = at.operand(1, where);
  const Name negative = at.operand_dtype(1) == i32 ? at.let(position, " < 0") : Name("false");
  const Name angle = at.let("rlx_rope_angle(bitcast<u32>(", position, "), ", at.operand(2, high), ", ",
                            at.operand(2, low), ", ", negative, ')');
  const Name x = at.operand(0), other = at.operand(0, partner);
  const Name turned =
      at.let(x, " * rlx_cos(", angle, ") + select(", other, ", -", other, ", ", first, ") * rlx_sin(", angle, ')');
  if (whole) {
    at.result() << turned;
  } else {
    at.result() << "select(" << x << ", " << turned << ", " << col << " < " << columns << "u)";
  }
}

inline constexpr OpDef kRope{
    .name = "rope",
    .infer = rope_infer,
    .at = rope_at,
    .reads_elsewhere = true,
    .wgsl = {kTrigonometricFunctions, kRopeFunctions},
    .reference = rope_reference,
};

struct RopeOptions {
  float base = 10000.0f;
  int64_t columns = 0;          // turned, of each head; 0: all
  bool interleaved = false;     // neighbours are a pair
  bool sequence_first = false;  // x is (..., sequence, head, d) and positions (..., sequence)
};

constexpr Tensor rope(Tensor x, Tensor positions, RopeOptions options = {},
                      Site site = std::source_location::current()) {
  const Shape& shape = x.shape();
  const int64_t columns = options.columns != 0 || shape.rank() == 0 ? options.columns : shape[shape.rank() - 1];
  if (options.base <= 0) {
    x.builder().fail(site, "rope(", shape, "): the base is not positive");
    return {&x.builder(), -1};
  }
  Vec<uint32_t> words;
  const int64_t turned = columns <= 65536 && x.builder().recording() ? columns : 0;
  for (int64_t pair = 0; 2 * pair + 1 < turned; ++pair) {
    const rope_internal::Turns turns(static_cast<double>(options.base), pair, columns);
    words.push_back(turns.high), words.push_back(turns.low);
  }
  const auto pairs = static_cast<int64_t>(words.size() / 2);
  const Tensor table = x.builder().constant(u32, {pairs, 2}, {words.data(), words.size()}, site);
  if (options.sequence_first) positions = unsqueeze(positions, {-1}, site);
  return apply(kRope, {x, positions, table}, {columns, options.interleaved, attr_of(options.base)}, site);
}

// The same with angles of the caller's, in radians a position, one for each pair: scaled frequencies, as models for
// long texts have them. Of the columns twice as many are turned as there are angles; options.base means nothing.
constexpr Tensor rope_by(Tensor x, Tensor positions, std::span<const double> radians, RopeOptions options = {},
                         Site site = std::source_location::current()) {
  Vec<uint32_t> words;
  for (const double angle : radians) {
    if (!(angle > -1e9 && angle < 1e9)) {
      x.builder().fail(site, "rope_by(", x.shape(), "): angles are less than 1e9 radians either way");
      return {&x.builder(), -1};
    }
    const rope_internal::Turns turns(angle);
    words.push_back(turns.high), words.push_back(turns.low);
  }
  const auto pairs = static_cast<int64_t>(radians.size());
  const Tensor table = x.builder().constant(u32, {pairs, 2}, {words.data(), words.size()}, site);
  if (options.sequence_first) positions = unsqueeze(positions, {-1}, site);
  return apply(kRope, {x, positions, table}, {2 * pairs, options.interleaved, attr_of(0.0f)}, site);
}

// For images: the first half of the columns turned by one coordinate, the second half by the other, each as by rope.
constexpr Tensor rope_2d(Tensor x, Tensor rows, Tensor cols, RopeOptions options = {},
                         Site site = std::source_location::current()) {
  const int last = x.shape().rank() - 1;
  if (x.valid() && (last < 0 || x.shape()[last] % 4 != 0 || options.columns != 0)) {
    x.builder().fail(site, "rope_2d(", x.shape(), "): takes all columns, a multiple of 4");
    return {&x.builder(), -1};
  }
  const Vec<Tensor> halves = chunk(x, 2, -1, site);
  return concat({rope(halves[0], rows, options, site), rope(halves[1], cols, options, site)}, -1, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::RopeOptions, core::rope, core::rope_2d, core::rope_by;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ROPE_ROPE_H_

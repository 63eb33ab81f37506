// What rope means.
#ifndef RLXGPU_KERNELS_ROPE_REFERENCE_H_
#define RLXGPU_KERNELS_ROPE_REFERENCE_H_

#include <cmath>
#include <numbers>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

// Radians of a pair, a position.
inline double rope_step(const reference::Call& call, int64_t pair) {
  const auto base = static_cast<double>(call.attr_float(2));
  const reference::Array& turns = call.operand(2);
  if (base == 0) return (turns[2 * pair] + turns[2 * pair + 1] * 0x1p-32) * 0x1p-32 * 2 * std::numbers::pi;
  return std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(call.attr(0)));
}

// attrs: rotated columns, interleaved, the base; a base of 0 means that the angles are those of the table.
inline void rope_reference(reference::Call& call) {
  const reference::Array &x = call.operand(0), &positions = call.operand(1);
  const int rank = x.shape.rank();
  const int64_t columns = call.attr(0), half = columns / 2;
  const bool interleaved = call.attr(1) != 0;
  for (int64_t i = 0; i < x.count(); ++i) {
    const reference::Index at = x.index_of(i);
    const int64_t col = at[rank - 1];
    if (col >= columns) {
      call.result()[i] = x[i];
      continue;
    }
    const int64_t pair = interleaved ? col / 2 : col % half;
    const bool first = interleaved ? col % 2 == 0 : col < half;
    const double other = x[i + (first ? 1 : -1) * (interleaved ? 1 : half)];
    const double position = positions[positions.broadcast_offset(at, rank - 1)];
    const double turned = position * rope_step(call, pair);
    call.result()[i] = x[i] * std::cos(turned) + (first ? -other : other) * std::sin(turned);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ROPE_REFERENCE_H_

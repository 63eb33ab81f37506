// StateSpaceSizes: the sizes of one use of selective_scan, mamba2 or gated_delta_net.
#ifndef RLXGPU_KERNELS_STATE_SPACE_LAYOUT_H_
#define RLXGPU_KERNELS_STATE_SPACE_LAYOUT_H_

#include <cstdint>
#include <span>

#include "rlxgpu/graph/shape.h"

namespace rlxgpu::core {

enum class StateSpace : uint8_t { selective, mamba2, delta };  // attribute 0

// Operands: x (values of a delta net), steps, rates (its betas), b (its keys), c (its queries), and perhaps a state of
// (batch, head, column, n). selective_scan has one head, of all channels.
struct StateSpaceSizes {
  int64_t batches = 0, heads = 1, width = 0, groups = 1, n = 0;
  Dim time;

  constexpr StateSpaceSizes(StateSpace kind, const Shape& x, const Shape& b) {
    const bool one = kind == StateSpace::selective;
    batches = x[0], time = x.dim(1), width = x[x.rank() - 1], n = b[b.rank() - 1];
    if (!one) heads = x[2], groups = b[2];
  }
  constexpr int64_t states() const { return batches * heads * width * n; }

  static constexpr StateSpace kind_of(std::span<const int64_t> attrs) { return static_cast<StateSpace>(attrs[0]); }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_STATE_SPACE_LAYOUT_H_

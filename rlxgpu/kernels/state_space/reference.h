// What selective_scan, mamba2 and gated_delta_net mean.
#ifndef RLXGPU_KERNELS_STATE_SPACE_REFERENCE_H_
#define RLXGPU_KERNELS_STATE_SPACE_REFERENCE_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "rlxgpu/kernels/state_space/layout.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void state_space_reference(reference::Call& call) {
  const reference::Array &x = call.operand(0), &step = call.operand(1), &other = call.operand(2), &b = call.operand(3),
                         &c = call.operand(4);
  const StateSpace kind = StateSpaceSizes::kind_of(call.attrs);
  const StateSpaceSizes sizes(kind, x.shape, b.shape);
  const bool keeps = call.operands.size() > 5, delta = kind == StateSpace::delta, own = kind == StateSpace::selective;
  reference::Array& y = call.result(keeps ? 1 : 0);
  std::vector<double> all(static_cast<size_t>(sizes.states()), 0.0);
  if (keeps) all = call.operand(5).data;
  for (int64_t column = 0; column < sizes.batches * sizes.heads * sizes.width; ++column) {
    const int64_t col = column % sizes.width, head = column / sizes.width % sizes.heads;
    const int64_t batch = column / sizes.width / sizes.heads, group = head / (sizes.heads / sizes.groups);
    double* const h = all.data() + column * sizes.n;
    for (int64_t t = 0; t < sizes.time.extent; ++t) {
      const int64_t row = batch * sizes.time.extent + t, place = row * sizes.heads + head;
      const int64_t b0 = (row * sizes.groups + group) * sizes.n;
      const double amount = step[own ? place * sizes.width + col : place];
      for (int64_t s = 0; s < sizes.n; ++s) {
        h[s] *= std::exp(delta ? amount : amount * other[own ? col * sizes.n + s : head]);
      }
      double v = x[place * sizes.width + col];
      if (delta) {
        for (int64_t s = 0; s < sizes.n; ++s) v -= h[s] * b[b0 + s];
        v *= other[place];
      } else {
        v *= amount;
      }
      double sum = 0;
      for (int64_t s = 0; s < sizes.n; ++s) {
        h[s] += b[b0 + s] * v;
        sum += h[s] * c[b0 + s];
      }
      y[place * sizes.width + col] = delta ? sum / std::sqrt(static_cast<double>(sizes.n)) : sum;
    }
  }
  if (keeps) call.result(0).data = all;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_STATE_SPACE_REFERENCE_H_

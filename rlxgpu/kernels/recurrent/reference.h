// What the steps of lstm, gru and rnn mean, given what the input adds to every gate.
#ifndef RLXGPU_KERNELS_RECURRENT_REFERENCE_H_
#define RLXGPU_KERNELS_RECURRENT_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rlxgpu/kernels/recurrent/attributes.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

inline double activated(const CellActivation& a, double v) {
  switch (a.kind) {
    case CellActivationKind::sigmoid:
      return 1 / (1 + std::exp(-v));
    case CellActivationKind::tanh:
      return std::tanh(v);
    case CellActivationKind::relu:
      return v < 0 ? 0 : v;
    case CellActivationKind::affine:
      return a.alpha * v + a.beta;
    case CellActivationKind::leaky_relu:
      return v < 0 ? a.alpha * v : v;
    case CellActivationKind::thresholded_relu:
      return v < a.alpha ? 0 : v;
    case CellActivationKind::scaled_tanh:
      return a.alpha * std::tanh(a.beta * v);
    case CellActivationKind::hard_sigmoid:
      return std::clamp(a.alpha * v + a.beta, 0.0, 1.0);
    case CellActivationKind::elu:
      return v < 0 ? a.alpha * std::expm1(v) : v;
    case CellActivationKind::softsign:
      return v / (1 + std::fabs(v));
    case CellActivationKind::softplus:
      return std::fmax(v, 0) + std::log1p(std::exp(-std::fabs(v)));
  }
  return 0;
}

inline void recurrent(Call& call) {
  const RecurrentAttributes a(call.attrs);
  const Array &x = call.operand(0), &r = call.operand(1);
  const auto optional = [&](int bit) { return (a.given & bit) != 0 ? &call.operand(a.operand(bit)) : nullptr; };
  const Array *initial = optional(kHasInitial), *lengths = optional(kHasLengths), *extra = optional(kHasExtra);
  Array &y = call.result(0), &last = call.result(1);
  const int64_t steps = x.shape[0], rows = x.shape[1], directions = r.shape[0], n = r.shape[1];
  const int64_t gates = r.shape[2] / n, plane = directions * rows * n;
  const auto clip = [&](double v) { return a.clip > 0 ? std::clamp<double>(v, -a.clip, a.clip) : v; };
  for (int64_t d = 0; d < directions; ++d) {
    for (int64_t row = 0; row < rows; ++row) {
      const auto size = static_cast<size_t>(n);
      std::vector<double> h(size), c(size);
      for (int64_t j = 0; initial != nullptr && j < n; ++j) {
        h[static_cast<size_t>(j)] = (*initial)[(d * rows + row) * n + j];
        if (a.kind == RecurrentKind::lstm) c[static_cast<size_t>(j)] = (*initial)[plane + (d * rows + row) * n + j];
      }
      const auto times = [&](const std::vector<double>& by, int64_t gate, int64_t unit) {
        double sum = 0;
        for (int64_t k = 0; k < n; ++k)
          sum += by[static_cast<size_t>(k)] * r[(d * n + k) * gates * n + gate * n + unit];
        return sum;
      };
      const int64_t length =
          lengths == nullptr ? steps : std::clamp<int64_t>(static_cast<int64_t>((*lengths)[row]), 0, steps);
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = (a.reverse >> d & 1) != 0 ? length - 1 - s : s;
        const auto given = [&](int64_t gate, int64_t unit) {
          return x[(t * rows + row) * directions * gates * n + (d * gates + gate) * n + unit];
        };
        const auto act = [&](int which, double v) { return activated(a.activation(static_cast<int>(d), which), v); };
        std::vector<double> next(size), reset(size);
        if (a.kind == RecurrentKind::gru && !a.linear_before_reset) {
          for (int64_t j = 0; j < n; ++j)
            reset[static_cast<size_t>(j)] = act(0, clip(given(1, j) + times(h, 1, j))) * h[static_cast<size_t>(j)];
        }
        for (int64_t j = 0; j < n; ++j) {
          const auto u = static_cast<size_t>(j);
          const auto peephole = [&](int64_t which) { return extra == nullptr ? 0 : (*extra)[(d * 3 + which) * n + j]; };
          if (a.kind == RecurrentKind::rnn) {
            next[u] = act(0, clip(given(0, j) + times(h, 0, j)));
          } else if (a.kind == RecurrentKind::gru) {
            const double z = act(0, clip(given(0, j) + times(h, 0, j)));
            const double r_gate = act(0, clip(given(1, j) + times(h, 1, j)));
            const double shift = extra == nullptr ? 0 : (*extra)[d * n + j];
            const double linear = a.linear_before_reset ? r_gate * (times(h, 2, j) + shift) : times(reset, 2, j);
            next[u] = (1 - z) * act(1, clip(given(2, j) + linear)) + z * h[u];
          } else {
            const double i = act(0, clip(given(0, j) + times(h, 0, j) + peephole(0) * c[u]));
            const double f = a.coupled ? 1 - i : act(0, clip(given(2, j) + times(h, 2, j) + peephole(2) * c[u]));
            const double cell = f * c[u] + i * act(1, clip(given(3, j) + times(h, 3, j)));
            const double o = act(0, clip(given(1, j) + times(h, 1, j) + peephole(1) * cell));
            c[u] = cell;
            next[u] = o * act(2, cell);
          }
        }
        h = next;
        for (int64_t j = 0; j < n; ++j) y[((t * directions + d) * rows + row) * n + j] = h[static_cast<size_t>(j)];
      }
      for (int64_t j = 0; j < n; ++j) {
        last[(d * rows + row) * n + j] = h[static_cast<size_t>(j)];
        if (a.kind == RecurrentKind::lstm) last[plane + (d * rows + row) * n + j] = c[static_cast<size_t>(j)];
      }
    }
  }
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_KERNELS_RECURRENT_REFERENCE_H_

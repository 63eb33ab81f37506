// CellActivation, and the attributes of the op behind lstm, gru and rnn.
#ifndef RLXGPU_KERNELS_RECURRENT_ATTRIBUTES_H_
#define RLXGPU_KERNELS_RECURRENT_ATTRIBUTES_H_

#include <cstdint>
#include <span>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

enum class CellActivationKind : int64_t {
  sigmoid,
  tanh,
  relu,
  affine,
  leaky_relu,
  thresholded_relu,
  scaled_tanh,
  hard_sigmoid,
  elu,
  softsign,
  softplus,
};
struct CellActivation {
  CellActivationKind kind = CellActivationKind::sigmoid;
  float alpha = 0, beta = 0;
  constexpr bool operator==(const CellActivation&) const = default;
};

enum class RecurrentKind : int64_t { lstm, gru, rnn };
constexpr int64_t gates_of(RecurrentKind kind) {
  return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
}

// Operands that may be left out, in their order.
inline constexpr int kHasInitial = 1, kHasLengths = 2, kHasExtra = 4;

struct RecurrentAttributes {
  RecurrentKind kind = RecurrentKind::lstm;
  int given = 0;
  int reverse = 0;  // bit d: direction d
  bool linear_before_reset = false, coupled = false;
  float clip = 0;
  CellActivation activations[6] = {};  // f, g, h of the first direction, then of the second

  constexpr RecurrentAttributes() = default;
  constexpr explicit RecurrentAttributes(std::span<const int64_t> attrs)
      : kind(static_cast<RecurrentKind>(attrs[0])),
        given(static_cast<int>(attrs[1])),
        reverse(static_cast<int>(attrs[2])),
        linear_before_reset(attrs[3] != 0),
        coupled(attrs[4] != 0),
        clip(float_of(attrs[5])) {
    for (size_t i = 0; i < 6; ++i)
      activations[i] = {static_cast<CellActivationKind>(attrs[6 + 3 * i]), float_of(attrs[7 + 3 * i]),
                        float_of(attrs[8 + 3 * i])};
  }
  constexpr Vec<int64_t> attrs() const {
    Vec<int64_t> all = {static_cast<int64_t>(kind), given, reverse, linear_before_reset, coupled, attr_of(clip)};
    for (const CellActivation& a : activations)
      all.push_back(static_cast<int64_t>(a.kind)), all.push_back(attr_of(a.alpha)), all.push_back(attr_of(a.beta));
    return all;
  }
  constexpr const CellActivation& activation(int direction, int which) const {
    return activations[direction * 3 + which];
  }
  // Where an optional operand is.
  constexpr int operand(int bit) const {
    int k = 2;
    for (int b = 1; b < bit; b *= 2) k += (given & b) != 0 ? 1 : 0;
    return k;
  }

 private:
  static constexpr float float_of(int64_t attr) { return std::bit_cast<float>(static_cast<uint32_t>(attr)); }
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::CellActivation, core::CellActivationKind;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_RECURRENT_ATTRIBUTES_H_

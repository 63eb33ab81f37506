// What draw means.
#ifndef RLXGPU_KERNELS_SAMPLE_REFERENCE_H_
#define RLXGPU_KERNELS_SAMPLE_REFERENCE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "rlxgpu/kernels/random/reference.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

struct DrawAttrs {
  float scale = 1, top_p = 1, min_p = 0;
  uint32_t stream = 0;

  constexpr explicit DrawAttrs(std::span<const int64_t> attrs)
      : scale(real(attrs[0])), top_p(real(attrs[1])), min_p(real(attrs[2])), stream(static_cast<uint32_t>(attrs[3])) {}

 private:
  static constexpr float real(int64_t attr) { return std::bit_cast<float>(static_cast<uint32_t>(attr)); }
};

inline void draw_reference(reference::Call& call) {
  const reference::Array &x = call.operand(0), &tokens = call.operand(1);
  const DrawAttrs attrs(call.attrs);
  const int64_t cols = x.shape[x.shape.rank() - 1];
  const TwoWords key = {static_cast<uint32_t>(call.operand(2)[0]), attrs.stream};
  for (int64_t row = 0; row < x.count() / cols; ++row) {
    const auto score = [&](int64_t col) { return x[row * cols + col] * static_cast<double>(attrs.scale); };
    double under = 0, before = 0, best = 0;
    for (int64_t col = 0; col < cols; ++col) under += std::exp(score(col) - score(0));
    int64_t chosen = -1;
    for (int64_t col = 0; col < cols; ++col) {
      const double p = std::exp(score(col) - score(0)) / under;
      const bool passes = (attrs.top_p >= 1 || before < attrs.top_p) && p >= attrs.min_p / under;
      before += p;
      if (!passes) continue;
      const auto token = static_cast<uint32_t>(static_cast<int64_t>(tokens[row * cols + col]));
      const uint32_t bits = threefry_2x32(key, {token, static_cast<uint32_t>(row)})[0];
      const double v = score(col) - std::log(-std::log(((bits >> 9) + 0.5) * 0x1p-23));
      if (chosen < 0 || v > best) chosen = col, best = v;
    }
    call.result()[row] = tokens[row * cols + (chosen < 0 ? cols - 1 : chosen)];
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SAMPLE_REFERENCE_H_

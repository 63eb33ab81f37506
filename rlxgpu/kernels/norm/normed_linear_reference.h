// What normed_linear means.
#ifndef RLXGPU_KERNELS_NORM_NORMED_LINEAR_REFERENCE_H_
#define RLXGPU_KERNELS_NORM_NORMED_LINEAR_REFERENCE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "rlxgpu/kernels/elementwise/activation_slot.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

// Operands: x, w, then the norm's scale and shift, up and bias, those that there are.
struct NormedLinearAttrs {
  int scale = -1, shift = -1, up = -1, bias = -1;  // operands; -1: none
  bool centred = true, keep = false;
  Activation activation = Activation::none;
  float epsilon = 0;

  constexpr explicit NormedLinearAttrs(std::span<const int64_t> attrs)
      : centred(attrs[4] != 0),
        keep(attrs[5] != 0),
        activation(static_cast<Activation>(attrs[6])),
        epsilon(std::bit_cast<float>(static_cast<uint32_t>(attrs[7]))) {
    int next = 2;
    if (attrs[0] != 0) scale = next++;
    if (attrs[1] != 0) shift = next++;
    if (attrs[2] != 0) up = next++;
    if (attrs[3] != 0) bias = next++;
  }
};

inline void normed_linear_reference(reference::Call& call) {
  const NormedLinearAttrs attrs(call.attrs);
  const reference::Array &x = call.operand(0), &w = call.operand(1);
  const int64_t k = w.shape[0], n = w.shape[1];
  for (int64_t row = 0; row < x.count() / k; ++row) {
    double mean = 0, square = 0;
    for (int64_t i = 0; attrs.centred && i < k; ++i) mean += x[row * k + i] / static_cast<double>(k);
    for (int64_t i = 0; i < k; ++i)
      square += (x[row * k + i] - mean) * (x[row * k + i] - mean) / static_cast<double>(k);
    std::vector<double> normal;
    for (int64_t i = 0; i < k; ++i) {
      normal.push_back((x[row * k + i] - mean) / std::sqrt(square + attrs.epsilon) *
                           (attrs.scale < 0 ? 1 : call.operand(attrs.scale)[i]) +
                       (attrs.shift < 0 ? 0 : call.operand(attrs.shift)[i]));
      if (attrs.keep) call.result(1)[row * k + i] = normal.back();
    }
    std::vector<double> sums(static_cast<size_t>(n)), ups(static_cast<size_t>(n));
    for (int64_t j = 0; j < n && attrs.bias >= 0; ++j) sums[static_cast<size_t>(j)] = call.operand(attrs.bias)[j];
    for (int64_t i = 0; i < k; ++i) {
      const double v = normal[static_cast<size_t>(i)];
      for (int64_t j = 0; j < n; ++j) sums[static_cast<size_t>(j)] += v * w[i * n + j];
      for (int64_t j = 0; j < n && attrs.up >= 0; ++j)
        ups[static_cast<size_t>(j)] += v * call.operand(attrs.up)[i * n + j];
    }
    for (int64_t j = 0; j < n; ++j) {
      const double sum = activated(attrs.activation, sums[static_cast<size_t>(j)]);
      call.result()[row * n + j] = attrs.up >= 0 ? sum * ups[static_cast<size_t>(j)] : sum;
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_NORM_NORMED_LINEAR_REFERENCE_H_

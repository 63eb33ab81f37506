// What layer_norm and rms_norm mean.
#ifndef RLXGPU_KERNELS_NORM_REFERENCE_H_
#define RLXGPU_KERNELS_NORM_REFERENCE_H_

#include <cmath>

#include "rlxgpu/kernels/norm/layout.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void norm_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const NormAttrs norm(call.attrs);
  const int64_t cols = x.shape.count(norm.first, norm.last), inner = x.shape.count(norm.last, x.shape.rank());
  const int weight = norm.has_weight ? 1 : -1, bias = norm.has_bias ? 1 + norm.has_weight : -1;
  const double n = static_cast<double>(cols);
  if (norm.keep) call.result(1).data = x.data;
  for (int64_t row = 0; cols > 0 && row < x.count() / cols; ++row) {
    const int64_t start = row / inner * cols * inner + row % inner;
    double mean = 0, square = 0;
    for (int64_t c = 0; norm.centred && c < cols; ++c) mean += x[start + c * inner] / n;
    for (int64_t c = 0; c < cols; ++c) square += (x[start + c * inner] - mean) * (x[start + c * inner] - mean) / n;
    for (int64_t c = 0; c < cols; ++c) {
      const double scale = weight < 0 ? 1 : call.operand(weight)[c], shift = bias < 0 ? 0 : call.operand(bias)[c];
      call.result()[start + c * inner] =
          (x[start + c * inner] - mean) / std::sqrt(square + norm.epsilon) * scale + shift;
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_NORM_REFERENCE_H_

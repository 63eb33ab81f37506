// What softmax and log_softmax mean.
#ifndef RLXGPU_KERNELS_SOFTMAX_REFERENCE_H_
#define RLXGPU_KERNELS_SOFTMAX_REFERENCE_H_

#include <cmath>
#include <limits>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void softmax_or_log(reference::Call& call, bool log) {
  const reference::Array& x = call.operand(0);
  const int axis = normalise_axis(call.attr(0), x.shape.rank());
  const int64_t cols = x.shape[axis], inner = x.shape.count(axis + 1, x.shape.rank());
  for (int64_t first = 0; first < x.count(); ++first) {
    if (x.index_of(first)[axis] != 0) continue;
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < cols; ++c)
      max = std::isnan(max) ? max : x[first + c * inner] <= max ? max : x[first + c * inner];
    for (int64_t c = 0; c < cols; ++c) sum += std::exp(x[first + c * inner] - max);
    for (int64_t c = 0; c < cols; ++c) {
      const double shifted = x[first + c * inner] - max;
      call.result()[first + c * inner] = log ? shifted - std::log(sum) : std::exp(shifted) / sum;
    }
  }
}

inline void softmax_reference(reference::Call& call) { softmax_or_log(call, false); }
inline void log_softmax_reference(reference::Call& call) { softmax_or_log(call, true); }

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SOFTMAX_REFERENCE_H_

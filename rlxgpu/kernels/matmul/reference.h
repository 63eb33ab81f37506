// What matmul means.
#ifndef RLXGPU_KERNELS_MATMUL_REFERENCE_H_
#define RLXGPU_KERNELS_MATMUL_REFERENCE_H_

#include <cstdint>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void matmul_reference(reference::Call& call) {
  const reference::Array& a = call.operand(0);
  const reference::Array& b = call.operand(1);
  reference::Array& y = call.result();
  const int ra = a.shape.rank(), rb = b.shape.rank();
  const int64_t m = ra > 1 ? a.shape[ra - 2] : 1, n = rb > 1 ? b.shape[rb - 1] : 1, k = a.shape[ra - 1];
  const int batch_axes = y.shape.rank() - (ra > 1) - (rb > 1);
  for (int64_t first = 0; first < y.count(); first += n) {  // a row of y
    const reference::Index at = y.index_of(first);
    int64_t batch_a = 0, batch_b = 0;
    for (int axis = 0; axis < batch_axes; ++axis) {
      const int in_a = axis + (ra - 2) - batch_axes, in_b = axis + (rb - 2) - batch_axes;
      if (in_a >= 0) batch_a = batch_a * a.shape[in_a] + (a.shape[in_a] == 1 ? 0 : at[axis]);
      if (in_b >= 0) batch_b = batch_b * b.shape[in_b] + (b.shape[in_b] == 1 ? 0 : at[axis]);
    }
    const int64_t row = batch_a * m + first / n % m;
    if (is_integer(y.dtype)) {
      for (int64_t col = 0; col < n; ++col) {
        uint64_t sum = 0;  // the low 32 bits are exact, however large the sum
        for (int64_t j = 0; j < k; ++j)
          sum += static_cast<uint64_t>(static_cast<int64_t>(a[row * k + j])) *
                 static_cast<uint64_t>(static_cast<int64_t>(b[(batch_b * k + j) * n + col]));
        y[first + col] = static_cast<double>(sum & 0xffffffffu);
      }
      continue;
    }
    double* const sums = y.data.data() + first;
    for (int64_t j = 0; j < k; ++j) {  // a whole row of b at a time: tests evaluate this for large networks
      const double left = a[row * k + j];
      const double* const right = b.data.data() + (batch_b * k + j) * n;
      for (int64_t col = 0; col < n; ++col) sums[col] += left * right[col];
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_REFERENCE_H_

// What running sums, products, maxima and minima mean.
#ifndef RLXGPU_KERNELS_SCAN_REFERENCE_H_
#define RLXGPU_KERNELS_SCAN_REFERENCE_H_

#include "rlxgpu/kernels/reduce/combine.h"
#include "rlxgpu/kernels/reduce/reference.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline double combined(Combine combine, double a, double b, DType dtype) {
  switch (combine) {
    case Combine::sum:
      return a + b;
    case Combine::prod:
      return product_of(a, b, dtype);
    case Combine::max:
      return max_of(a, b);
    case Combine::min:
      return min_of(a, b);
  }
  return 0;
}

inline double identity_of(Combine combine, DType dtype) {
  return combine == Combine::sum ? 0 : combine == Combine::prod ? 1 : limit_of(dtype, combine == Combine::max ? -1 : 1);
}

template <Combine kCombine>
inline void scan_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const int axis = normalise_axis(call.attr(0), x.shape.rank());
  const bool exclusive = call.attr(1) != 0, reverse = call.attr(2) != 0;
  const int64_t cols = x.shape[axis], inner = x.shape.count(axis + 1, x.shape.rank());
  for (int64_t first = 0; first < x.count(); ++first) {
    if (x.index_of(first)[axis] != 0) continue;
    double running = identity_of(kCombine, x.dtype);
    for (int64_t step = 0; step < cols; ++step) {
      const int64_t i = first + (reverse ? cols - 1 - step : step) * inner;
      const double before = running;
      running = combined(kCombine, running, x[i], x.dtype);
      call.result()[i] = exclusive ? before : running;
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SCAN_REFERENCE_H_

// What argsort means.
#ifndef RLXGPU_KERNELS_SORT_REFERENCE_H_
#define RLXGPU_KERNELS_SORT_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void argsort_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const int axis = normalise_axis(call.attr(0), x.shape.rank());
  const bool descending = call.attr(1) != 0;
  const int64_t cols = x.shape[axis], inner = x.shape.count(axis + 1, x.shape.rank());
  const int64_t keep = call.result().shape[axis];
  for (int64_t row = 0; row < x.shape.count(0, axis) * inner; ++row) {
    const int64_t start = row / inner * cols * inner + row % inner, to = row / inner * keep * inner + row % inner;
    std::vector<int64_t> order;
    for (int64_t c = 0; c < cols; ++c) order.push_back(c);
    // NaN is greater than every number, and equal to NaN.
    const auto less = [&](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return descending ? less(x[start + b * inner], x[start + a * inner]) : less(x[start + a * inner], x[start + b * inner]);
    });
    for (int64_t c = 0; c < keep; ++c) call.result()[to + c * inner] = static_cast<double>(order[static_cast<size_t>(c)]);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SORT_REFERENCE_H_

// What knn means.
#ifndef RLXGPU_KERNELS_KNN_REFERENCE_H_
#define RLXGPU_KERNELS_KNN_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

// Attributes: k, metric (0: squared Euclidean, 1: inner product, 2: cosine), self.
inline void knn_reference(reference::Call& call) {
  const reference::Array &a = call.operand(0), &b = call.operand(1);
  const int64_t d = a.shape[1], n = b.shape[0], k = call.attr(0), metric = call.attr(1);
  const bool self = call.attr(2) != 0;
  for (int64_t row = 0; row < a.shape[0]; ++row) {
    std::vector<double> distances;
    std::vector<int64_t> order;
    for (int64_t j = 0; j < n; ++j) {
      double squares = 0, product = 0, of_a = 0, of_b = 0;
      for (int64_t c = 0; c < d; ++c) {
        const double u = a[row * d + c], v = b[j * d + c];
        squares += (u - v) * (u - v), product += u * v, of_a += u * u, of_b += v * v;
      }
      const double lengths = std::sqrt(of_a) * std::sqrt(of_b);
      distances.push_back(metric == 0 ? squares : metric == 1 ? -product : lengths > 0 ? 1 - product / lengths : 1);
      if (!self || j != row) order.push_back(j);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      const double x = distances[static_cast<size_t>(i)], y = distances[static_cast<size_t>(j)];
      return std::isnan(y) ? !std::isnan(x) : x < y;  // NaN is greater than every number
    });
    for (int64_t i = 0; i < k; ++i) {
      const int64_t j = order[static_cast<size_t>(i)];
      call.result(0)[row * k + i] = static_cast<double>(j);
      call.result(1)[row * k + i] = (metric == 1 ? -1 : 1) * distances[static_cast<size_t>(j)];
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_KNN_REFERENCE_H_

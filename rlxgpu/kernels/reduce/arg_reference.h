// What argmax and argmin mean.
#ifndef RLXGPU_KERNELS_REDUCE_ARG_REFERENCE_H_
#define RLXGPU_KERNELS_REDUCE_ARG_REFERENCE_H_

#include <cmath>

#include "rlxgpu/kernels/reduce/reference.h"

namespace rlxgpu::core {

template <bool kLeast>
inline void arg_reference(reference::Call& call) {
  const auto rows = rows_of(call.operand(0), call.attrs.subspan(1));
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::vector<double>& row = rows[r];
    size_t best = 0;
    for (size_t i = 1; i < row.size() && !std::isnan(row[best]); ++i) {
      if (std::isnan(row[i]) || (kLeast ? row[i] < row[best] : row[i] > row[best])) best = i;
    }
    call.result()[static_cast<int64_t>(r)] = static_cast<double>(best);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_ARG_REFERENCE_H_

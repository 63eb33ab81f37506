// Axes: some axes of a tensor, as an argument. -1 is the last; none given means all of them.
//
//   sum(x)   sum(x, -1)   sum(x, {0, 2}, {.keep_dims = true})
#ifndef RLXGPU_KERNELS_REDUCE_AXES_H_
#define RLXGPU_KERNELS_REDUCE_AXES_H_

#include <cstdint>
#include <initializer_list>

#include "rlxgpu/graph/shape.h"

namespace rlxgpu::core {

struct Axes {
  int64_t axis[kMaxRank] = {};
  int count = 0;

  constexpr Axes() = default;
  constexpr Axes(int only) : axis{only}, count(1) {}  // implicit: one axis reads as a number
  constexpr Axes(std::initializer_list<int> axes) {
    for (const int a : axes) {
      if (count < kMaxRank) axis[count] = a;
      ++count;
    }
  }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_AXES_H_

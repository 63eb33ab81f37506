// What a pool does with the elements under its window, as attributes of the op.
#ifndef RLXGPU_KERNELS_POOL_KIND_H_
#define RLXGPU_KERNELS_POOL_KIND_H_

#include <bit>
#include <cstdint>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/conv/window.h"

namespace rlxgpu::core {

enum class PoolKind : int64_t { max, mean, mean_square, lp };

struct PoolAttrs {
  PoolKind kind = PoolKind::max;
  float p = 2;
  bool ceil = false, count_pads = false, columns = false;
  SlidingWindow window = {};

  constexpr void append_to(Vec<int64_t>& attrs) const {
    for (const int64_t number :
         {static_cast<int64_t>(kind), attr_of(p), int64_t{ceil}, int64_t{count_pads}, int64_t{columns}})
      attrs.push_back(number);
    window.append_to(attrs);
  }
  static constexpr PoolAttrs from(std::span<const int64_t> attrs) {
    return {static_cast<PoolKind>(attrs[0]),
            std::bit_cast<float>(static_cast<uint32_t>(attrs[1])),
            attrs[2] != 0,
            attrs[3] != 0,
            attrs[4] != 0,
            SlidingWindow::from(attrs.subspan(5))};
  }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_POOL_KIND_H_

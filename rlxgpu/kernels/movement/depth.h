// depth_to_space and space_to_depth: channels become pixels and back. (batch, channel, row, col), blocks of b x b
// pixels.
//
//   depth_to_space(x, 2)      // (n, 4 c, h, w) to (n, c, 2 h, 2 w)
//
// DCR: a pixel's place in its block is the slow part of the channel number; CRD: the fast part (pixel shuffle).
// Both are a reshape, a transpose and a reshape, and cost one copy or none.
#ifndef RLXGPU_KERNELS_MOVEMENT_DEPTH_H_
#define RLXGPU_KERNELS_MOVEMENT_DEPTH_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/transpose.h"

namespace rlxgpu::core {

enum class DepthOrder { DCR, CRD };

constexpr Tensor depth_to_space(Tensor x, int64_t block, DepthOrder order = DepthOrder::DCR,
                                Site site = std::source_location::current()) {
  const Shape s = x.shape();
  if (s.rank() != 4 || block < 1 || block > 32768 || s[1] % (block * block) != 0) {
    x.builder().fail(site, "depth_to_space(", s, "): needs four axes, and channels that are a multiple of ", block,
                     " x ", block);
    return {&x.builder(), -1};
  }
  const int64_t c = s[1] / (block * block);
  const Shape apart = order == DepthOrder::DCR ? Shape{s.dim(0), block, block, c, s.dim(2), s.dim(3)}
                                               : Shape{s.dim(0), c, block, block, s.dim(2), s.dim(3)};
  const IntList moved = order == DepthOrder::DCR ? IntList{0, 3, 4, 1, 5, 2} : IntList{0, 1, 4, 2, 5, 3};
  return reshape(transpose(reshape(x, apart, site), moved, site), {s.dim(0), c, s[2] * block, s[3] * block}, site);
}

constexpr Tensor space_to_depth(Tensor x, int64_t block, DepthOrder order = DepthOrder::DCR,
                                Site site = std::source_location::current()) {
  const Shape s = x.shape();
  if (s.rank() != 4 || block < 1 || block > 32768 || s[2] % block != 0 || s[3] % block != 0) {
    x.builder().fail(site, "space_to_depth(", s, "): needs four axes, the last two multiples of ", block);
    return {&x.builder(), -1};
  }
  const int64_t h = s[2] / block, w = s[3] / block;
  const Tensor apart = reshape(x, {s.dim(0), s.dim(1), h, block, w, block}, site);  // (n, c, row, i, col, j)
  const IntList moved = order == DepthOrder::DCR ? IntList{0, 3, 5, 1, 2, 4} : IntList{0, 1, 3, 5, 2, 4};
  return reshape(transpose(apart, moved, site), {s.dim(0), s[1] * block * block, h, w}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::DepthOrder, core::depth_to_space, core::space_to_depth;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_DEPTH_H_

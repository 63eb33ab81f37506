// bincount(x, bins): how often each of the numbers 0, 1, ... bins - 1 is among the integers of x, as i32.
//
//   Tensor histogram = bincount(cast(floor(x * 64.0f), i32), 64);    // (64)
//   Tensor mass = bincount(cell, cells, weight);                     // sums of weights instead of counts
//
// Other numbers are not counted. x: any integer type and shape; weights: of x's shape, any real type, which is the
// result's. Integers are added by atomics, in time that does not depend on bins; floats in the order of x, so that the
// result is the same on every run, and each bin looks at all of x.
#ifndef RLXGPU_KERNELS_SCATTER_BINCOUNT_H_
#define RLXGPU_KERNELS_SCATTER_BINCOUNT_H_

#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/scatter/scatter.h"

namespace rlxgpu::core {

constexpr Tensor bincount(Tensor x, int64_t bins, Tensor weights = {}, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  site = site.as("bincount");
  if (x.valid() && !is_integer(x.dtype())) {
    g.fail(site, "bincount(", name_of(x.dtype()), x.shape(), "): counts integers");
    return {&g, -1};
  }
  if (bins < 1) {
    g.fail(site, "bincount(", x.shape(), "): ", bins, " bins");
    return {&g, -1};
  }
  const bool in_line = x.shape().rank() == 1;
  Tensor numbers = in_line ? x : reshape(x, {x.shape().count()}, site);
  if (x.dtype() != u32) {  // a negative index of a scatter would count from the end
    numbers = cast(numbers, i32, site);
    numbers = where(lt(numbers, Rhs(0, site)), Rhs(g.literal(static_cast<double>(bins), i32), site), Rhs(numbers, site));
  }
  Tensor added = weights;
  if (!added.given()) {
    added = expand(g.literal(1, i32), numbers.shape(), site);
  } else if (!in_line) {
    added = reshape(weights, {weights.shape().count()}, site);
  }
  return scatter_add(expand(g.literal(0, added.dtype()), {bins}, site), numbers, added, 0, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::bincount;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SCATTER_BINCOUNT_H_

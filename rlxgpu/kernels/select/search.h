// search_sorted(sorted, values): for each value, where the first element that is not less stands in a sorted list.
//
//   search_sorted(cumsum(flags), range(1, n + 1))      // where the flags are set
//
// sorted: (n), ascending; values: any shape, the same type; the result: i32, n where every element is less. A map: as
// many loads as n has binary digits.
#ifndef RLXGPU_KERNELS_SELECT_SEARCH_H_
#define RLXGPU_KERNELS_SELECT_SEARCH_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

constexpr void search_infer(Infer& infer) {
  const DType dtype = infer.dtype(0);
  if (!is_float(dtype) && !is_integer(dtype)) return infer.fail("needs real numbers, not ", name_of(dtype));
  if (infer.dtype(1) != dtype)
    return infer.fail("values are ", name_of(infer.dtype(1)), ", the list is ", name_of(dtype));
  if (infer.shape(0).rank() != 1 || infer.shape(0).dynamic())
    return infer.fail("the list must have one axis of a known extent");
  infer.result(i32, infer.shape(1));
}

constexpr void search_at(At& at) {
  const int64_t n = at.operand_shape(0)[0];
  if (n == 0) {
    at.result() << '0';
    return;
  }
  int64_t step = 1;
  while (step * 2 <= n) step *= 2;
  Coords own, probe;
  for (int i = 0; i < at.shape().rank(); ++i) own[i] = at.coord(i);
  const Name value = at.operand(1, own);
  Name low = kZero;  // elements before it are less
  for (; step > 0; step /= 2) {
    const Name end = at.let(low, " + ", step, 'u');
    probe[0] = at.let("min(", end, ", ", n, "u) - 1u");
    const Name element = at.operand(0, probe);
    low = at.let("select(", low, ", ", end, ", ", end, " <= ", n, "u && ", element, " < ", value, ')');
  }
  at.result() << "i32(" << low << ')';
}
constexpr int search_reads(const Call& call) {
  int reads = 1;
  for (int64_t n = call.operand(0).shape[0]; n > 1; n /= 2) ++reads;
  return reads;
}

inline void search_reference(reference::Call& call) {
  const reference::Array &list = call.operand(0), &values = call.operand(1);
  for (int64_t i = 0; i < values.count(); ++i) {
    int64_t place = 0;
    while (place < list.count() && list[place] < values[i]) ++place;
    call.result()[i] = static_cast<double>(place);
  }
}

}  // namespace internal

inline constexpr OpDef kSearchSorted = {
    .name = "search_sorted",
    .infer = internal::search_infer,
    .at = internal::search_at,
    .reads_elsewhere = true,
    .reads = internal::search_reads,
    .reference = internal::search_reference,
};
constexpr Tensor search_sorted(Tensor sorted, Tensor values, Site site = std::source_location::current()) {
  return apply(kSearchSorted, {sorted, values}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::search_sorted;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SELECT_SEARCH_H_

// hasty_sum(x, millionths): sums of rows by a kernel whose fast variant is wrong on purpose: one sum is too large by so
// many millionths of itself. Its simple variant is right.
#ifndef RLXGPU_TESTS_RUNTIME_HASTY_SUM_H_
#define RLXGPU_TESTS_RUNTIME_HASTY_SUM_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/kernel_file.h"

namespace rlxgpu::core::testing {

inline constexpr KernelFile kHastySumFile(
#include "tests/runtime/hasty_sum.wgsl"
);

inline constexpr int64_t kWrongRow = 5;

constexpr void hasty_sum_infer(Infer& infer) {
  if (infer.shape(0).rank() != 2) return infer.fail("takes a matrix");
  infer.result(infer.dtype(0), {infer.shape(0)[0]});
}

template <bool kFaulty>
constexpr void hasty_sum_emit(Emit& e) {
  const Shape& shape = e.call().operand(0).shape;
  e.dispatch(kHastySumFile)
      .number("kRows", shape[0])
      .number("kCols", shape[1])
      .number("kFault", kFaulty ? e.attr(0) : 0)
      .number("kWrong", kWrongRow)
      .input("x", e.operand(0))
      .output("y", e.result())
      .grid(ceil_div(shape[0], 64));
}

constexpr Cost hasty_sum_cost(const Call& call) {
  const auto elements = static_cast<double>(call.operand(0).shape.count());
  return {2 * elements, 4 * elements};
}

inline void hasty_sum_reference(reference::Call& call) {
  const int64_t cols = call.operand(0).shape[1];
  for (int64_t i = 0; i < call.operand(0).count(); ++i) call.result()[i / cols] += call.operand(0)[i];
}

inline constexpr Variant kHastySumVariants[] = {{"hasty", nullptr, hasty_sum_emit<true>},
                                                {"plain", nullptr, hasty_sum_emit<false>}};

inline constexpr OpDef kHastySum{.name = "hasty_sum",
                                 .infer = hasty_sum_infer,
                                 .variants = kHastySumVariants,
                                 .absorbs = 1,
                                 .absorbs_after = true,
                                 .cost = hasty_sum_cost,
                                 .reference = hasty_sum_reference};

constexpr Tensor hasty_sum(Tensor x, int64_t millionths, Site site = std::source_location::current()) {
  return apply(kHastySum, {x}, {millionths}, site);
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_RUNTIME_HASTY_SUM_H_

// accumulate(state, x): adds x to a state, in place. The smallest op of its kind, for tests.
#ifndef RLXGPU_TESTS_EXECUTABLE_ACCUMULATE_H_
#define RLXGPU_TESTS_EXECUTABLE_ACCUMULATE_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/kernel_file.h"

namespace rlxgpu::core::testing {

inline constexpr KernelFile kAccumulateFile(
#include "tests/executable/accumulate.wgsl"
);

constexpr void accumulate_infer(Infer& infer) {
  if (!(infer.shape(0) == infer.shape(1))) return infer.fail("shapes differ");
  infer.result(infer.dtype(0), infer.shape(0));
}

constexpr void accumulate_emit(Emit& e) {
  const int64_t count = e.call().result().shape.count();
  e.dispatch(kAccumulateFile)
      .number("kCount", count)
      .input("x", e.operand(1))
      .raw("state", e.result(), true)
      .grid(ceil_div(count, 64));
}

inline void accumulate_reference(reference::Call& call) {
  for (int64_t i = 0; i < call.result().count(); ++i) call.result()[i] = call.operand(0)[i] + call.operand(1)[i];
}

inline constexpr Variant kAccumulateVariants[] = {{"plain", nullptr, accumulate_emit}};

inline constexpr OpDef kAccumulate{.name = "accumulate",
                                   .infer = accumulate_infer,
                                   .variants = kAccumulateVariants,
                                   .absorbs = 2,
                                   .in_place = 0,
                                   .reference = accumulate_reference};

constexpr Tensor accumulate(Tensor state, Tensor x, Site site = std::source_location::current()) {
  return apply(kAccumulate, {state, x}, site);
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_EXECUTABLE_ACCUMULATE_H_

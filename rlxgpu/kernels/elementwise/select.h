// where(condition, a, b), clamp(x, low, high), fma(a, b, c).
//
//   Tensor y = where(gt(x, 0.0f), x, 0.1f);      Tensor z = clamp(x, -1.0f, 1.0f);
//
// All operands broadcast; a, b (x, low, high) have one dtype.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_SELECT_H_
#define RLXGPU_KERNELS_ELEMENTWISE_SELECT_H_

#include <cstdint>
#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/functions.h"
#include "rlxgpu/kernels/elementwise/reference.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

constexpr void where_infer(Infer& infer) {
  if (infer.dtype(0) != boolean) return infer.fail("the condition is ", name_of(infer.dtype(0)), ", not bool");
  Shape shape;
  if (infer_same_dtype(infer, 1) && infer_broadcast(infer, 0, shape)) infer.result(infer.dtype(1), shape);
}

inline void where_reference(reference::Call& call) {
  reference::Array& result = call.result();
  const int rank = result.shape.rank();
  for (int64_t i = 0; i < result.count(); ++i) {
    const reference::Index index = result.index_of(i);
    const bool condition = call.operand(0)[call.operand(0).broadcast_offset(index, rank)] != 0;
    const reference::Array& chosen = call.operand(condition ? 1 : 2);
    const int64_t from = chosen.broadcast_offset(index, rank);
    if (result.dtype == c64) {
      set_element(result, i, element<reference::Complex>(chosen, from));
    } else {
      result[i] = chosen[from];
    }
  }
}

}  // namespace internal

inline constexpr OpDef kWhere = {
    .name = "where",
    .infer = internal::where_infer,
    .at = [](At& at) { internal::fill(at, "select(@2, @1, @0)"); },
    .reference = internal::where_reference,
};
// a where the condition (bool) holds, b elsewhere. Of two numbers the result is f32.
constexpr Tensor where(Tensor condition, Rhs a, Rhs b) {
  Builder& builder = condition.builder();
  const Tensor left = !a.is_number ? a.tensor : b.is_number ? builder.literal(a.number, f32) : operand_of(a, b.tensor);
  return apply(kWhere, {condition, left, operand_of(b, left)}, b.site);
}

inline constexpr OpDef kClamp =
    elementwise<Form{.floats = "rlx_clamp(@0, @1, @2)", .integers = "min(max(@0, @1), @2)"}, reference::clamp>(
        "clamp", {kNanFunctions, kClampFunctions});
// min(max(x, low), high): high wins where low is above it; NaN stays NaN. Floats and integers.
constexpr Tensor clamp(Tensor x, Rhs low, Rhs high) {
  return apply(kClamp, {x, operand_of(low, x), operand_of(high, x)}, high.site);
}

inline constexpr OpDef kFma =
    elementwise<Form{.floats = "fma(@0, @1, @2)", .integers = "(@0 * @1 + @2)", .wraps = true}, reference::fma,
                reference::fma_integers>("fma");
// a b + c, rounded once or twice as the adapter likes. Floats and integers.
constexpr Tensor fma(Tensor a, Rhs b, Rhs c) { return apply(kFma, {a, operand_of(b, a), operand_of(c, a)}, c.site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::clamp, core::fma, core::where;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_SELECT_H_

// assign(state, x): the state is x from now on, in this run and the next ones.
//
//   Tensor mean = g.state("mean", f32, {64});
//   assign(mean, mean * 0.99f + sum(x, {0}) * 0.01f);      // the state as it was may be read; no output is needed
//
// x has the state's type and shape. The result is the state as it is then: what comes after uses it, not `state`.
#ifndef RLXGPU_KERNELS_MOVEMENT_ASSIGN_H_
#define RLXGPU_KERNELS_MOVEMENT_ASSIGN_H_

#include <source_location>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

namespace internal {

inline constexpr KernelFile kAssignFile(
#include "rlxgpu/kernels/movement/assign.wgsl"
);

constexpr void assign_infer(Infer& infer) {
  if (infer.dtype(0) != infer.dtype(1)) {
    return infer.fail("a state of ", name_of(infer.dtype(0)), " takes no ", name_of(infer.dtype(1)));
  }
  if (!(infer.shape(0) == infer.shape(1))) return infer.fail("the state has another shape");
  infer.result(infer.dtype(0), infer.shape(0));
}

constexpr void assign_emit(Emit& e) {
  const int64_t count = e.call().result().shape.count();
  if (count == 0) return;
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  e.dispatch(kAssignFile)
      .type("Elem", register_of(e.call().result().dtype))
      .number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("x", e.operand(1))
      .output("state", e.result())
      .grid(grid.row, grid.rows);
}
inline constexpr Variant kAssignVariants[] = {{"copy", nullptr, assign_emit}};

inline void assign_reference(reference::Call& call) { call.result().data = call.operand(1).data; }

}  // namespace internal

inline constexpr OpDef kAssign = {
    .name = "assign",
    .infer = internal::assign_infer,
    .variants = internal::kAssignVariants,
    .absorbs = 0b10,
    .in_place = 0,
    .reference = internal::assign_reference,
};

constexpr Tensor assign(Tensor state, Rhs x, Site site = std::source_location::current()) {
  return apply(kAssign, {state, operand_of(x, state)}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::assign;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_ASSIGN_H_

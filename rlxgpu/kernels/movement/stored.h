// stored(x): x, written to memory of its own, one element after another.
//
//   Tensor q = stored(transpose(reshape(y, {seq, heads, dim}), {1, 0, 2}));   // (heads, seq, dim)
//
// Otherwise every user of x computes or re-addresses it. A kernel op whose result is used only by such tensors (all of
// it in another order, or parts of it) writes them itself: no copy follows it.
#ifndef RLXGPU_KERNELS_MOVEMENT_STORED_H_
#define RLXGPU_KERNELS_MOVEMENT_STORED_H_

#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/movement/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

constexpr void stored_infer(Infer& infer) { infer.result(infer.dtype(0), infer.shape(0)); }
constexpr void stored_at(At& at) { at.result() << at.operand(0); }

}  // namespace internal

inline constexpr OpDef kStored = {
    .name = "stored",
    .infer = internal::stored_infer,
    .at = internal::stored_at,
    .always_stored = true,
    .reference = reference::reshape,
};

constexpr Tensor stored(Tensor x, Site site = std::source_location::current()) { return apply(kStored, {x}, site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::stored;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MOVEMENT_STORED_H_

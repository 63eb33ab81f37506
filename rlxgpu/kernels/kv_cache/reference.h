// What kv_append means.
#ifndef RLXGPU_KERNELS_KV_CACHE_REFERENCE_H_
#define RLXGPU_KERNELS_KV_CACHE_REFERENCE_H_

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void kv_append_reference(reference::Call& call) {
  const reference::Array& x = call.operand(1);
  call.result().data = call.operand(0).data;
  const reference::Array& position = call.operand(2);
  const int axis = normalise_axis(call.attr(0), x.shape.rank());
  for (int64_t i = 0; i < x.count(); ++i) {
    reference::Index at = x.index_of(i);
    at[axis] += static_cast<int64_t>(position[position.count() == 1 ? 0 : at[0]]);
    if (at[axis] >= 0 && at[axis] < call.result().shape[axis]) call.result()[call.result().offset_of(at)] = x[i];
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_KV_CACHE_REFERENCE_H_

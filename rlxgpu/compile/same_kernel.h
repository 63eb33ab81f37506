// Whether two kernel specifications in one set of pools are rendered to the same text.
#ifndef RLXGPU_COMPILE_SAME_KERNEL_H_
#define RLXGPU_COMPILE_SAME_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/wgsl/spec.h"

namespace rlxgpu::core {

constexpr uint64_t hash_of(const SpecPools& pools, const KernelSpec& spec) {
  uint64_t hash = 1469598103934665603u;
  const auto add = [&](int64_t word) { hash = (hash ^ static_cast<uint64_t>(word)) * 1099511628211u; };
  for (const ParamUse& use : slice(span_of(pools.params), spec.params)) add(use.value);
  for (const LocalValue& value : slice(span_of(pools.values), spec.values)) {
    add(static_cast<int64_t>(value.kind) * 16 + static_cast<int64_t>(value.dtype));
    add(value.word);
    for (int axis = 0; axis < value.shape.rank(); ++axis) add(value.shape[axis]);
  }
  return hash;
}

constexpr bool same_kernel(const SpecPools& p, const KernelSpec& spec, const KernelSpec& other) {
  if (other.hash != spec.hash || other.file != spec.file || other.values.count != spec.values.count ||
      other.slots.count != spec.slots.count || other.params.count != spec.params.count ||
      other.bindings.count != spec.bindings.count || other.immediates.count != spec.immediates.count) {
    return false;
  }
  const auto at = [](Range range, int i) { return static_cast<size_t>(range.first + i); };
  for (int i = 0; i < spec.params.count; ++i) {
    if (!(p.params[at(spec.params, i)] == p.params[at(other.params, i)])) return false;
  }
  for (int i = 0; i < spec.slots.count; ++i) {
    const SlotUse& a = p.slots[at(spec.slots, i)];
    const SlotUse& b = p.slots[at(other.slots, i)];
    if (!a.same_as(b)) return false;
    for (int k = 0; k < a.args.count; ++k) {
      if (p.attrs[at(a.args, k)] != p.attrs[at(b.args, k)]) return false;
    }
  }
  for (int i = 0; i < spec.bindings.count; ++i) {
    if (!(p.bindings[at(spec.bindings, i)] == p.bindings[at(other.bindings, i)])) return false;
  }
  for (int i = 0; i < spec.immediates.count; ++i) {
    if (p.immediates[at(spec.immediates, i)] != p.immediates[at(other.immediates, i)]) return false;
  }
  for (int i = 0; i < spec.values.count; ++i) {
    const LocalValue& a = p.values[at(spec.values, i)];
    const LocalValue& b = p.values[at(other.values, i)];
    if (a.kind != b.kind || a.op != b.op || a.word != b.word || a.word2 != b.word2 || a.binding != b.binding ||
        a.dtype != b.dtype || a.operands.count != b.operands.count || a.attrs.count != b.attrs.count ||
        !(a.shape == b.shape) || !(a.view == b.view)) {
      return false;
    }
    for (int k = 0; k < a.operands.count; ++k) {
      if (p.operands[at(a.operands, k)] != p.operands[at(b.operands, k)]) return false;
    }
    for (int k = 0; k < a.attrs.count; ++k) {
      if (p.attrs[at(a.attrs, k)] != p.attrs[at(b.attrs, k)]) return false;
    }
  }
  return true;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_SAME_KERNEL_H_

// Gated linear units: swiglu(gate, x) = silu(gate) x, geglu(gate, x) = gelu(gate) x.
//
//   Tensor hidden = swiglu(matmul(x, w_gate), matmul(x, w_up));    // two dispatches: silu and product join one of them
//   Tensor other = geglu(matmul(x, w));                            // the first half of the last axis is the gate
#ifndef RLXGPU_KERNELS_GLU_GLU_H_
#define RLXGPU_KERNELS_GLU_GLU_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/activation.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/movement/slice.h"

namespace rlxgpu::core {

constexpr Tensor swiglu(Tensor gate, Tensor x, Site site = std::source_location::current()) {
  return silu(gate, site) * Rhs(x, site);
}
constexpr Tensor geglu(Tensor gate, Tensor x, Site site = std::source_location::current()) {
  return gelu(gate, site) * Rhs(x, site);
}
constexpr Tensor swiglu(Tensor both, Site site = std::source_location::current()) {
  const Vec<Tensor> halves = chunk(both, 2, -1, site.as("swiglu"));
  return swiglu(halves[0], halves[1], site);
}
constexpr Tensor geglu(Tensor both, Site site = std::source_location::current()) {
  const Vec<Tensor> halves = chunk(both, 2, -1, site.as("geglu"));
  return geglu(halves[0], halves[1], site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::geglu, core::swiglu;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_GLU_GLU_H_

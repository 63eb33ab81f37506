// How gated products look when they are written out: act(x gate) (x up).
#ifndef RLXGPU_KERNELS_MATMUL_WRITTEN_OUT_H_
#define RLXGPU_KERNELS_MATMUL_WRITTEN_OUT_H_

#include "rlxgpu/graph/written_out.h"
#include "rlxgpu/kernels/elementwise/activation.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"

namespace rlxgpu::core {

namespace written_out {

template <Activation kActivation>
constexpr Tensor gated_products(GraphPattern& p) {
  const Tensor x = p.any("x"), gate = matmul(x, p.any("gate"));
  return (kActivation == Activation::gelu ? gelu(gate) : silu(gate)) * matmul(x, p.any("up"));
}
template <Activation kActivation>
constexpr Tensor to_gated_matmul(Match& m) {
  const Tensor gate = m["gate"], up = m["up"];
  if (gate.shape().rank() != 2 || up.shape().rank() != 2 || !(gate.shape() == up.shape())) return {};
  for (int k = 0; k < 2; ++k) {  // both products are made for this alone
    const Tensor factor = m.operand(m.root(), k);
    if (m.uses(factor) > 1 || (!m.is(factor, kMatmul) && m.uses(m.operand(factor, 0)) > 1)) return {};
  }
  return gated_matmul(m["x"], gate, up, kActivation, m.site());
}

}  // namespace written_out

inline constexpr WrittenOut kMatmulForms[] = {
    {"gated_matmul", &kMul, written_out::gated_products<Activation::silu>,
     written_out::to_gated_matmul<Activation::silu>},
    {"gated_matmul", &kMul, written_out::gated_products<Activation::gelu>,
     written_out::to_gated_matmul<Activation::gelu>},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_MATMUL_WRITTEN_OUT_H_

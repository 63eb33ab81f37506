// What the layers of decoders (llama.h, mamba.h) have in common.
#ifndef DOCS_EXAMPLES_DECODER_PARTS_H_
#define DOCS_EXAMPLES_DECODER_PARTS_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"

namespace examples {

// rms_norm(x) w. Of a few rows in one dispatch, which is what counts then; of many in two, whose kernels reuse more.
constexpr rlxgpu::Tensor normed_product(rlxgpu::Tensor x, rlxgpu::Tensor factors, rlxgpu::Tensor w, bool few) {
  if (few) return rlxgpu::normed_linear(x, w, {.norm = {.weight = factors, .centred = false}}).y;
  return rlxgpu::matmul(rlxgpu::rms_norm(x, factors), w);
}

}  // namespace examples

#endif  // DOCS_EXAMPLES_DECODER_PARTS_H_

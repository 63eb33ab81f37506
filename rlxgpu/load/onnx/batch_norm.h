// fold_batch_norms(graph): convolutions take over the BatchNormalization that alone reads them.
//
// y = (conv(x, w) + b - mean) * f + shift, with f = scale / sqrt(variance + epsilon), is conv(x, w f) + (b - mean) f +
// shift. New weights are computed here, once, in double precision and rounded once. It is done where all of them are
// constants of the file and f32: weights of 16 bits would lose digits, so there the norm stays, as a map in the
// convolution's kernel.
#ifndef RLXGPU_LOAD_ONNX_BATCH_NORM_H_
#define RLXGPU_LOAD_ONNX_BATCH_NORM_H_

#include "rlxgpu/load/onnx/model_def.h"

namespace rlxgpu::core::onnx {

void fold_batch_norms(GraphDef& graph);

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_BATCH_NORM_H_

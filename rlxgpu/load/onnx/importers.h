// The importers of each family: ops_<family>.cc. A new family is a line here and one in importers.cc.
#ifndef RLXGPU_LOAD_ONNX_IMPORTERS_H_
#define RLXGPU_LOAD_ONNX_IMPORTERS_H_

#include <span>

#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {

using Importers = std::span<const OpImporter>;

Importers activation_importers();
Importers attention_importers();
Importers cast_importers();
Importers control_importers();
Importers conv_importers();
Importers elementwise_importers();
Importers matmul_importers();
Importers ml_importers();
Importers movement_importers();
Importers norm_importers();
Importers quantize_importers();
Importers recurrent_importers();
Importers reduce_importers();
Importers resize_importers();
Importers select_importers();
Importers sequence_importers();
Importers signal_importers();
Importers vision_importers();

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_IMPORTERS_H_

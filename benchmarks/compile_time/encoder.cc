// A transformer encoder of BERT's width and of LAYERS layers, made ready to run.
#include "docs/examples/encoder.h"

#include "rlxgpu/rlxgpu.h"

rlxgpu::Run run(const rlxgpu::Device& device) {
  rlxgpu::Executable<examples::Encoder<examples::EncoderSize{.layers = LAYERS}>> encoder(device);
  return encoder.run();
}

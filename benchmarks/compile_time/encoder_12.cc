// A transformer encoder of BERT's width, 12 layers, made ready to run.
#include "docs/examples/encoder.h"
#include "rlxgpu/rlxgpu.h"

rlxgpu::Run run(const rlxgpu::Device& device) {
  rlxgpu::Executable<examples::Encoder<examples::EncoderSize{.layers = 12}>> encoder(device);
  return encoder.run();
}

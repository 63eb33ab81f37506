// A Llama decoder of LAYERS layers, made ready to run.
#include "docs/examples/llama.h"

#include "rlxgpu/rlxgpu.h"

rlxgpu::Run run(const rlxgpu::Device& device) {
  rlxgpu::Executable<examples::Llama<examples::LlamaSize{.layers = LAYERS}, 1>> llama(device);
  llama.set<"position">(3u);
  return llama.run();
}

// What a fuzzer calls: bytes that claim to be an ONNX model are loaded and planned, or refused. Nothing else may
// happen.
#include "tests/onnx/fuzz_target.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "rlxgpu/compile/compile.h"
#include "rlxgpu/load/onnx/onnx.h"

// The entry of libFuzzer, for those who have it: clang++ -fsanitize=fuzzer,address.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rlxgpu::core::testing::load_anything(std::as_bytes(std::span(data, size)));
  return 0;
}

namespace rlxgpu::core::testing {

bool load_anything(std::span<const std::byte> bytes) {
  onnx::LoadOptions options;
  for (const char* symbol : {"n", "m", "k", "batch", "sequence"}) options.extents[symbol] = 3;
  const Result<onnx::Model> model = onnx::load(bytes, options);
  if (!model.ok()) return false;
  // Planning time grows with the graph, not with its tensors.
  if (model->graph.graph().nodes.size() < 5000) compile(model->graph.graph(), kPortable);
  return true;
}

}  // namespace rlxgpu::core::testing

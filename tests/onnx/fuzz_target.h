// load_anything: loads and plans what may be an ONNX model. True: it was one.
#ifndef RLXGPU_TESTS_ONNX_FUZZ_TARGET_H_
#define RLXGPU_TESTS_ONNX_FUZZ_TARGET_H_

#include <cstddef>
#include <span>

namespace rlxgpu::core::testing {

bool load_anything(std::span<const std::byte> bytes);

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_ONNX_FUZZ_TARGET_H_

// Tensors as .npy files: NumPy's format, one array to a file.
//
//   Result<onnx::HostTensor> x = read_npy("x.npy");
//   Status status = write_npy("y.npy", y);
//
// Row-major, little-endian, versions 1 to 3. Types that NumPy does not have: bfloat16 is written as float32, the small
// floats and integers of less than a byte as their numbers in float32 and int8.
#ifndef RLXGPU_TOOLS_NPY_H_
#define RLXGPU_TOOLS_NPY_H_

#include <string>

#include "rlxgpu/load/onnx/host_tensor.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::tools {

Result<onnx::HostTensor> read_npy(const std::string& path);
Status write_npy(const std::string& path, const onnx::HostTensor& tensor);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_NPY_H_

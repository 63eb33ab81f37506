#include "rlxgpu/tools/kernel_files.h"

#include <array>

namespace rlxgpu::core::tools {
namespace {

constexpr auto kFiles = [] {
  std::array files = std::to_array<NamedKernelFile>({
#include "rlxgpu/tools/kernel_files.inc"
  });
  for (NamedKernelFile& file : files) file.wgsl = without_marks(file.wgsl);
  return files;
}();

}  // namespace

std::span<const NamedKernelFile> kernel_files() { return kFiles; }

}  // namespace rlxgpu::core::tools

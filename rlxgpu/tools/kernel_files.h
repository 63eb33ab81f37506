// kernel_files(): every kernel file of the library, as it stands.
#ifndef RLXGPU_TOOLS_KERNEL_FILES_H_
#define RLXGPU_TOOLS_KERNEL_FILES_H_

#include <span>
#include <string_view>

namespace rlxgpu::core::tools {

struct NamedKernelFile {
  std::string_view path;  // "rlxgpu/kernels/matmul/tiled.wgsl"
  std::string_view wgsl;
};

std::span<const NamedKernelFile> kernel_files();

// A kernel file without the marks that make it a C++ literal, which WGSL reads as a comment.
constexpr std::string_view without_marks(std::string_view text) {
  if (text.starts_with("*/")) text.remove_prefix(2);
  if (text.ends_with("//")) text.remove_suffix(2);
  return text;
}

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_KERNEL_FILES_H_

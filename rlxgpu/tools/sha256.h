// SHA-256 (FIPS 180-4), as 64 hexadecimal digits: how a bundle knows that its files are whole.
#ifndef RLXGPU_TOOLS_SHA256_H_
#define RLXGPU_TOOLS_SHA256_H_

#include <cstddef>
#include <span>
#include <string>

namespace rlxgpu::core::tools {

std::string sha256(std::span<const std::byte> bytes);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_SHA256_H_

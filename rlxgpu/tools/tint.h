// tint_accepts: what the WGSL compiler `tint` says of a shader.
//
//   if (absl::Status status = tint_accepts(wgsl); !status.ok()) std::cerr << status;
//
// The shader is translated to SPIR-V and that is validated, as a Vulkan driver would see it. tint knows no limits and
// allows every extension: validate.h adds Dawn's view. One process of about 15 ms for each call.
#ifndef RLXGPU_TOOLS_TINT_H_
#define RLXGPU_TOOLS_TINT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace rlxgpu::core::tools {

// $RLXGPU_TINT, else the one that Bazel gives to programs that it runs, else "tint": whatever is in PATH.
std::string tint_program();

// NotFound when there is no tint, and how to get it; InvalidArgument with all that it printed.
absl::Status tint_accepts(std::string_view wgsl);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_TINT_H_

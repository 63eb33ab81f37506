// Programs as JSON, with their WGSL: for other tools, for diffs, and to run elsewhere. to_json and from_json are
// inverse to each other as far as running goes: what is read back has the same buffers, ports, steps and texts.
//
//   nlohmann::ordered_json json = to_json(program, kernel_texts);
//   absl::StatusOr<RenderedProgram> stored = program_from_json(json);
//   Engine::create(device, stored->view(), stored->texts());
//
// {
//   "rlxgpu": 1,                                       version of this form
//   "target": {"shader_f16": false, "subgroups": false, "max_invocations": 256, ...}       what it may use
//   "buffers": [{"role": "input", "bytes": 8192}],
//   "tensors": [{"dtype": "f32", "shape": [32, 64], "buffer": 0, "offset": 0, "bytes": 8192}],
//                                                      an axis may be {"most": 32, "scalar": 0}: a run-time extent
//   "ports":   [{"name": "x", "role": "input", "tensor": 0}],
//   "scalars": [{"name": "n", "dtype": "u32", "most": 32}],             without "most": any number
//   "kernels": [{"wgsl": "...", "bindings": [{"dtype": "f32", "writes": false}], "immediates": ["u32"]}],
//   "steps":   [{"label": "matmul+add/f32/tiled", "kernel": 0, "grid": [8, 1, 1], "bindings": [0, 1, 4],
//                "immediates": [0], "grid_scalar": 0, "flops": 524288.0, "bytes": 57344.0}],
//   "constants": [1065353216]                          32-bit words of the buffer with role "constant"; a second such
//                                                      buffer has its own, as {"role": "constant", "bytes": 16, "words": [1]}
// }
//
// Binding i of a step is tensor bindings[i], at @group(0) @binding(i); whether it is written is said by the kernel.
// Indices count from 0 into the lists above. Every step is one dispatch, in order.
#ifndef RLXGPU_TOOLS_PROGRAM_JSON_H_
#define RLXGPU_TOOLS_PROGRAM_JSON_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/compile/rendered_program.h"

namespace rlxgpu::core::tools {

nlohmann::ordered_json to_json(const ProgramView& program, std::span<const std::string_view> kernels);

// Checks what it reads: an error names the place in the JSON.
absl::StatusOr<RenderedProgram> program_from_json(const nlohmann::ordered_json& json);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_PROGRAM_JSON_H_

// Bundles: programs as files for a page, which rlxgpu/web/runner.js loads. docs/program-format.md is the rule for both.
//
//   absl::Status status = write_bundle("out", {{"mlp", &program}}, weights);
//
// writes manifest.json, a JSON file for each program, constants.bin and, where there are weights, weights.safetensors.
#ifndef RLXGPU_TOOLS_BUNDLE_H_
#define RLXGPU_TOOLS_BUNDLE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/load/stored_tensor.h"

namespace rlxgpu::core::tools {

struct BundleProgram {
  std::string name;  // of its file, too
  const RenderedProgram* program = nullptr;
  bool once = false;  // computes weights from weights: its outputs are weights of the others
};

// What a program needs of a device, computed from its steps and texts. The invocations and workgroup bytes are the
// target's: they are the only ones that a text states as an expression.
nlohmann::ordered_json needs_of(const RenderedProgram& program);

// WGSL as bundles hold it: without comments and blank lines, and without the declaration of `imm`, which the runner
// adds as an immediate or as a uniform buffer, whichever its browser has.
std::string bundle_text(std::string_view wgsl);

// `about` is added to the manifest. The folder is made; files of the same names are replaced, the manifest last.
absl::Status write_bundle(const std::string& folder, std::span<const BundleProgram> programs,
                          std::span<const StoredTensor> weights, const nlohmann::ordered_json& about = {});

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_BUNDLE_H_

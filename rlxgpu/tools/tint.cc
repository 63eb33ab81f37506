#include "rlxgpu/tools/tint.h"

#include <cstdlib>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/tools/process.h"

namespace rlxgpu::tools {

std::string tint_program() {
  if (const char* given = std::getenv("RLXGPU_TINT"); given != nullptr && *given != '\0') return given;
#ifdef RLXGPU_TINT_RUNFILE
  for (const char* variable : {"TEST_SRCDIR", "RUNFILES_DIR"}) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr) continue;
    const std::string path = absl::StrCat(folder, "/", RLXGPU_TINT_RUNFILE);
    if (std::filesystem::exists(path)) return path;
  }
#endif
  return "tint";
}

absl::Status tint_accepts(std::string_view wgsl) {
  const std::string program = tint_program();
  const ProcessResult tint =
      run_process({program, "--format", "spirv", "--validate", "-o", "/dev/null", "-if", "wgsl", "-"}, wgsl);
  if (tint.exit_code == 127) {
    return absl::NotFoundError(absl::StrCat(
        program, " does not run: install it (Debian forky: apt-get install dawn-tools) or name it in RLXGPU_TINT"));
  }
  if (tint.exit_code != 0) return absl::InvalidArgumentError(absl::StrCat("tint: ", tint.output));
  return absl::OkStatus();
}

}  // namespace rlxgpu::tools

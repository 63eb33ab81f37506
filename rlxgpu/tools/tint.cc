#include "rlxgpu/tools/tint.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/tools/process.h"

namespace rlxgpu::core::tools {

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
  std::vector<std::string> command = {program,     "--format", "spirv", "--validate", "-o",
                                      "/dev/null", "-if",      "wgsl",  "-"};
  // What tint asserts of its own stages takes two thirds of its time, and is about tint, not about shaders.
  constexpr std::string_view kNoAsserts = "--disable-ir-validation-asserts";
  static const std::string help = run_process({program, "--help"}).output;
  if (absl::StrContains(help, kNoAsserts)) command.emplace(command.begin() + 1, kNoAsserts);
  const ProcessResult tint = run_process(command, wgsl);
  if (tint.exit_code == 127) {
    return absl::NotFoundError(absl::StrCat(
        program, " does not run: install it (Debian forky: apt-get install dawn-tools) or name it in RLXGPU_TINT"));
  }
  if (tint.exit_code != 0) return absl::InvalidArgumentError(absl::StrCat("tint: ", tint.output));
  return absl::OkStatus();
}

}  // namespace rlxgpu::core::tools

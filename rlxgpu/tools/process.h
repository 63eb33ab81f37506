// run_process runs another program to its end: what it printed, how it ended, what it cost.
//
//   ProcessResult tint = run_process({"tint", "--format", "spirv", "-if", "wgsl", "-"}, wgsl);
//   if (tint.exit_code != 0) std::cerr << tint.output;
//
// The program is looked for in PATH unless its name has a slash; no shell is involved. Blocks.
#ifndef RLXGPU_TOOLS_PROCESS_H_
#define RLXGPU_TOOLS_PROCESS_H_

#include <string>
#include <string_view>
#include <vector>

namespace rlxgpu::core::tools {

struct ProcessResult {
  int exit_code = 0;          // 127: there is no such program; 128 + n: ended by signal n
  std::string output;         // what it printed to stdout and stderr, in order
  double seconds = 0;         // from start to end
  double cpu_seconds = 0;     // user and system
  double peak_megabytes = 0;  // of memory, the largest of its processes
};

ProcessResult run_process(const std::vector<std::string>& command, std::string_view input = {});

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_PROCESS_H_

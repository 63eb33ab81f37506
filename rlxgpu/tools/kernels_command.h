// The `kernels` subcommand: families of kernels, their variants, and the parameters of each with range and default.
#ifndef RLXGPU_TOOLS_KERNELS_COMMAND_H_
#define RLXGPU_TOOLS_KERNELS_COMMAND_H_

#include <ostream>
#include <string>

namespace rlxgpu::core::tools {

struct KernelsCommand {
  std::string op;      // only this one
  std::string target;  // whose defaults: a name of graph/targets.h; "": portable
  bool json = false;
};

// Returns the exit code: 0, or 2 when there is no such op or target.
int kernels_command(const KernelsCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_KERNELS_COMMAND_H_

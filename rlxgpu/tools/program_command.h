// rlxgpu program NAME: what an example graph becomes.
#ifndef RLXGPU_TOOLS_PROGRAM_COMMAND_H_
#define RLXGPU_TOOLS_PROGRAM_COMMAND_H_

#include <ostream>
#include <string>

namespace rlxgpu::core::tools {

struct ProgramCommand {
  std::string name;   // of an example; empty lists them all
  bool here = false;  // planned for the adapter that programs run on, not for every WebGPU
  bool wgsl = false;  // also the kernels' texts
  bool recognised = false;  // only the layers that were recognised in the graph, and where
  bool json = false;  // all of it, in the form of program_json.h
};

// Returns the exit code: 2 for an unknown name.
int program_command(const ProgramCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_PROGRAM_COMMAND_H_

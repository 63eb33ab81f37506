// rlxgpu check: every kernel file, and every kernel of every example, through tint and Dawn's Null backend.
#ifndef RLXGPU_TOOLS_CHECK_COMMAND_H_
#define RLXGPU_TOOLS_CHECK_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

namespace rlxgpu::core::tools {

struct CheckCommand {
  std::vector<std::string> files;  // WGSL files of the user's; when empty, all that is built in
  bool json = false;
};

// Returns the exit code: 1 when anything was refused.
int check_command(const CheckCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_CHECK_COMMAND_H_

// The `devices` subcommand: a table of the adapters of this machine, or the same as JSON.
#ifndef RLXGPU_TOOLS_DEVICES_H_
#define RLXGPU_TOOLS_DEVICES_H_

#include <ostream>

namespace rlxgpu::core::tools {

// Returns the exit code: 0, or 1 when there is no adapter (JSON is then an empty list).
int devices_command(bool json, std::ostream& out);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_DEVICES_H_

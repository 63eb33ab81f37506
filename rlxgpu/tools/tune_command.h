// rlxgpu tune: measures the kernel variants of an example graph, or of one product, and stores the best.
#ifndef RLXGPU_TOOLS_TUNE_COMMAND_H_
#define RLXGPU_TOOLS_TUNE_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace rlxgpu::core::tools {

struct TuneCommand {
  std::string name = {};             // an example
  std::vector<int64_t> matmul = {};  // m, n, k: this product instead
  std::string dtype = "f32";         // of that product
  std::string adapter = {};          // part of a name; "": the default one
  double seconds = 120;
  bool again = false;
  int points = 24;  // sets of parameters tried for each call
};

// Returns the exit code.
int tune_command(const TuneCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_TUNE_COMMAND_H_

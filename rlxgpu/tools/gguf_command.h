// rlxgpu inspect MODEL.gguf: what a language model's file holds and needs. rlxgpu quantize: the same model in fewer
// bits.
#ifndef RLXGPU_TOOLS_GGUF_COMMAND_H_
#define RLXGPU_TOOLS_GGUF_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>

namespace rlxgpu::core::tools {

struct InspectGgufCommand {
  std::string model = {};
  int64_t context = 4096;  // tokens that the cache is for
  bool tensors = false;    // list every tensor, too
};
struct QuantizeCommand {
  std::string in = {}, out = {};  // .gguf or .safetensors; .gguf
  std::string type = {};          // "Q4_K"
  int threads = 0;                // 0: as many as the machine has
};

// 0; 1 when a file cannot be read or written; 2 when the arguments make no sense.
int inspect_gguf_command(const InspectGgufCommand& command, std::ostream& out, std::ostream& err);
int quantize_command(const QuantizeCommand& command, std::ostream& out, std::ostream& err, bool on_terminal);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_GGUF_COMMAND_H_

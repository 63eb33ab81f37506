// `rlxgpu inspect` and `rlxgpu run`: what an ONNX model is, and what it computes.
//
//   rlxgpu inspect model.onnx --extent batch=4
//   rlxgpu run model.onnx --input x=x.npy --output-dir out --profile --check
//
// Symbolic extents that neither --extent nor an input fixes are 1, which is said. Inputs that are not given are random.
#ifndef RLXGPU_TOOLS_MODEL_COMMAND_H_
#define RLXGPU_TOOLS_MODEL_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "rlxgpu/tools/model_input.h"

namespace rlxgpu::core::tools {

struct InspectCommand : ModelCommand {
  bool program = false;  // the listing, too
};
struct RunCommand : ModelCommand {
  std::string output_dir, trace;
  bool profile = false, check = false, baked = false;
  int64_t runs = 1;
  uint64_t seed = 1;
  std::string adapter;
};

// 0; 1 when the model cannot be had or its result is wrong; 2 when the arguments make no sense.
int inspect_command(const InspectCommand& command, std::ostream& out, std::ostream& err);
int run_command(const RunCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_MODEL_COMMAND_H_

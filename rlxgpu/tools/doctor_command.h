// `rlxgpu doctor`: whether a model's kernels are right on the adapters of this machine, step by step.
//
//   rlxgpu doctor model.onnx --extent batch=4
//
// Runs the model with verification (runtime/verify.h), with sizes free and baked, and says which step is wrong and
// which switch avoids it.
#ifndef RLXGPU_TOOLS_DOCTOR_COMMAND_H_
#define RLXGPU_TOOLS_DOCTOR_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "rlxgpu/tools/model_input.h"

namespace rlxgpu::core::tools {

struct DoctorCommand : ModelCommand {
  std::string adapter;               // "": all
  bool baked = false, free = false;  // only those; neither: both
  uint64_t seed = 1;
};

// 0: all is right; 1: something is wrong, or the model cannot be had; 2: the arguments make no sense.
int doctor_command(const DoctorCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_DOCTOR_COMMAND_H_

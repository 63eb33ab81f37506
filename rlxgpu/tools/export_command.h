// rlxgpu export NAME|model.onnx --web DIR: a bundle for pages (bundle.h), planned for every WebGPU.
#ifndef RLXGPU_TOOLS_EXPORT_COMMAND_H_
#define RLXGPU_TOOLS_EXPORT_COMMAND_H_

#include <ostream>
#include <string>

#include "rlxgpu/tools/model_input.h"

namespace rlxgpu::core::tools {

struct ExportCommand : ModelCommand {  // model: the name of an example, or an .onnx file
  std::string web;                     // the folder
};

// 0; 1 when there is no bundle to be had; 2 when the arguments make no sense.
int export_command(const ExportCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_EXPORT_COMMAND_H_

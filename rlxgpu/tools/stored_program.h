// StoredProgram: a program with the texts of its kernels, all that is needed to run it.
//
//   absl::StatusOr<StoredProgram> stored = program_from_json(json);
//   Engine::create(device, stored->view(), stored->texts());
#ifndef RLXGPU_TOOLS_STORED_PROGRAM_H_
#define RLXGPU_TOOLS_STORED_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/target.h"

namespace rlxgpu::tools {

struct StoredProgram {
  Program program;  // when it was read from a file, its kernels have bindings and immediates only
  Target target;
  std::vector<std::string> kernels;

  ProgramView view() const { return view_of(program, target); }
  std::vector<std::string_view> texts() const { return {kernels.begin(), kernels.end()}; }
};

}  // namespace rlxgpu::tools

#endif  // RLXGPU_TOOLS_STORED_PROGRAM_H_

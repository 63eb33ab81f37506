// The graphs of docs/examples by name, for commands that show or check one.
#ifndef RLXGPU_TOOLS_EXAMPLES_H_
#define RLXGPU_TOOLS_EXAMPLES_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/compile/recognise.h"
#include "rlxgpu/compile/rendered_program.h"

namespace rlxgpu::core::tools {

struct Example {
  std::string_view name, what;
  void (*build)(Builder&);
};

std::span<const Example> examples();

// Null when there is none of that name.
const Example* find_example(std::string_view name);

// The program of an example for a target, as the planner makes it, checked.
// `found`: the layers that were recognised in it.
absl::StatusOr<RenderedProgram> render(const Example& example, const Target& target = kPortable,
                                       Vec<Recognition>* found = nullptr);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_EXAMPLES_H_

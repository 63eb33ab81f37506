// RenderedProgram: a program with the texts of its kernels, all that is needed to run it, store it or look at it.
//
//   RenderedProgram rendered = render(compile(graph, target), target);
//   Engine::create(device, rendered.view(), rendered.texts());
//
// render bakes sizes into the kernels; render_free has them read at run time (free_sizes.h).
#ifndef RLXGPU_COMPILE_RENDERED_PROGRAM_H_
#define RLXGPU_COMPILE_RENDERED_PROGRAM_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/base/text.h"
#include "rlxgpu/compile/free_sizes.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::core {

struct RenderedProgram {
  Program program;  // when it was read from a file, its kernels have bindings and immediates only
  Target target;
  std::vector<std::string> kernels;

  ProgramView view() const { return view_of(program, target); }
  std::vector<std::string_view> texts() const { return {kernels.begin(), kernels.end()}; }
};

// Of a program with an error there are no kernels.
inline RenderedProgram render(Program program, const Target& target) {
  RenderedProgram rendered = {std::move(program), target, {}};
  if (!rendered.program.error.empty()) return rendered;
  for (size_t k = 0; k < rendered.program.kernels.specs.size(); ++k) {
    Text text;
    render_kernel(view_of(rendered.program.kernels), static_cast<int>(k), text);
    rendered.kernels.emplace_back(text.view());
  }
  return rendered;
}

inline RenderedProgram render_free(Program program, const Target& target) {
  RenderedProgram rendered = render(std::move(program), target);
  if (rendered.program.error.empty()) free_sizes(rendered.program, rendered.kernels, target);
  return rendered;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_RENDERED_PROGRAM_H_

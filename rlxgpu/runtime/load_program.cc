#include "rlxgpu/runtime/load_program.h"

#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/free_sizes.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::internal {

Result<Session> load_program(const Device& device, Program& program, const Target& target, bool free,
                             const EngineOptions& options) {
  std::vector<std::string> texts(program.kernels.specs.size());
  for (size_t k = 0; k < texts.size(); ++k) {
    Text text;
    render_kernel(view_of(program.kernels), static_cast<int>(k), text);
    texts[k] = std::string(text.view());
  }
  if (free) free_sizes(program, texts, target);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return Session::create(device, view_of(program, target), views, options);
}

}  // namespace rlxgpu::internal

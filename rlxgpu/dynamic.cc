#include "rlxgpu/dynamic.h"

#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/free_sizes.h"
#include "rlxgpu/runtime/trust.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::internal {

Result<Session> start_session(const Device& device, const Graph& graph, const DynamicOptions& options) {
  const Target target = options.target != nullptr ? *options.target : device.target();
  CompileOptions compile_options = options.compile;
  if (options.tuned && compile_options.chooser.choose == nullptr) compile_options.chooser = chooser_of(device);
  TrustContext trust = {device, target};
  if (compile_options.trust.trusts == nullptr) compile_options.trust = trust_in(trust);
  Program program = compile(graph, target, compile_options);
  if (!program.error.empty()) return invalid_argument(program.error.view());
  std::vector<std::string> texts(program.kernels.specs.size());
  std::vector<std::string_view> views;
  for (size_t k = 0; k < texts.size(); ++k) {
    Text text;
    render_kernel(view_of(program.kernels), static_cast<int>(k), text);
    texts[k] = std::string(text.view());
  }
  if (options.sizes == Sizes::free) free_sizes(program, texts, target);
  for (const std::string& text : texts) views.push_back(text);
  return Session::create(device, view_of(program, target), views, options.engine);
}

Result<Session> start_session(const Device& device, const Graph& graph, const EngineOptions& options) {
  DynamicOptions dynamic;
  dynamic.engine = options;
  dynamic.sizes = Sizes::baked;  // as the constant is
  return start_session(device, graph, dynamic);
}

}  // namespace rlxgpu::internal

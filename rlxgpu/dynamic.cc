#include "rlxgpu/dynamic.h"

#include <string>
#include <utility>

#include "rlxgpu/compile/check_choices.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/kernels/recognised.h"
#include "rlxgpu/runtime/say_choices.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/runtime/trust.h"
#include "rlxgpu/runtime/verify.h"

namespace rlxgpu::core::internal {

Result<Session> start_session(const Device& device, const Graph& graph, const DynamicOptions& options) {
  const Target target = options.target != nullptr ? *options.target : device.target();
  CompileOptions compile_options = options.compile;
  if (const std::string unknown = unknown_choice(graph, compile_options.choices); !unknown.empty())
    return invalid_argument(unknown);
  if (options.tuned && compile_options.chooser.choose == nullptr) compile_options.chooser = chooser_of(device);
  Origin origin;
  const bool verified = wants_verification(options.engine);
  if (verified) {
    if (Status status = can_verify(device); !status.ok()) return status;
    compile_options.origin = &origin;
  }
  const bool as_written = options.engine.as_written || !switches().recognise;
  Graph found;
  if (!as_written) found = recognised(graph, target, {.own = options.forms});
  Program program = compile_for(device, as_written ? graph : found, target, compile_options);
  if (!program.error.empty()) return invalid_argument(program.error.view());
  say_choices(device, graph, view_of(program, target), compile_options.choices, options.engine.label);
  EngineOptions engine = options.engine;
  if (verified) engine.checker = make_verifier(device, target, std::move(origin), view_of(program, target));
  const RenderedProgram rendered =
      options.sizes == Sizes::free ? render_free(std::move(program), target) : render(std::move(program), target);
  return Session::create(device, rendered.view(), rendered.texts(), engine);
}

Result<Session> start_session(const Device& device, const Graph& graph, const EngineOptions& options,
                              std::span<const Choice> choices) {
  DynamicOptions dynamic;
  dynamic.compile.choices = choices;
  dynamic.engine = options;
  dynamic.sizes = Sizes::baked;  // as the constant is
  return start_session(device, graph, dynamic);
}

}  // namespace rlxgpu::core::internal

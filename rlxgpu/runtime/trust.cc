#include "rlxgpu/runtime/trust.h"

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/dry.h"
#include "rlxgpu/runtime/session.h"

namespace rlxgpu::internal {
namespace {

// "" or what is wrong with the outputs of a program without inputs.
std::string compare_with_reference(Session& session, const Graph& graph) {
  const reference::Arrays expected = reference::run(graph, {});
  session.run();
  for (const auto& [name, array] : expected) {
    std::vector<uint32_t> words(storage_bytes(array.dtype, array.count()) / 4);
    const Status got = session.get(session.find_port(name), array.dtype, array.count(), words.data());
    if (!got.ok()) return std::string(got.message());
    const reference::Array actual = reference::unpack(array.dtype, array.shape, words);
    const reference::Comparison compared = reference::compare(actual, array, {});  // probes are exact
    if (!compared.right()) return absl::StrCat("a probe: ", compared.text());
  }
  return "";
}

bool trusts(void* context, const Call& call, const Variant& variant) {
  const TrustContext& where = *static_cast<TrustContext*>(context);
  DeviceState& state = *where.device.state();
  if (state.adapter.backend == Backend::null) return true;  // executes nothing

  Builder probe;
  variant.probe(probe, call);
  const Choice choice[] = {{call.op->name, variant.name}};
  CompileOptions options;
  options.choices = choice;
  const RenderedProgram rendered = render(compile(probe.graph(), where.target, options), where.target);
  const ProgramView view = rendered.view();
  std::string problem(rendered.program.error.view());
  bool tried = false;
  for (const Step& step : view.steps) tried = tried || view.name(step.label).ends_with(absl::StrCat("/", variant.name));
  if (problem.empty() && !tried) problem = "its probe does not use it";

  std::string key = absl::StrCat(call.op->name, "/", variant.name, "\n");
  for (const std::string& text : rendered.kernels) key += text;
  const std::lock_guard lock(state.trust_mutex);  // others wait for the answer
  if (const auto known = state.trusted.find(key); known != state.trusted.end()) return known->second;
  if (problem.empty()) {
    Result<Session> session = Session::create(where.device, view, rendered.texts(), {.label = "probe"});
    if (!session.ok()) {
      problem = std::string(session.status().message());
    } else if (is_dry(where.device)) {
      if (state.log)
        state.log(absl::StrCat("rlxgpu: ", call.op->name, "/", variant.name,
                               " is used without a trial: ", dry_text(where.device)));
    } else {
      problem = compare_with_reference(*session, probe.graph());
    }
  }
  state.trusted[key] = problem.empty();
  if (!problem.empty() && state.log) {
    state.log(absl::StrCat("rlxgpu: ", call.op->name, "/", variant.name, " is not used on ", state.adapter.label(),
                           ", where it is wrong (", problem, "): another kernel takes its place"));
  }
  return problem.empty();
}

}  // namespace

Trust trust_in(TrustContext& context) {
  if (!context.device) return {};
  return {trusts, &context};
}

}  // namespace rlxgpu::internal

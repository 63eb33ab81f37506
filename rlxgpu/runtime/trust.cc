#include "rlxgpu/runtime/trust.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/dry.h"
#include "rlxgpu/runtime/session.h"

namespace rlxgpu::core::internal {
namespace {

// Runs a program without inputs. OK, or what is wrong with its outputs, or why it could not be run.
absl::Status compare_with_reference(Session& session, const Graph& graph) {
  const reference::Arrays expected = reference::run(graph, {});
  session.run();  // an error of it is one of get(), too
  for (const auto& [name, array] : expected) {
    std::vector<uint32_t> words(storage_bytes(array.dtype, array.count()) / 4);
    const Status got = session.get(session.find_port(name), array.dtype, array.count(), words.data());
    if (!got.ok()) return got;
    const reference::Array actual = reference::unpack(array.dtype, array.shape, words);
    const reference::Comparison compared = reference::compare(actual, array, {});  // probes are exact
    if (!compared.right()) return absl::DataLossError(absl::StrCat("a probe: ", compared.text()));
  }
  return absl::OkStatus();
}

bool says_nothing(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

bool is_trusted(const Device& device, const Target& target, const Suspect& suspect) {
  if (!device) return true;
  DeviceState& state = *device.state();
  if (state.adapter.backend == Backend::null) return true;  // executes nothing

  const std::string name = absl::StrCat(suspect.op, "/", suspect.variant);
  const Choice choice[] = {{suspect.op, suspect.variant}};
  CompileOptions options;
  options.choices = choice;
  const RenderedProgram rendered = render(compile(suspect.probe, target, options), target);
  const ProgramView view = rendered.view();
  absl::Status status;
  if (!rendered.program.error.empty()) status = absl::InvalidArgumentError(rendered.program.error.view());
  bool tried = false;
  for (const Step& step : view.steps)
    tried = tried || view.name(step.label).ends_with(absl::StrCat("/", suspect.variant));
  if (status.ok() && !tried) status = absl::InternalError("its probe does not use it");

  std::string key = absl::StrCat(name, "\n");
  for (const std::string& text : rendered.kernels) key += text;
  const std::lock_guard lock(state.trust_mutex);  // others wait for the answer
  if (const auto known = state.trusted.find(key); known != state.trusted.end()) return known->second;
  if (status.ok()) {
    Result<Session> session = Session::create(device, view, rendered.texts(), {.label = "probe"});
    if (!session.ok()) {
      status = session.status();
    } else if (is_dry(device)) {
      if (state.log) state.log(absl::StrCat("rlxgpu: ", name, " is used without a trial: ", dry_text(device)));
    } else {
      status = compare_with_reference(*session, suspect.probe);
    }
  }
  if (says_nothing(status)) {
    if (state.log) {
      state.log(absl::StrCat("rlxgpu: ", name, " could not be tried on ", state.adapter.label(), " (", status.message(),
                             "): another kernel takes its place this time"));
    }
    return false;
  }
  state.trusted[key] = status.ok();
  if (!status.ok() && state.log) {
    state.log(absl::StrCat("rlxgpu: ", name, " is not used on ", state.adapter.label(), ", where it is wrong (",
                           status.message(), "): another kernel takes its place"));
  }
  return status.ok();
}

Program compile_for(const Device& device, const Graph& graph, const Target& target, CompileOptions options) {
  std::vector<Suspect> distrusted(options.distrusted.begin(), options.distrusted.end());
  Vec<Suspect>* const asked_for = options.suspects;
  for (;;) {
    Vec<Suspect> suspects;
    options.suspects = &suspects;
    options.distrusted = distrusted;
    Program program = compile(graph, target, options);
    const size_t before = distrusted.size();
    for (const Suspect& suspect : suspects) {
      if (!is_trusted(device, target, suspect)) distrusted.push_back(suspect);
    }
    if (distrusted.size() > before) continue;
    if (asked_for != nullptr) *asked_for = suspects;
    return program;
  }
}

}  // namespace rlxgpu::core::internal

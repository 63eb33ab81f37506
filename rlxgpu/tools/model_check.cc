#include "rlxgpu/tools/model_check.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/tools/progress_bar.h"

namespace rlxgpu::tools {
namespace {

using onnx::HostTensor;

reference::Array array_of(const HostTensor& tensor) {
  reference::Array array(*onnx::carrier_of(tensor.type()), onnx::shape_of(tensor.shape()));
  Result<std::vector<std::byte>> bytes = onnx::carried(tensor);
  if (!bytes.ok()) return array;
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(bytes->data()), bytes->size() / 4);
  return reference::unpack(array.dtype, array.shape, words);
}

std::vector<reference::Comparison> compare_outputs(const onnx::Model& model, const onnx::HostTensors& got,
                                                   const reference::Arrays& exact,
                                                   const std::vector<reference::Arrays>& samples) {
  constexpr double kUlps = 8;  // OpDef::accuracy, unless the op says otherwise
  std::vector<reference::Comparison> compared;
  for (const onnx::Port& port : model.outputs) {
    std::vector<reference::Array> shaken;
    for (const reference::Arrays& sample : samples) shaken.push_back(sample.at(port.graph_name));
    const reference::Array have = array_of(got.find(port.name)->second);
    compared.push_back(reference::compare(have, exact.at(port.graph_name), shaken, kUlps));
  }
  return compared;
}

bool on_terminal(const std::ostream& err) { return &err == &std::cerr && isatty(STDERR_FILENO) != 0; }

}  // namespace

bool check_outputs(const LoadedModel& loaded, const onnx::HostTensors& got, std::ostream& out, std::ostream& err) {
  const onnx::Model& model = loaded.model;
  reference::Arrays data;
  for (const onnx::Port& port : model.inputs) {
    if (!port.graph_name.empty()) data[port.graph_name] = array_of(loaded.inputs.find(port.name)->second);
  }
  for (const onnx::Parameter& parameter : model.parameters) data[parameter.name] = array_of(parameter.elements);

  // One evaluation as defined, and others with every op as wrong as rounding makes it: as many as it takes to explain
  // the difference, since bounds grow with every one of them.
  std::vector<reference::Comparison> compared;
  {
    ProgressBar bar(err, on_terminal(err));
    bar.show(0, 1 + reference::kSamples, "evaluations of the references");
    const reference::Arrays exact = reference::run(model.graph.graph(), data, {.round = false});
    std::vector<reference::Arrays> samples;
    for (int s = 0; s < reference::kSamples; ++s) {
      bar.show(1 + s, 1 + reference::kSamples, "evaluations of the references, shaken by rounding");
      reference::Shaker shaker(static_cast<uint64_t>(s));
      samples.push_back(reference::run(model.graph.graph(), data, {.shaker = &shaker}));
      compared = compare_outputs(model, got, exact, samples);
      if (std::all_of(compared.begin(), compared.end(), [](const auto& output) { return output.right(); })) break;
    }
  }
  bool right = true;
  for (size_t k = 0; k < model.outputs.size(); ++k) {
    const reference::Comparison& output = compared[k];
    right = right && output.right();
    out << absl::StrFormat("check     %s differs from the double reference by %.1e where rounding explains %.1e: %s",
                           model.outputs[k].name, std::abs(output.worst.got - output.worst.expected),
                           output.worst.bound, output.right() ? "right" : absl::StrCat("WRONG in ", output.text()));
    if (output.unsure > 0)
      out << absl::StrFormat(" (elements that jump by rounding: %d of %d)", output.unsure, output.count);
    out << "\n";
  }
  return right;
}

Result<std::vector<StepVerdict>> verify_steps(const Device& device, const LoadedModel& loaded, Sizes sizes,
                                              std::ostream& err) {
  ProgressBar bar(err, on_terminal(err));
  DynamicOptions options;
  options.sizes = sizes;
  options.engine.verify = true;
  options.engine.label = "verification";
  options.engine.verify_progress = [&](const Progress& now) { bar.show(now.done, now.total, now.label); };
  Switches all = switches();  // also for the programs that prepare weights
  all.verify = true;
  const ScopedSwitches scoped(all);
  Result<onnx::Session> session = onnx::Session::create(device, loaded.model, options);
  if (!session.ok()) return session.status();
  for (const onnx::Port& port : loaded.model.inputs) {
    if (Status status = session->set(port.name, loaded.inputs.find(port.name)->second); !status.ok()) return status;
  }
  const absl::Status status = session->run().wait();
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  return session->executable().engine().verdicts();
}

bool report_steps(const std::vector<StepVerdict>& steps, const onnx::Model& model, std::ostream& out) {
  size_t wrong = 0, unverified = 0;
  int64_t unsure = 0;
  std::set<std::string> ways_out;
  for (const StepVerdict& step : steps) {
    unsure += step.unsure;
    wrong += step.kind == StepVerdict::Kind::wrong;
    unverified += step.kind == StepVerdict::Kind::unverified;
    if (step.kind == StepVerdict::Kind::right) continue;
    const std::string_view node = model.node_of(step.line);
    out << "step      " << step.text() << (node.empty() ? "" : absl::StrCat(" (", node, ")")) << "\n";
    if (!step.way_out.empty()) ways_out.insert(step.way_out.substr(step.way_out.find('=') + 1));
  }
  out << absl::StrFormat("steps     %d compared one by one: %s", steps.size() - unverified,
                         wrong == 0 ? "all right" : absl::StrCat(wrong, " WRONG"));
  if (unverified > 0) out << absl::StrFormat(", %d could not be", unverified);
  if (unsure > 0) out << absl::StrFormat(" (elements that jump by rounding: %d)", unsure);
  out << "\n";
  if (!ways_out.empty()) out << "way out   RLXGPU_FORBID=" << absl::StrJoin(ways_out, ",") << "\n";
  return wrong == 0;
}

}  // namespace rlxgpu::tools

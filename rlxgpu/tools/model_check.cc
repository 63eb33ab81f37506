#include "rlxgpu/tools/model_check.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/tools/progress_bar.h"

namespace rlxgpu::core::tools {
namespace {

using onnx::HostTensor;

reference::Array array_of(const HostTensor& tensor) {
  reference::Array array(*onnx::carrier_of(tensor.type()), onnx::shape_of(tensor.shape()));
  Result<std::vector<std::byte>> bytes = onnx::to_device_bytes(tensor);
  if (!bytes.ok()) return array;
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(bytes->data()), bytes->size() / 4);
  return reference::unpack(array.dtype, array.shape, words);
}

// What there is of an output that is as long as the data say, by the outcome's own count.
reference::Array cut(const onnx::Port& port, const reference::Arrays& outcome) {
  const reference::Array& whole = outcome.at(port.graph_name);
  if (port.count_name.empty()) return whole;
  const int axis = port.count_axis;
  const auto count = static_cast<int64_t>(outcome.at(port.count_name).data[0]);
  Shape shape = whole.shape;
  shape.set(axis, Dim(count));
  reference::Array part(whole.dtype, shape);
  const int64_t inner = whole.shape.count(axis + 1, whole.shape.rank()) * (whole.dtype == c64 ? 2 : 1);
  for (int64_t row = 0; row < whole.shape.count(0, axis); ++row) {
    const auto from = whole.data.begin() + row * whole.shape[axis] * inner;
    std::copy_n(from, count * inner, part.data.begin() + row * count * inner);
  }
  return part;
}

std::vector<reference::Comparison> compare_outputs(const onnx::Model& model, const onnx::HostTensors& got,
                                                   const reference::Arrays& exact,
                                                   std::span<const reference::Arrays> samples) {
  constexpr double kUlps = 8;  // OpDef::accuracy, unless the op says otherwise
  std::vector<reference::Comparison> compared;
  for (const onnx::Port& port : model.outputs) {
    std::vector<reference::Array> shaken;
    for (const reference::Arrays& sample : samples) shaken.push_back(cut(port, sample));
    const reference::Array have = array_of(got.find(port.name)->second);
    const reference::Array want = cut(port, exact);
    std::erase_if(shaken, [&](const reference::Array& sample) { return sample.data.size() != want.data.size(); });
    compared.push_back(reference::compare(have, want, shaken, kUlps));
  }
  return compared;
}

bool on_terminal(const std::ostream& err) { return &err == &std::cerr && isatty(STDERR_FILENO) != 0; }

}  // namespace

ModelReference::ModelReference(const LoadedModel& loaded) : loaded_(loaded) {
  for (const onnx::Port& port : model().inputs) {
    if (!port.graph_name.empty()) data_[port.graph_name] = array_of(loaded.inputs.find(port.name)->second);
  }
  for (const onnx::Parameter& parameter : model().parameters) data_[parameter.name] = array_of(parameter.elements);
}

std::vector<reference::Comparison> ModelReference::compare(const onnx::HostTensors& got, std::ostream& err) {
  const Graph& graph = model().graph.graph();
  ProgressBar bar(err, on_terminal(err));
  if (exact_.empty()) {
    bar.show(0, 1 + reference::kSamples, "evaluations of the references");
    exact_ = reference::run(graph, data_, {.round = false});
  }
  // As many outcomes as it takes to explain the difference, since bounds grow with every one of them.
  std::vector<reference::Comparison> compared;
  for (size_t count = 1; count <= reference::kSamples; ++count) {
    if (samples_.size() < count) {
      bar.show(static_cast<int>(count), 1 + reference::kSamples, "evaluations of the references, shaken by rounding");
      reference::Shaker shaker(count - 1);
      samples_.push_back(reference::run(graph, data_, {.shaker = &shaker}));
    }
    compared = compare_outputs(model(), got, exact_, {samples_.data(), count});
    if (std::all_of(compared.begin(), compared.end(), [](const auto& output) { return output.right(); })) break;
  }
  return compared;
}

bool check_outputs(ModelReference& reference, const onnx::HostTensors& got, std::ostream& out, std::ostream& err) {
  const onnx::Model& model = reference.model();
  const std::vector<reference::Comparison> compared = reference.compare(got, err);
  bool right = true;
  for (size_t k = 0; k < model.outputs.size(); ++k) {
    const reference::Comparison& output = compared[k];
    right = right && output.right() && !output.nothing_compared();
    out << absl::StrFormat("check     %s differs from the double reference by %.1e where rounding explains %.1e: %s",
                           model.outputs[k].name, std::abs(output.worst.got - output.worst.expected),
                           output.worst.bound,
                           !output.right()             ? absl::StrCat("WRONG in ", output.text())
                           : output.nothing_compared() ? "NOT COMPARED"
                                                       : "right");
    if (output.undefined > 0)
      out << absl::StrFormat(" (NaN by the reference, hence not compared: %d of %d)", output.undefined, output.count);
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
  const size_t compared = steps.size() - unverified;
  out << absl::StrFormat("steps     %d compared one by one: %s", compared,
                         wrong > 0      ? absl::StrCat(wrong, " WRONG")
                         : compared > 0 ? "all right"
                                        : "none");
  if (unverified > 0) out << absl::StrFormat(", %d could not be", unverified);
  if (unsure > 0) out << absl::StrFormat(" (elements that jump by rounding: %d)", unsure);
  out << "\n";
  if (!ways_out.empty()) out << "way out   RLXGPU_FORBID=" << absl::StrJoin(ways_out, ",") << "\n";
  return wrong == 0;
}

}  // namespace rlxgpu::core::tools

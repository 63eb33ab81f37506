#include "rlxgpu/runtime/verify.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/extract.h"
#include "rlxgpu/graph/element.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/dry.h"
#include "rlxgpu/runtime/engine_state.h"
#include "rlxgpu/runtime/simplest_variant.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu::core::internal {
namespace {

using reference::Array;
using reference::Arrays;

// Arithmetic of an op that the host does by itself: some tenths of a second, less than a driver takes to compile a
// kernel.
constexpr double kMostFlopsOnHost = 4e6;

// A group of ops as a graph of its own, with what the device held before its steps.
struct Group {
  Graph graph;
  Vec<int32_t> origin;  // by value: of Origin::graph
  int32_t anchor = -1;  // the kernel op: a node of `graph`
  int32_t output = -1;  // of Origin::graph: these steps only copy it
  Arrays inputs, states;
  reference::Numbers numbers;
};

std::string types_of_operands(const Graph& graph, const Node& node) {
  std::string text;
  for (int k = 0; k < node.operands.count; ++k)
    absl::StrAppend(&text, " ", text_of(graph.value(graph.operand(node, k))));
  return text;
}

// "matmul f32[8,64] f32[64,16] -> f32[8,16] +add"; of a group of maps "map f32[8] -> f32[8] +add +tanh".
std::string call_text(const Group& group) {
  const Graph& graph = group.graph;
  std::string text = "map", maps;
  if (group.anchor >= 0) {
    const Node& node = graph.node(group.anchor);
    text = absl::StrCat(node.op->name, types_of_operands(graph, node));
  } else {
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::op && node.kind != NodeKind::constant && node.kind != NodeKind::scalar)
        absl::StrAppend(&text, " ", text_of(graph.value(node.results.first)));
    }
  }
  text += " ->";
  for (const Output& output : graph.outputs) absl::StrAppend(&text, " ", text_of(graph.value(output.value)));
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::op && node.op->at != nullptr) absl::StrAppend(&maps, " +", node.op->name);
  }
  return text + maps;
}

double flops_of(const Graph& graph, const Node& node) {
  const Call call = call_of(graph, node);
  return node.op->cost != nullptr ? node.op->cost(call).flops : 0;
}

class Verifier : public StepChecker {
 public:
  Verifier(const Device& device, const Target& target, Origin origin, const ProgramView& program)
      : device_(device), target_(target), origin_(std::move(origin)) {
    group_of_.resize(program.steps.size(), -1);
    for (size_t g = 0; g < origin_.groups.size(); ++g) {
      const Range steps = origin_.groups[g].steps;
      for (int32_t s = 0; s < steps.count; ++s) group_of_[static_cast<size_t>(steps.first + s)] = static_cast<int>(g);
    }
    port_of_.resize(program.tensors.size(), -1);
    for (size_t p = 0; p < program.ports.size(); ++p)
      port_of_[static_cast<size_t>(program.ports[p].tensor)] = static_cast<int>(p);
  }

  void begin_run(EngineState&) override { verdicts_.clear(); }

  absl::Status before_step(EngineState& engine, size_t step) override {
    const int g = group_of_[step];
    if (g < 0 || static_cast<size_t>(origin_.groups[static_cast<size_t>(g)].steps.first) != step)
      return absl::OkStatus();
    return read_inputs(engine, origin_.groups[static_cast<size_t>(g)]);
  }

  absl::Status after_step(EngineState& engine, size_t step) override {
    const int g = group_of_[step];
    if (g < 0) {  // nothing that is not compared goes without saying
      StepVerdict verdict;
      verdict.kind = StepVerdict::Kind::unverified;
      verdict.step = static_cast<int>(step);
      verdict.label = engine.steps[step].label;
      verdict.findings = "it belongs to no ops of the graph";
      verdicts_.push_back(std::move(verdict));
      return absl::OkStatus();
    }
    const GroupSteps& group = origin_.groups[static_cast<size_t>(g)];
    if (static_cast<size_t>(group.steps.first + group.steps.count) != step + 1) return absl::OkStatus();
    StepVerdict verdict = described(engine, group);
    if (engine.verify_progress)
      engine.verify_progress({static_cast<int>(step), static_cast<int>(engine.steps.size()), verdict.label});
    if (absl::Status status = judge(engine, verdict); !status.ok()) return status;
    if (verdict.kind == StepVerdict::Kind::wrong) switches().say(absl::StrCat(engine.label, ": ", verdict.text()));
    verdicts_.push_back(std::move(verdict));
    group_ = Group();
    return absl::OkStatus();
  }

  absl::Status end_run(EngineState& engine) override {
    for (const StepVerdict& verdict : verdicts_) {
      if (verdict.kind == StepVerdict::Kind::wrong)
        return absl::DataLossError(absl::StrCat(engine.label, ": ", verdict.text()));
    }
    return absl::OkStatus();
  }

  const std::vector<StepVerdict>& verdicts() const override { return verdicts_; }

 private:
  // Where the tensor is now: ports may be bound to other memory than at first.
  Slice slice_of(const EngineState& engine, int32_t tensor) const {
    Slice slice = engine.tensors[static_cast<size_t>(tensor)].slice;
    const int port = port_of_[static_cast<size_t>(tensor)];
    if (port < 0) return slice;
    const Slice& bound = engine.slice_of((*engine.ports)[static_cast<size_t>(port)]);
    slice.buffer = bound.buffer, slice.offset = bound.offset, slice.lease = bound.lease;
    return slice;
  }

  Shape current_shape(const Shape& built) const {
    Shape shape;
    for (int axis = 0; axis < built.rank(); ++axis) {
      const int symbol = built.symbol(axis);
      if (symbol < 0) {
        shape.push_back(Dim(built[axis]));
        continue;
      }
      const Node& scalar = origin_.graph.node(origin_.graph.scalars[static_cast<size_t>(symbol)]);
      shape.push_back(Dim(static_cast<int64_t>(group_.numbers.find(origin_.graph.name(scalar.name))->second)));
    }
    return shape;
  }

  // Memory is laid out for the largest extents; the array has those of this run.
  absl::StatusOr<Array> read(const EngineState& engine, int32_t tensor) const {
    const TensorType& built = engine.tensors[static_cast<size_t>(tensor)].type;
    Array array(built.dtype, current_shape(built.shape));
    if (array.count() == 0) return array;
    const Slice slice = slice_of(engine, tensor);
    std::vector<std::byte> bytes(slice.bytes);
    if (absl::Status status = engine.device->read(slice.buffer, slice.offset, bytes); !status.ok()) return status;
    const Strides strides = dense_strides(built.shape);
    const size_t parts = built.dtype == c64 ? 2 : 1;
    for (int64_t i = 0; i < array.count(); ++i) {
      int64_t at = i;
      if (built.shape.dynamic()) {
        const reference::Index index = array.index_of(i);
        at = 0;
        for (int axis = 0; axis < array.shape.rank(); ++axis) at += index[axis] * strides[axis];
      }
      for (size_t part = 0; part < parts; ++part) {
        array.data[static_cast<size_t>(i) * parts + part] =
            number_at(built.dtype, bytes, static_cast<size_t>(at) * parts + part);
      }
    }
    return array;
  }

  // A state that a kernel op changes in place is at its port, whatever copy others read.
  int32_t tensor_of(const EngineState& engine, const Node& source) const {
    const int32_t value = group_.origin[static_cast<size_t>(source.results.first)];
    const int32_t known = origin_.tensor_of[static_cast<size_t>(value)];
    if (source.kind != NodeKind::state || group_.anchor < 0) return known;
    const Node& anchor = group_.graph.node(group_.anchor);
    if (anchor.op->in_place < 0 || group_.graph.operand(anchor, anchor.op->in_place) != source.results.first)
      return known;
    const int32_t changed = tensor_of_port(engine, BufferRole::state, group_.graph.name(source.name));
    return changed >= 0 ? changed : known;
  }

  int32_t tensor_of_port(const EngineState& engine, BufferRole role, std::string_view name) const {
    for (size_t t = 0; t < port_of_.size(); ++t) {
      if (port_of_[t] < 0) continue;
      const EnginePort& port = (*engine.ports)[static_cast<size_t>(port_of_[t])];
      if (port.role == role && port.name == name) return static_cast<int32_t>(t);
    }
    return -1;
  }
  std::string_view copied_name() const {
    return origin_.graph.name(origin_.graph.outputs[static_cast<size_t>(group_.output)].name);
  }

  absl::Status read_inputs(const EngineState& engine, const GroupSteps& steps) {
    group_ = Group();
    group_.output = steps.output;
    if (steps.output >= 0) {
      const int32_t value = origin_.graph.outputs[static_cast<size_t>(steps.output)].value;
      group_.graph = extract_copy(origin_.graph, origin_.fusion, value, &group_.origin);
    } else {
      group_.graph = extract_group(origin_.graph, origin_.fusion, steps.root, &group_.origin);
    }
    const int32_t anchor = steps.output >= 0 ? -1 : origin_.fusion.anchor[static_cast<size_t>(steps.root)];
    for (size_t n = 0; n < group_.graph.nodes.size(); ++n) {
      const Node& node = group_.graph.node(static_cast<int32_t>(n));
      const int32_t value = group_.origin[static_cast<size_t>(node.results.first)];
      if (anchor >= 0 && node.kind == NodeKind::op && origin_.graph.value(value).node == anchor)
        group_.anchor = static_cast<int32_t>(n);
    }
    for (const int32_t scalar : group_.graph.scalars) {
      const Node& node = group_.graph.node(scalar);
      const std::string name(group_.graph.name(node.name));
      for (const EngineScalar& known : engine.scalars) {
        if (known.name == name)
          group_.numbers[name] = number_of(known.word, group_.graph.value(node.results.first).dtype);
      }
    }
    for (const Node& node : group_.graph.nodes) {
      if (node.kind != NodeKind::input && node.kind != NodeKind::param && node.kind != NodeKind::state) continue;
      absl::StatusOr<Array> array = read(engine, tensor_of(engine, node));
      if (!array.ok()) return array.status();
      Arrays& where = node.kind == NodeKind::state ? group_.states : group_.inputs;
      where[std::string(group_.graph.name(node.name))] = *std::move(array);
    }
    return absl::OkStatus();
  }

  // The step that computes the kernel op, by its label, or the last.
  StepVerdict described(const EngineState& engine, const GroupSteps& group) const {
    StepVerdict verdict;
    verdict.step = group.steps.first;
    verdict.call = call_text(group_);
    const auto steps =
        std::span(engine.steps).subspan(static_cast<size_t>(group.steps.first), static_cast<size_t>(group.steps.count));
    verdict.label = steps.back().label;
    const Node& root = origin_.graph.node(group.root);
    verdict.line = root.site.line, verdict.file = root.site.file;
    if (group_.anchor < 0) return verdict;
    const Node& anchor = group_.graph.node(group_.anchor);
    verdict.line = anchor.site.line, verdict.file = anchor.site.file;
    for (const EngineStep& step : steps) {
      const std::string_view label = step.label, name = anchor.op->name;
      if (label.starts_with(name) && label.size() > name.size() &&
          (label[name.size()] == '/' || label[name.size()] == '+'))
        verdict.label = step.label;
    }
    return verdict;
  }

  // Everything the group writes, by name: its results, and its states after it. `missed`: results that are in no memory
  // of their own.
  absl::StatusOr<Arrays> written(const EngineState& engine, std::string& missed) const {
    Arrays arrays;
    for (const Output& output : group_.graph.outputs) {
      const int32_t tensor =
          group_.output >= 0 ? tensor_of_port(engine, BufferRole::output, copied_name())
                             : origin_.tensor_of[static_cast<size_t>(group_.origin[static_cast<size_t>(output.value)])];
      if (tensor < 0) {
        miss(group_.graph.name(output.name), "is in no memory of its own", missed);
        continue;
      }
      absl::StatusOr<Array> array = read(engine, tensor);
      if (!array.ok()) return array.status();
      arrays[std::string(group_.graph.name(output.name))] = *std::move(array);
    }
    for (const Node& node : group_.graph.nodes) {
      if (node.kind != NodeKind::state) continue;
      absl::StatusOr<Array> array = read(engine, tensor_of(engine, node));
      if (!array.ok()) return array.status();
      arrays[std::string(group_.graph.name(node.name))] = *std::move(array);
    }
    return arrays;
  }

  static void miss(std::string_view name, std::string_view why, std::string& missed) {
    absl::StrAppend(&missed, missed.empty() ? "" : ", ", "\"", name, "\" ", why);
  }

  // Elements of a step that were looked at.
  struct Tally {
    int64_t count = 0, unsure = 0;
    int64_t undefined = 0;  // NaN by the reference and a number on the device: not compared
    std::string missed;     // results that the reference does not give
    std::string failure;    // why nothing could be computed to compare with
    bool nothing_compared() const { return count > 0 && undefined == count; }
  };

  // The same by references, or `plain` for the op that it computes. When that is not possible, `tally` says why.
  Arrays evaluated(SimplestVariant* plain, reference::Shaker* shaker, Tally& tally) const {
    Arrays states = group_.states;
    reference::RunOptions options;
    options.numbers = group_.numbers;
    options.states = &states;
    options.shaker = shaker;
    options.error = &tally.failure;
    if (plain != nullptr)
      options.compute = [plain](const Node& node, reference::Call& call) { return plain->compute(node, call); };
    Arrays arrays = reference::run(group_.graph, group_.inputs, options);
    if (plain != nullptr && tally.failure.empty()) tally.failure = plain->status().message();
    arrays.merge(states);
    return arrays;
  }

  // "" or what is wrong. Bounds grow with every sample: what is right by a few is right by all.
  std::string difference(const Arrays& got, SimplestVariant* plain, Tally& tally) const {
    double ulps = 0;
    for (const Node& node : group_.graph.nodes) {
      if (node.kind == NodeKind::op && node.op->view == nullptr && !node.op->reads_elsewhere && !node.op->keeps_order)
        ulps = std::max(ulps, node.op->accuracy.ulps);
    }
    const Arrays exact = evaluated(plain, nullptr, tally);
    if (!tally.failure.empty()) return tally.failure;
    std::vector<Arrays> samples;
    std::string problem = first_difference(got, exact, samples, ulps, tally);
    for (uint64_t s = 0; s < reference::kSamples && !problem.empty(); ++s) {
      reference::Shaker shaker(s);
      samples.push_back(evaluated(plain, &shaker, tally));
      if (!tally.failure.empty()) return tally.failure;
      problem = first_difference(got, exact, samples, ulps, tally);
    }
    return problem;
  }
  static std::string first_difference(const Arrays& got, const Arrays& exact, const std::vector<Arrays>& samples,
                                      double ulps, Tally& tally) {
    tally = Tally();
    for (const auto& [name, array] : got) {
      const auto expected = exact.find(name);
      if (expected == exact.end()) {
        miss(name, "is not given by the reference", tally.missed);
        continue;
      }
      std::vector<Array> shaken;
      for (const Arrays& sample : samples) shaken.push_back(sample.find(name)->second);
      const reference::Comparison compared = reference::compare(array, expected->second, shaken, ulps);
      if (!compared.right()) return compared.text();
      tally.unsure += static_cast<int64_t>(compared.unsure);
      tally.count += static_cast<int64_t>(compared.count);
      tally.undefined += static_cast<int64_t>(compared.undefined);
    }
    return "";
  }

  absl::Status judge(const EngineState& engine, StepVerdict& verdict) const {
    std::string missed;
    absl::StatusOr<Arrays> got = written(engine, missed);
    if (!got.ok()) return got.status();
    const std::string_view label = verdict.label, chosen = label.substr(label.rfind('/') + 1);
    const bool large =
        group_.anchor >= 0 && flops_of(group_.graph, group_.graph.node(group_.anchor)) > kMostFlopsOnHost;
    if (large) {
      Result<std::unique_ptr<SimplestVariant>> plain =
          SimplestVariant::create(device_, target_, group_.graph, group_.anchor, chosen, group_.numbers);
      if (!plain.ok()) return plain.status();
      if (*plain != nullptr) {
        verdict.against = (*plain)->name();
        Tally tally;
        if (difference(*got, plain->get(), tally).empty() && !tally.nothing_compared() && tally.missed.empty()) {
          verdict.unsure = tally.unsure;
          if (!missed.empty()) verdict.kind = StepVerdict::Kind::unverified, verdict.findings = missed;
          return absl::OkStatus();
        }
        // One of the two is wrong: the reference knows which.
      }
    }
    verdict.against = "the reference";
    Tally tally;
    verdict.findings = difference(*got, nullptr, tally);
    verdict.unsure = tally.unsure;
    if (verdict.findings.empty()) {
      if (tally.nothing_compared()) {
        verdict.findings = "all of it is NaN by the reference, and numbers on the device";
      } else {
        verdict.findings = absl::StrCat(missed, missed.empty() || tally.missed.empty() ? "" : ", ", tally.missed);
      }
      if (!verdict.findings.empty()) verdict.kind = StepVerdict::Kind::unverified;
      return absl::OkStatus();
    }
    verdict.kind = tally.failure.empty() ? StepVerdict::Kind::wrong : StepVerdict::Kind::unverified;
    if (verdict.kind == StepVerdict::Kind::unverified) return absl::OkStatus();
    if (group_.anchor >= 0) verdict.way_out = way_around(chosen);
    return absl::OkStatus();
  }

  // The switch that makes another variant of the group's kernel op take its place, if there is any.
  std::string way_around(std::string_view chosen) const {
    SimplestChooser chooser;
    compile(group_.graph, target_, {.simplify = false, .chooser = {SimplestChooser::choose, &chooser}});
    const bool others = std::any_of(chooser.accepted.begin(), chooser.accepted.end(),
                                    [&](const std::string& variant) { return variant != chosen; });
    return others ? absl::StrCat("RLXGPU_FORBID=", group_.graph.node(group_.anchor).op->name, "/", chosen)
                  : std::string();
  }

  const Device device_;
  const Target target_;
  const Origin origin_;
  std::vector<int> group_of_;  // by step
  std::vector<int> port_of_;   // by tensor, or -1
  Group group_;                // that is being run
  std::vector<StepVerdict> verdicts_;
};

}  // namespace

bool wants_verification(const EngineOptions& options) { return options.verify || switches().verify; }

Status can_verify(const Device& device) {
  if (!is_dry(device)) return {};
  return absl::FailedPreconditionError(absl::StrCat("verify: ", dry_text(device)));
}

std::shared_ptr<StepChecker> make_verifier(const Device& device, const Target& target, Origin origin,
                                           const ProgramView& program) {
  return std::make_shared<Verifier>(device, target, std::move(origin), program);
}

}  // namespace rlxgpu::core::internal

#include "rlxgpu/load/weight_part.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "rlxgpu/base/hash_index.h"

namespace rlxgpu::core {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of one result that is kept
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;   // of results that are computed together

enum class Needs : uint8_t { nothing, weights, inputs };

// Copies the parts of a graph that some values need into another.
class Copier {
 public:
  Copier(const Graph& from, Builder& to, const std::map<int32_t, std::string>& known)
      : from_(from), to_(to), known_(known) {
    for (const int32_t scalar : from.scalars) {  // all of them, in order: shapes know them by their number
      const Node& node = from.node(scalar);
      const auto most = from.attributes(node);
      const std::string_view name = from.name(node.name);
      taken_[node.results.first] = most.empty() ? to.scalar(name, from.value(node.results.first).dtype, node.site)
                                                : to.extent_value(to.extent(name, most[0], node.site));
    }
  }

  // What a value needs comes before it. By a list, since chains may be longer than a stack is deep.
  Tensor take(int32_t wanted) {
    std::vector<int32_t> open = {wanted};
    while (!open.empty()) {
      const int32_t value = open.back();
      const Node& node = from_.producer(value);
      const size_t before = open.size();
      if (node.kind == NodeKind::op && !taken_.contains(value) && !known_.contains(value)) {
        for (int k = node.operands.count; k-- > 0;) {
          if (!taken_.contains(from_.operand(node, k))) open.push_back(from_.operand(node, k));
        }
      }
      if (open.size() > before) continue;
      take_one(value);
      open.pop_back();
    }
    return taken_.at(wanted);
  }

 private:
  // Its operands are taken.
  Tensor take_one(int32_t value) {
    if (const auto found = taken_.find(value); found != taken_.end()) return found->second;
    if (const auto found = known_.find(value); found != known_.end()) {
      return taken_[value] = to_.param(found->second, from_.value(value).dtype, from_.value(value).shape);
    }
    const Node& node = from_.producer(value);
    const Value& type = from_.value(value);
    const std::string_view name = from_.name(node.name);
    switch (node.kind) {
      case NodeKind::input:
        return taken_[value] = to_.input(name, type.dtype, type.shape, node.site);
      case NodeKind::param:
        return taken_[value] = to_.param(name, type.dtype, type.shape, node.site);
      case NodeKind::state:
        return taken_[value] = to_.state(name, type.dtype, type.shape, node.site);
      case NodeKind::scalar:  // taken by the constructor
      case NodeKind::constant:
        return taken_[value] = to_.constant(
                   type.dtype, type.shape,
                   {from_.words.data() + node.words.first, static_cast<size_t>(node.words.count)}, node.site);
      case NodeKind::op:
        break;
    }
    std::vector<Tensor> operands;
    for (int k = 0; k < node.operands.count; ++k) operands.push_back(taken_.at(from_.operand(node, k)));
    const int32_t first = to_.append(*node.op, operands, from_.attributes(node), node.site);
    for (int k = 0; k < node.results.count; ++k) taken_[node.results.first + k] = {&to_, first < 0 ? -1 : first + k};
    return taken_[value];
  }

  const Graph& from_;
  Builder& to_;
  const std::map<int32_t, std::string>& known_;  // results that are weights there
  std::map<int32_t, Tensor> taken_;
};

class Splitter {
 public:
  explicit Splitter(const Graph& graph) : graph_(graph), needs_(graph.values.size()), hashes_(graph.values.size()) {}

  WeightPart run(const PreparedWeights& prepared) {
    for (const Node& node : graph_.nodes) look_at(node);
    WeightPart part;
    if (graph_.scalars.empty()) {
      for (const Node& node : graph_.nodes) {
        for (int k = 0; k < node.operands.count && needs(node.results.first) == Needs::inputs; ++k)
          keep(graph_.operand(node, k));
      }
      for (const Output& output : graph_.outputs) keep(output.value);
    }
    const std::map<int32_t, std::string> none;
    Copier once(graph_, *part.once, none), rest(graph_, *part.rest, kept_);
    for (const auto& [value, name] : kept_) {
      if (prepared.contains(name)) continue;
      part.once->output(name, once.take(value));
      part.names.push_back(name);
    }
    for (const Node& node : graph_.nodes) {  // in their order: ops that change a state, and inputs that nobody reads
      if (node.kind != NodeKind::constant && node.kind != NodeKind::param && needs(node.results.first) == Needs::inputs)
        rest.take(node.results.first);
    }
    for (const Output& output : graph_.outputs) part.rest->output(graph_.name(output.name), rest.take(output.value));
    if (!graph_.ok()) part.rest->graph().error = graph_.error;
    return part;
  }

 private:
  Needs needs(int32_t value) const { return needs_[static_cast<size_t>(value)]; }

  void look_at(const Node& node) {
    Needs most = node.kind == NodeKind::constant ? Needs::nothing
                 : node.kind == NodeKind::param  ? Needs::weights
                 : node.kind == NodeKind::op     ? Needs::nothing
                                                 : Needs::inputs;
    Hash hash;
    hash << static_cast<uint64_t>(node.kind);
    if (node.kind == NodeKind::op) {
      hash << node.op->name;
      for (const int64_t attr : graph_.attributes(node)) hash << static_cast<uint64_t>(attr);
      for (int k = 0; k < node.operands.count; ++k) {
        const auto operand = static_cast<size_t>(graph_.operand(node, k));
        most = std::max(most, needs_[operand]);
        hash << hashes_[operand];
      }
      if (node.op->in_place >= 0) most = Needs::inputs;
    } else if (node.kind == NodeKind::constant) {
      const Value& type = graph_.value(node.results.first);
      hash << static_cast<uint64_t>(type.dtype) << static_cast<uint64_t>(type.shape.rank());
      for (int axis = 0; axis < type.shape.rank(); ++axis) hash << static_cast<uint64_t>(type.shape[axis]);
      for (int i = 0; i < node.words.count; ++i)
        hash << uint64_t{graph_.words[static_cast<size_t>(node.words.first + i)]};
    } else {
      hash << graph_.name(node.name);
    }
    for (int k = 0; k < node.results.count; ++k) {
      const auto value = static_cast<size_t>(node.results.first + k);
      needs_[value] = most;
      Hash own = hash;
      own << static_cast<uint64_t>(k);
      hashes_[value] = own.value();
    }
  }

  // A value that somebody else reads: what it is a view of is kept, unless that is a weight as it is.
  void keep(int32_t value) {
    if (needs(value) != Needs::weights) return;
    const Node* from = &graph_.producer(value);
    while (from->kind == NodeKind::op && from->op->view != nullptr) {
      value = graph_.operand(*from, 0);
      from = &graph_.producer(value);
    }
    const Value& type = graph_.value(value);
    if (from->kind != NodeKind::op || needs(value) != Needs::weights ||
        storage_bytes(type.dtype, type.shape.count()) > kMostBytes)
      return;
    if (kept_.contains(value)) return;
    kept_[value] = absl::StrFormat("once/%016x", hashes_[static_cast<size_t>(value)]);
    for (const auto& [other, name] : kept_) {  // the same expression twice is one
      if (other != value && name == kept_[value]) return void(kept_[value] += absl::StrFormat("#%d", value));
    }
  }

  const Graph& graph_;
  std::vector<Needs> needs_;
  std::vector<uint64_t> hashes_;  // of expressions
  std::map<int32_t, std::string> kept_;
};

}  // namespace

WeightPart split_weights(const Graph& graph, const PreparedWeights& prepared) { return Splitter(graph).run(prepared); }

namespace {

uint64_t bytes_of(const Value& type) { return storage_bytes(type.dtype, type.shape.count()); }

// Puts a tensor among the weights, on the device.
Status copy(const DeviceTensor& from, const Weights& to, std::string_view name, const Value& type) {
  const Result<DeviceTensor> place = to.add(name, type.dtype, type.shape);
  return place.ok() ? place->copy_from(from) : place.status();
}

// Computes some outputs of a graph, and puts them into `to`.
Status compute(const Device& device, const Graph& all, std::span<const Output> outputs, const Weights& from,
               const Weights& to) {
  const std::map<int32_t, std::string> none;
  DynamicGraph graph;
  Copier copier(all, *graph, none);
  for (const Output& output : outputs) graph->output(all.name(output.name), copier.take(output.value));
  DynamicOptions options;
  options.engine.weights = from;
  Result<Executable<DynamicGraph>> executable = Executable<DynamicGraph>::create(device, graph, options);
  if (!executable.ok()) return executable.status();
  if (Status status = executable->run().wait(); !status.ok()) return status;
  for (const Output& output : outputs) {
    const Value& type = all.value(output.value);
    const std::string_view name = all.name(output.name);
    const Result<DeviceTensor> computed = executable->tensor(name);
    if (!computed.ok()) return computed.status();
    if (Status status = copy(*computed, to, name, type); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Result<DynamicGraph> prepare_weights(const Device& device, const Graph& graph, const Weights& weights,
                                     PreparedWeights* prepared) {
  return prepare_weights(device, graph, weights, weights, prepared);
}

Result<DynamicGraph> prepare_weights(const Device& device, const Graph& graph, const Weights& from, const Weights& to,
                                     PreparedWeights* prepared) {
  PreparedWeights known = prepared != nullptr ? *prepared : PreparedWeights();
  WeightPart part = split_weights(graph, known);
  const Graph &once = part.once.graph(), &rest = part.rest.graph();
  const bool apart = from.store() != to.store();
  std::vector<const Node*> copied;
  uint64_t expected = 0;
  const auto expect = [&](const Value& type) { expected += (bytes_of(type) + 255) / 256 * 256; };
  for (const Output& output : once.outputs) {
    expect(once.value(output.value));
    known.emplace(once.name(output.name), bytes_of(once.value(output.value)));
  }
  for (const Node& node : rest.nodes) {
    if (!apart || node.kind != NodeKind::param || known.contains(std::string(rest.name(node.name)))) continue;
    expect(rest.value(node.results.first));
    copied.push_back(&node);
  }
  to.reserve(expected);
  for (size_t first = 0, end = 0; first < once.outputs.size(); first = end) {
    for (uint64_t bytes = 0; end < once.outputs.size() && bytes < kPieceBytes; ++end)
      bytes += bytes_of(once.value(once.outputs[end].value));
    if (Status status = compute(device, once, {once.outputs.data() + first, end - first}, from, to); !status.ok())
      return status;
  }
  if (prepared != nullptr) *prepared = std::move(known);
  for (const Node* node : copied) {
    const std::string_view name = rest.name(node->name);
    const Result<DeviceTensor> given = from.tensor(name);
    if (!given.ok()) return given.status();
    if (Status status = copy(*given, to, name, rest.value(node->results.first)); !status.ok()) return status;
  }
  return std::move(part.rest);
}

}  // namespace rlxgpu::core

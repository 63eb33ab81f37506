// lower: the steps of a fused graph, one group of nodes after another, each a dispatch or a few.
//
//   Lowering lowering(graph, fusion, target, program);
//   lower(lowering, {.choices = choices});
#ifndef RLXGPU_COMPILE_LOWER_H_
#define RLXGPU_COMPILE_LOWER_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/base/hash_index.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/choose_variant.h"
#include "rlxgpu/compile/copies.h"
#include "rlxgpu/compile/equal_groups.h"
#include "rlxgpu/compile/lowering.h"

namespace rlxgpu::core {

// The steps that one group of the fused graph became, or those that copy an output to where it is read.
struct GroupSteps {
  int32_t root = -1;    // node
  Range steps;          // of Program::steps
  int32_t output = -1;  // of Graph::outputs: the one that is copied, whose node `root` is
};

class GroupLowering {
 public:
  // `groups`: to be filled in, in the order of their steps; may be null.
  constexpr GroupLowering(Lowering& lowering, const VariantChoice& choice, Vec<GroupSteps>* groups)
      : lowering_(lowering), choice_(choice), groups_(groups), graph_(lowering.graph()), program_(lowering.program()) {}
  constexpr void run();

 private:
  constexpr void add_sources();
  constexpr void add_outputs();
  constexpr void lower_group(int32_t root);
  constexpr void note_steps(int32_t root, int32_t first, int32_t output = -1);
  constexpr void store_results(const Node& node, int first = 0);
  constexpr bool reads_twice(const Node& node, int32_t value) const;

  Lowering& lowering_;
  const VariantChoice& choice_;
  Vec<GroupSteps>* groups_;
  const Graph& graph_;
  Program& program_;
  Vec<LoweredGroup> lowered_;
  HashIndex lowered_index_;
};

constexpr void GroupLowering::run() {
  add_sources();
  for (size_t n = 0; n < graph_.nodes.size() && program_.error.empty(); ++n) {
    if (!lowering_.fusion().root[n]) continue;
    const auto first = static_cast<int32_t>(program_.steps.size());
    lower_group(static_cast<int32_t>(n));
    note_steps(static_cast<int32_t>(n), first);
  }
  if (program_.error.empty()) add_outputs();
}

// Those from `first` on.
constexpr void GroupLowering::note_steps(int32_t root, int32_t first, int32_t output) {
  if (groups_ != nullptr)
    groups_->push_back({root, {first, static_cast<int32_t>(program_.steps.size()) - first}, output});
}

constexpr void GroupLowering::add_sources() {
  for (const Node& node : graph_.nodes) {
    const int32_t value = node.results.first;
    if (node.kind == NodeKind::scalar) {
      program_.scalars.push_back({lowering_.intern(graph_.name(node.name)), graph_.value(value).dtype,
                                  node.attrs.count > 0 ? graph_.attributes(node)[0] : -1});
    } else if (node.kind == NodeKind::constant) {
      if (graph_.value(value).shape.count() != 1) lowering_.store_constant(value);  // single numbers are literals
    } else if (node.kind != NodeKind::op) {
      const BufferRole role = node.kind == NodeKind::input   ? BufferRole::input
                              : node.kind == NodeKind::param ? BufferRole::param
                                                             : BufferRole::state;
      lowering_.set_memory_of(value, lowering_.add_memory(graph_.value(value), role, graph_.name(node.name)));
    }
  }
}

constexpr void GroupLowering::store_results(const Node& node, int first) {
  for (int k = first; k < node.results.count; ++k) {
    const int32_t value = node.results.first + k;
    int32_t memory = -1;
    for (const Output& output : graph_.outputs) {
      if (memory < 0 && output.value == value)
        memory = lowering_.add_memory(graph_.value(value), BufferRole::output, graph_.name(output.name));
    }
    lowering_.set_memory_of(value, memory >= 0 ? memory : lowering_.scratch(graph_.value(value)));
  }
}

constexpr bool GroupLowering::reads_twice(const Node& node, int32_t value) const {
  int times = 0;
  for (int k = 0; k < node.operands.count; ++k) times += graph_.operand(node, k) == value;
  return times > 1;
}

constexpr void GroupLowering::lower_group(int32_t root) {
  const Node& node = graph_.node(root);
  const int32_t anchor = lowering_.fusion().anchor[static_cast<size_t>(root)];
  if (anchor >= 0 && graph_.node(anchor).op->in_place >= 0) {
    // The result is the operand's buffer: a state's own, or else a copy that nobody else reads. A view of a state is
    // not the state.
    const int32_t operand = lowering_.operand(anchor, graph_.node(anchor).op->in_place);
    int32_t memory = lowering_.memory_of(operand);
    if (memory < 0 || lowering_.memory()[static_cast<size_t>(memory)].role != BufferRole::state) {
      memory = lowering_.scratch(graph_.value(operand));
      compute_into(lowering_, operand, memory);
    } else if (reads_twice(graph_.node(anchor), operand)) {  // the other time from a copy
      const int32_t copy = lowering_.scratch(graph_.value(operand));
      compute_into(lowering_, operand, copy);
      lowering_.set_memory_of(operand, copy);
    }
    lowering_.set_memory_of(graph_.node(anchor).results.first, memory);
    for (int32_t made = root; made >= 0; made = lowering_.next_root(made))
      store_results(graph_.node(made), made == anchor ? 1 : 0);
    return emit_best_variant(lowering_, choice_, anchor, root);
  }
  bool empty = true;
  for (int32_t made = root; made >= 0; made = lowering_.next_root(made)) {
    const Range results = graph_.node(made).results;
    store_results(graph_.node(made));
    for (int k = 0; k < results.count; ++k) empty = empty && graph_.value(results.first + k).shape.count() == 0;
  }
  if (empty) return;

  LoweredGroup group;
  Vec<int32_t> seen;
  group.shape.words.reserve(64);
  for (int32_t made = root; made >= 0; made = lowering_.next_root(made)) {
    const Range results = graph_.node(made).results;
    describe(lowering_, results.first, made, seen, group.shape);
    for (int k = 0; k < results.count; ++k) group.results.push_back(lowering_.memory_of(results.first + k));
  }
  const uint64_t hash = group.shape.hash();
  const size_t before = program_.steps.size();
  const auto note_line = [&] {
    const uint32_t line = graph_.node(anchor >= 0 ? anchor : root).site.line;
    for (size_t s = before; s < program_.steps.size(); ++s) program_.steps[s].line = line;
  };
  for (int32_t i = lowered_index_.first(hash); i >= 0; i = lowered_index_.next()) {
    if (!lowered_[static_cast<size_t>(i)].shape.same_as(group.shape)) continue;
    repeat(lowering_, lowered_[static_cast<size_t>(i)], group);
    return note_line();
  }
  group.steps.first = static_cast<int32_t>(program_.steps.size());
  group.scratch.first = static_cast<int32_t>(lowering_.memory().size());
  if (anchor >= 0) {
    emit_best_variant(lowering_, choice_, anchor, root);
  } else {
    compute_into(lowering_, node.results.first, lowering_.memory_of(node.results.first));
  }
  note_line();
  group.steps.count = static_cast<int32_t>(program_.steps.size()) - group.steps.first;
  group.scratch.count = static_cast<int32_t>(lowering_.memory().size()) - group.scratch.first;
  lowered_index_.insert(hash, static_cast<int32_t>(lowered_.size()));
  lowered_.push_back(static_cast<LoweredGroup&&>(group));
}

constexpr void GroupLowering::add_outputs() {
  for (size_t k = 0; k < graph_.outputs.size(); ++k) {
    const Output& output = graph_.outputs[k];
    const std::string_view name = graph_.name(output.name);
    bool done = false;  // written in place by its step
    for (const Port& port : program_.ports) {
      done = done || (port.role == BufferRole::output &&
                      program_.names.view().substr(static_cast<size_t>(port.name.first),
                                                   static_cast<size_t>(port.name.count)) == name);
    }
    if (done) continue;
    const auto first = static_cast<int32_t>(program_.steps.size());
    compute_into(lowering_, output.value, lowering_.add_memory(graph_.value(output.value), BufferRole::output, name));
    note_steps(graph_.value(output.value).node, first, static_cast<int32_t>(k));
  }
}

constexpr void lower(Lowering& lowering, const VariantChoice& choice, Vec<GroupSteps>* groups = nullptr) {
  GroupLowering(lowering, choice, groups).run();
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_LOWER_H_

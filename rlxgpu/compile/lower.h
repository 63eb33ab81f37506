// lower: the steps of a fused graph, in order. Implements lowering.h.
#ifndef RLXGPU_COMPILE_LOWER_H_
#define RLXGPU_COMPILE_LOWER_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/lowering.h"

namespace rlxgpu {

inline constexpr KernelFile kMapFile(
#include "rlxgpu/compile/map.wgsl"
);
inline constexpr KernelFile kTurnFile(
#include "rlxgpu/compile/turn.wgsl"
);

// A long row of workgroups as rows of at most `limit`: group (x, y) is number y * row + x.
struct FoldedGrid {
  int64_t row = 1, rows = 1;
};
constexpr FoldedGrid fold_grid(int64_t groups, int64_t limit) {
  if (groups <= limit) return {groups < 1 ? 1 : groups, 1};
  const int64_t rows = (groups + limit - 1) / limit;
  return {(groups + rows - 1) / rows, rows};
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---------------------------------------------------------------------------------------------------
// Lowering

constexpr void Lowering::run() {
  add_sources();
  for (size_t n = 0; n < graph_.nodes.size() && program_.error.empty(); ++n) {
    if (!fusion_.root[n]) continue;
    const auto first = static_cast<int32_t>(program_.steps.size());
    lower_group(static_cast<int32_t>(n));
    if (groups_ != nullptr)
      groups_->push_back({static_cast<int32_t>(n), {first, static_cast<int32_t>(program_.steps.size()) - first}});
  }
  if (program_.error.empty()) add_outputs();
}

constexpr void Lowering::add_sources() {
  for (const Node& node : graph_.nodes) {
    const int32_t value = node.results.first;
    if (node.kind == NodeKind::scalar) {
      program_.scalars.push_back({intern(graph_.name(node.name)), graph_.value(value).dtype,
                                  node.attrs.count > 0 ? graph_.attributes(node)[0] : -1});
    } else if (node.kind == NodeKind::constant) {
      if (graph_.value(value).shape.count() != 1) store_constant(value);  // single numbers are literals
    } else if (node.kind != NodeKind::op) {
      const BufferRole role = node.kind == NodeKind::input   ? BufferRole::input
                              : node.kind == NodeKind::param ? BufferRole::param
                                                             : BufferRole::state;
      memory_of_[static_cast<size_t>(value)] = add_memory(graph_.value(value), role, graph_.name(node.name));
    }
  }
}

constexpr void Lowering::store_constant(int32_t value) {
  const int32_t memory = add_memory(graph_.value(value), BufferRole::constant, "");
  memory_[static_cast<size_t>(memory)].words = graph_.producer(value).words;
  memory_of_[static_cast<size_t>(value)] = memory;
}

constexpr void Lowering::store_results(const Node& node, int first) {
  for (int k = first; k < node.results.count; ++k) {
    const int32_t value = node.results.first + k;
    int32_t memory = -1;
    for (const Output& output : graph_.outputs) {
      if (memory < 0 && output.value == value) memory = add_memory(graph_.value(value), BufferRole::output, graph_.name(output.name));
    }
    memory_of_[static_cast<size_t>(value)] = memory >= 0 ? memory : scratch(graph_.value(value));
  }
}

constexpr bool Lowering::reads_twice(const Node& node, int32_t value) const {
  int times = 0;
  for (int k = 0; k < node.operands.count; ++k) times += graph_.operand(node, k) == value;
  return times > 1;
}

constexpr void Lowering::lower_group(int32_t root) {
  const Node& node = graph_.node(root);
  const int32_t anchor = fusion_.anchor[static_cast<size_t>(root)];
  if (anchor >= 0 && graph_.node(anchor).op->in_place >= 0) {
    // The result is the operand's buffer: a state's own, or else a copy that nobody else reads. A view of a state is
    // not the state.
    const int32_t operand = this->operand(anchor, graph_.node(anchor).op->in_place);
    int32_t memory = memory_of(operand);
    if (memory < 0 || memory_[static_cast<size_t>(memory)].role != BufferRole::state) {
      memory = scratch(graph_.value(operand));
      map_step(operand, memory);
    } else if (reads_twice(graph_.node(anchor), operand)) {  // the other time from a copy
      const int32_t copy = scratch(graph_.value(operand));
      map_step(operand, copy);
      memory_of_[static_cast<size_t>(operand)] = copy;
    }
    memory_of_[static_cast<size_t>(graph_.node(anchor).results.first)] = memory;
    for (int32_t made = root; made >= 0; made = next_root(made)) store_results(graph_.node(made), made == anchor ? 1 : 0);
    return choose_variant(anchor, root);
  }
  bool empty = true;
  for (int32_t made = root; made >= 0; made = next_root(made)) {
    const Range results = graph_.node(made).results;
    store_results(graph_.node(made));
    for (int k = 0; k < results.count; ++k) empty = empty && graph_.value(results.first + k).shape.count() == 0;
  }
  if (empty) return;

  LoweredGroup group;
  Vec<int32_t> seen;
  group.shape.words.reserve(64);
  for (int32_t made = root; made >= 0; made = next_root(made)) {
    const Range results = graph_.node(made).results;
    describe(results.first, made, seen, group.shape);
    for (int k = 0; k < results.count; ++k) group.results.push_back(memory_of(results.first + k));
  }
  const uint64_t hash = group.shape.hash();
  const size_t before = program_.steps.size();
  const auto note_line = [&] {
    const uint32_t line = graph_.node(anchor >= 0 ? anchor : root).site.line;
    for (size_t s = before; s < program_.steps.size(); ++s) program_.steps[s].line = line;
  };
  for (int32_t i = lowered_index_.first(hash); i >= 0; i = lowered_index_.next()) {
    if (!lowered_[static_cast<size_t>(i)].shape.same_as(group.shape)) continue;
    repeat(lowered_[static_cast<size_t>(i)], group);
    return note_line();
  }
  group.steps.first = static_cast<int32_t>(program_.steps.size());
  group.scratch.first = static_cast<int32_t>(memory_.size());
  if (anchor >= 0) {
    choose_variant(anchor, root);
  } else {
    map_step(node.results.first, memory_of(node.results.first));
  }
  note_line();
  group.steps.count = static_cast<int32_t>(program_.steps.size()) - group.steps.first;
  group.scratch.count = static_cast<int32_t>(memory_.size()) - group.scratch.first;
  lowered_index_.insert(hash, static_cast<int32_t>(lowered_.size()));
  lowered_.push_back(static_cast<LoweredGroup&&>(group));
}

// Everything that decides how a group is lowered, from the root down to what it reads.
constexpr void Lowering::describe(int32_t value, int32_t root, Vec<int32_t>& seen, GroupShape& shape) const {
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == value) {
      shape.words.push_back(-2 - static_cast<int64_t>(i));
      return;
    }
  }
  seen.push_back(value);
  const Value& type = graph_.values[static_cast<size_t>(value)];
  const Node& from = graph_.nodes[static_cast<size_t>(type.node)];
  shape.words.push_back(static_cast<int64_t>(from.kind) * 1024 + value - from.results.first);
  shape.add(type);
  if (from.kind == NodeKind::scalar) {
    shape.words.push_back(GroupShape::place(shape.scalars, from.scalar));
    return;
  }
  if (from.kind == NodeKind::constant && type.shape.count() == 1 && memory_of(value) < 0) {
    for (int i = 0; i < from.words.count; ++i) shape.words.push_back(graph_.words[static_cast<size_t>(from.words.first + i)]);
    return;
  }
  const int32_t memory = type.node == root ? -1 : memory_of_[static_cast<size_t>(value)];
  if (memory >= 0) {
    shape.words.push_back(GroupShape::place(shape.reads, memory));
    shape.words.push_back(static_cast<int64_t>(memory_[static_cast<size_t>(memory)].role));
    return;
  }
  shape.ops.push_back(from.op);
  shape.words.push_back(from.attrs.count);
  for (int i = 0; i < from.attrs.count; ++i) shape.words.push_back(graph_.attrs[static_cast<size_t>(from.attrs.first + i)]);
  for (int k = 0; k < from.operands.count; ++k) describe(graph_.operand(from, k), root, seen, shape);
}

constexpr void Lowering::repeat(const LoweredGroup& twin, const LoweredGroup& group) {
  const auto first_scratch = static_cast<int32_t>(memory_.size());
  for (int i = 0; i < twin.scratch.count; ++i) {
    Memory copy = memory_[static_cast<size_t>(twin.scratch.first + i)];
    if (copy.role != BufferRole::scratch) {  // a table is shared: nobody binds this one
      copy = Memory();
      copy.type.shape = {0};
    }
    memory_.push_back(copy);
  }
  for (int s = 0; s < twin.steps.count; ++s) {
    Step step = program_.steps[static_cast<size_t>(twin.steps.first + s)];
    const Range bindings = step.bindings, immediates = step.immediates;
    step.bindings.first = static_cast<int32_t>(program_.bindings.size());
    for (int i = 0; i < bindings.count; ++i) {
      StepBinding binding = program_.bindings[static_cast<size_t>(bindings.first + i)];
      const int32_t old = binding.tensor;
      for (size_t k = 0; k < twin.shape.reads.size(); ++k) {
        if (twin.shape.reads[k] == old) binding.tensor = group.shape.reads[k];
      }
      for (size_t k = 0; k < twin.results.size(); ++k) {
        if (twin.results[k] == old) binding.tensor = group.results[k];
      }
      const bool own = old >= twin.scratch.first && old < twin.scratch.first + twin.scratch.count;
      if (own && memory_[static_cast<size_t>(old)].role == BufferRole::scratch) binding.tensor = first_scratch + old - twin.scratch.first;
      program_.bindings.push_back(binding);
    }
    step.immediates.first = static_cast<int32_t>(program_.step_immediates.size());
    for (int i = 0; i < immediates.count; ++i) {
      const int32_t old = program_.step_immediates[static_cast<size_t>(immediates.first + i)];
      for (size_t k = 0; k < twin.shape.scalars.size(); ++k) {
        if (twin.shape.scalars[k] == old) program_.step_immediates.push_back(group.shape.scalars[k]);
      }
    }
    if (step.grid_scalar >= 0) {
      for (size_t k = 0; k < twin.shape.scalars.size(); ++k) {
        if (twin.shape.scalars[k] == step.grid_scalar) {
          step.grid_scalar = group.shape.scalars[k];
          break;
        }
      }
    }
    program_.steps.push_back(step);
  }
}

constexpr void Lowering::choose_variant(int32_t anchor, int32_t root) {
  const Node& node = graph_.node(anchor);
  Call call = call_of(graph_, node);
  View views[kMaxOperands];
  for (int k = 0; k < node.operands.count; ++k) {
    if (strided(graph_.operand(node, k), views[k]) >= 0) call.operand_views[static_cast<size_t>(k)] = &views[k];
  }
  GroupShape group;
  if (chooser_.choose != nullptr) {
    Vec<int32_t> seen;
    for (int32_t made = root; made >= 0; made = next_root(made)) describe(graph_.node(made).results.first, made, seen, group);
    Vec<const OpDef*> maps;
    bool before = false;  // the kernel: views of its operands are their strides
    for (const OpDef* const op : group.ops) {
      before = before || op == node.op;
      if (op->at != nullptr && !(before && op->view != nullptr)) maps.push_back(op);
    }
    group.ops = maps;
    call.fused = span_of(group.ops);
  }
  Vec<const Variant*> accepted;
  for (const Variant& variant : node.op->variants) {
    if (variant.accepts == nullptr || variant.accepts(call, target_)) accepted.push_back(&variant);
  }
  const Variant* chosen = best_of(call, accepted);
  while (chosen != nullptr && chosen->probe != nullptr && trust_.trusts != nullptr &&
         !trust_.trusts(trust_.context, call, *chosen)) {
    Vec<const Variant*> others;
    for (const Variant* const variant : accepted) {
      if (variant->name != chosen->name) others.push_back(variant);
    }
    accepted = others;
    chosen = best_of(call, accepted);
  }
  if (chosen == nullptr) return fail(node.op->name, ": no kernel variant accepts ", call.operand(0).shape);
  Emit emit(*this, call, anchor, root, chosen->name);
  chosen->emit(emit);
}

// The first of them, unless the chooser or a choice says otherwise.
constexpr const Variant* Lowering::best_of(const Call& call, const Vec<const Variant*>& accepted) const {
  const Variant* best = accepted.empty() ? nullptr : accepted[0];
  if (chooser_.choose != nullptr && accepted.size() > 1) {
    const int index = chooser_.choose(chooser_.context, call, span_of(accepted));
    if (index > 0 && static_cast<size_t>(index) < accepted.size()) best = accepted[static_cast<size_t>(index)];
  }
  for (const Variant* const variant : accepted) {
    for (const Choice& choice : choices_) {
      if (choice.op == call.op->name && choice.variant == variant->name) best = variant;
    }
  }
  return best;
}

// A copy of a view whose last axis is not contiguous in memory, but another one is, in squares; false when it is none such, or
// its vectors are not whole.
constexpr bool Lowering::turn_step(int32_t value, int32_t memory) {
  const TensorType& type = graph_.value(value);
  const Node& from = graph_.producer(value);
  const int last = type.shape.rank() - 1;
  if (from.kind != NodeKind::op || from.op->view == nullptr || bytes_of(type.dtype) != 4 || type.shape.count() < 4096) return false;
  View inner, view;
  const int32_t base = strided(graph_.operand(from, 0), inner);
  if (base < 0 || !from.op->view(call_of(graph_, from), inner, view) || view.strides[last] == 1) return false;
  int other = -1;
  for (int axis = 0; axis < last; ++axis) {
    if (type.shape[axis] > 1 && view.strides[axis] == 1) other = axis;
  }
  if (other < 0 || type.shape[other] % 4 != 0 || type.shape[last] % 4 != 0 || view.offset % 4 != 0) return false;
  Shape matrices;
  View in_x, in_y;
  const Strides dense = dense_strides(type.shape);
  in_x.offset = view.offset;
  for (int axis = 0; axis <= last; ++axis) {
    if (axis != other && (type.shape[axis] > 1 && (view.strides[axis] % 4 != 0 || view.strides[axis] < 0))) return false;
    if (axis == other || axis == last) continue;
    in_x.strides[matrices.rank()] = view.strides[axis], in_y.strides[matrices.rank()] = dense[axis];
    matrices.push_back(type.shape[axis]);
  }
  const int64_t rows = type.shape[other], cols = type.shape[last], tall = target_.adapter_class == AdapterClass::software ? 1 : 8;
  const int64_t tiles = matrices.count() * ceil_div(rows / 4, tall) * ceil_div(cols / 4, 8);
  const FoldedGrid grid = fold_grid(tiles, target_.max_groups);
  const int64_t words = graph_.value(base).shape.count();
  if (words % 4 != 0) return false;
  const Call none;
  Dispatch(*this, kTurnFile, none, -1, graph_.value(value).node, "turn")
      .number("kXWords4", words / 4)
      .number("kYWords4", type.shape.count() / 4)
      .number("kRows", rows)
      .number("kCols", cols)
      .number("kXCol", view.strides[last])
      .number("kYRow", dense[other])
      .number("kTall", tall)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .raw("x", {Ref::Kind::memory, memory_of(base)})
      .raw("y", {Ref::Kind::memory, memory}, true)
      .place("x_begin", matrices, in_x)
      .place("y_begin", matrices, in_y)
      .grid(grid.row, grid.rows);
  return true;
}

constexpr void Lowering::map_step(int32_t value, int32_t memory) {
  if (turn_step(value, memory)) return;
  const TensorType& type = graph_.value(value);
  const int64_t words = ceil_div(type.shape.count(), per_word(type.dtype));
  if (words == 0) return;
  const FoldedGrid grid = fold_grid(ceil_div(words, 64), target_.max_groups);
  const int32_t shrinks = type.shape.rank() > 0 && grid.rows == 1 ? type.shape.symbol(0) : -1;
  const Call none;
  Dispatch(*this, kMapFile, none, -1, graph_.value(value).node, "map")
      .number("kWords", words)
      .number("kRow", grid.row * 64)
      .words("y", value, memory)
      .grid(grid.row, grid.rows, 1, shrinks);
}

constexpr Ref Lowering::dense(int32_t value) {
  View view;
  const int32_t base = strided(value, view);
  if (base >= 0 && view == View{0, dense_strides(graph_.value(value).shape)}) return {Ref::Kind::value, value};
  const int32_t memory = scratch(graph_.value(value));
  map_step(value, memory);
  return {Ref::Kind::memory, memory};
}

constexpr void Lowering::add_outputs() {
  for (const Output& output : graph_.outputs) {
    const std::string_view name = graph_.name(output.name);
    bool done = false;  // written in place by its step
    for (const Port& port : program_.ports) {
      done = done || (port.role == BufferRole::output &&
                      program_.names.view().substr(static_cast<size_t>(port.name.first), static_cast<size_t>(port.name.count)) == name);
    }
    if (done) continue;
    map_step(output.value, add_memory(graph_.value(output.value), BufferRole::output, name));
  }
}

// ---------------------------------------------------------------------------------------------------
// Dispatch

constexpr void Dispatch::grid(int64_t x, int64_t y, int64_t z, int32_t grid_scalar) {
  step_.grid_scalar = grid_scalar;
  Program& program = lowering_.program();
  spec_.values.count = static_cast<int32_t>(pools_.values.size()) - spec_.values.first;
  spec_.slots.count = static_cast<int32_t>(pools_.slots.size()) - spec_.slots.first;
  spec_.params.count = static_cast<int32_t>(pools_.params.size()) - spec_.params.first;
  spec_.bindings.count = static_cast<int32_t>(pools_.bindings.size()) - spec_.bindings.first;
  spec_.immediates.count = static_cast<int32_t>(pools_.immediates.size()) - spec_.immediates.first;
  step_.bindings.count = static_cast<int32_t>(program.bindings.size()) - step_.bindings.first;
  step_.immediates.count = static_cast<int32_t>(program.step_immediates.size()) - step_.immediates.first;
  if (static_cast<uint32_t>(step_.immediates.count) * 4 > lowering_.target().max_immediate_bytes) {
    lowering_.fail(op_name(), ": more than ", lowering_.target().max_immediate_bytes / 4, " run-time numbers in one kernel");
  }
  if (static_cast<uint32_t>(step_.bindings.count) > lowering_.target().max_storage_buffers) {
    lowering_.fail(op_name(), ": ", step_.bindings.count, " tensors in one kernel, at most ",
                   lowering_.target().max_storage_buffers, " are possible");
  }
  const int64_t sizes[3] = {x, y, z};
  for (int axis = 0; axis < 3; ++axis) {
    if (sizes[axis] < 1 || sizes[axis] > lowering_.target().max_groups) {
      lowering_.fail(op_name(), ": a grid of ", sizes[axis], " workgroups along one axis");
    }
    step_.grid[axis] = static_cast<uint32_t>(sizes[axis]);
  }
  step_.kernel = unique_spec();
  program.steps.push_back(step_);
  lowering_.close_dispatch();
}

constexpr void Dispatch::check_complete() {
  for (int i = 0, depth = 0; i < file_.size(); ++i) {
    const KernelFile::Piece& piece = file_.piece(i);
    using Kind = KernelFile::Kind;
    if (piece.kind == Kind::if_begin) ++depth;
    if (piece.kind == Kind::if_end) --depth;
    const bool value = piece.kind == Kind::param || piece.kind == Kind::extent || piece.kind == Kind::if_begin;
    const bool block = piece.kind == Kind::input || piece.kind == Kind::output || piece.kind == Kind::raw ||
                       piece.kind == Kind::buffer || piece.kind == Kind::place || piece.kind == Kind::slot;
    if (!value && !block) continue;
    const int given = given_[piece.name];
    if (given > 1 || (given == 0 && !(block && depth > 0))) {
      lowering_.fail(op_name(), ": ", file_.name(piece.name).text, given > 1 ? " is given twice" : " is not given");
    }
  }
}

// The label, and what the step costs.
constexpr void Dispatch::finish_step() {
  Program& program = lowering_.program();
  const auto first = static_cast<int32_t>(program.names.size());
  const Graph& graph = lowering_.graph();
  int named = 0;
  if (node_ >= 0) {
    program.names << call_.op->name;
    ++named;
    const Cost cost = call_.op->cost != nullptr ? call_.op->cost(call_) : Cost{static_cast<double>(call_.operand(0).shape.count()), 0};
    step_.flops = cost.flops;
  }
  for (const LocalValue& value : slice(span_of(pools_.values), spec_.values)) {
    if (value.kind != LocalValue::Kind::map) continue;
    if (value.op->view == nullptr && !value.op->moves) step_.flops += static_cast<double>(value.shape.count());
    if (named < 4) program.names << (named > 0 ? "+" : "") << value.op->name;
    ++named;
  }
  if (named == 0) program.names << "copy";
  if (named > 4) program.names << "+" << named - 4;
  program.names << '/' << name_of(graph.value(graph.node(root_).results.first).dtype) << '/' << variant_;
  step_.label = {first, static_cast<int32_t>(program.names.size()) - first};
  for (const StepBinding& binding : slice(span_of(program.bindings), step_.bindings)) {
    const TensorType& type = lowering_.memory()[static_cast<size_t>(binding.tensor)].type;
    step_.bytes += static_cast<double>(storage_bytes(type.dtype, type.shape.count()));
  }
}

constexpr bool Dispatch::reads_tables() const {
  for (const StepBinding& binding : slice(span_of(lowering_.program().bindings), step_.bindings)) {
    if (lowering_.memory()[static_cast<size_t>(binding.tensor)].table.fill != nullptr) return true;
  }
  return false;
}

constexpr uint64_t Dispatch::hash_of() const {
  uint64_t hash = 1469598103934665603u;
  const auto add = [&](int64_t word) { hash = (hash ^ static_cast<uint64_t>(word)) * 1099511628211u; };
  for (const ParamUse& use : slice(span_of(pools_.params), spec_.params)) add(use.value);
  for (const LocalValue& value : slice(span_of(pools_.values), spec_.values)) {
    add(static_cast<int64_t>(value.kind) * 16 + static_cast<int64_t>(value.dtype));
    add(value.word);
    for (int axis = 0; axis < value.shape.rank(); ++axis) add(value.shape[axis]);
  }
  return hash;
}

constexpr bool Dispatch::same_as(const KernelSpec& other) const {
  if (other.hash != spec_.hash || other.file != spec_.file || other.values.count != spec_.values.count ||
      other.slots.count != spec_.slots.count || other.params.count != spec_.params.count ||
      other.bindings.count != spec_.bindings.count || other.immediates.count != spec_.immediates.count) {
    return false;
  }
  const SpecPools& p = pools_;
  const auto at = [](Range range, int i) { return static_cast<size_t>(range.first + i); };
  for (int i = 0; i < spec_.params.count; ++i) {
    if (!(p.params[at(spec_.params, i)] == p.params[at(other.params, i)])) return false;
  }
  for (int i = 0; i < spec_.slots.count; ++i) {
    const SlotUse& a = p.slots[at(spec_.slots, i)];
    const SlotUse& b = p.slots[at(other.slots, i)];
    if (!a.same_as(b)) return false;
    for (int k = 0; k < a.args.count; ++k) {
      if (p.attrs[at(a.args, k)] != p.attrs[at(b.args, k)]) return false;
    }
  }
  for (int i = 0; i < spec_.bindings.count; ++i) {
    if (!(p.bindings[at(spec_.bindings, i)] == p.bindings[at(other.bindings, i)])) return false;
  }
  for (int i = 0; i < spec_.immediates.count; ++i) {
    if (p.immediates[at(spec_.immediates, i)] != p.immediates[at(other.immediates, i)]) return false;
  }
  for (int i = 0; i < spec_.values.count; ++i) {
    const LocalValue& a = p.values[at(spec_.values, i)];
    const LocalValue& b = p.values[at(other.values, i)];
    if (a.kind != b.kind || a.op != b.op || a.word != b.word || a.word2 != b.word2 || a.binding != b.binding || a.dtype != b.dtype ||
        a.operands.count != b.operands.count || a.attrs.count != b.attrs.count || !(a.shape == b.shape) || !(a.view == b.view)) {
      return false;
    }
    for (int k = 0; k < a.operands.count; ++k) {
      if (p.operands[at(a.operands, k)] != p.operands[at(b.operands, k)]) return false;
    }
    for (int k = 0; k < a.attrs.count; ++k) {
      if (p.attrs[at(a.attrs, k)] != p.attrs[at(b.attrs, k)]) return false;
    }
  }
  return true;
}

// The index of this specification; an equal one before it is used instead.
constexpr int32_t Dispatch::unique_spec() {
  spec_.hash = hash_of();
  for (size_t i = 0; i < pools_.specs.size(); ++i) {
    if (!same_as(pools_.specs[i])) continue;
    if (reads_tables()) {  // which may hold sizes: equal kernels do different work
      finish_step();
    } else {
      const Step& twin = lowering_.program().steps[static_cast<size_t>(lowering_.first_step(static_cast<int32_t>(i)))];
      step_.label = twin.label, step_.flops = twin.flops, step_.bytes = twin.bytes;
    }
    pools_.values.resize(static_cast<size_t>(spec_.values.first));
    pools_.slots.resize(static_cast<size_t>(spec_.slots.first));
    pools_.params.resize(static_cast<size_t>(spec_.params.first));
    pools_.bindings.resize(static_cast<size_t>(spec_.bindings.first));
    pools_.immediates.resize(static_cast<size_t>(spec_.immediates.first));
    pools_.operands.resize(first_operand_);
    pools_.attrs.resize(first_attr_);
    return static_cast<int32_t>(i);
  }
  check_complete();
  finish_step();
  lowering_.add_first_step();
  pools_.specs.push_back(spec_);
  return static_cast<int32_t>(pools_.specs.size() - 1);
}

}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_LOWER_H_

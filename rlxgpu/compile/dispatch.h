// Dispatch: one dispatch of a kernel file in the making. Every parameter, flag and block of the file is given by name;
// grid() completes it, finds an equal kernel before it or adds this one, and appends the step to the program.
#ifndef RLXGPU_COMPILE_DISPATCH_H_
#define RLXGPU_COMPILE_DISPATCH_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "rlxgpu/compile/dispatch_values.h"
#include "rlxgpu/compile/lowering.h"
#include "rlxgpu/compile/same_kernel.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/wgsl/kernel_file.h"

namespace rlxgpu::core {

class Dispatch : DispatchValues {
 public:
  constexpr Dispatch(Lowering& lowering, const KernelFile& file, const Call& call, int32_t node, int32_t root,
                     std::string_view variant)
      : DispatchValues(lowering, root), file_(file), call_(call), node_(node), root_(root), variant_(variant) {
    lowering.open_dispatch();
    spec_.file = &file;
    spec_.slots.first = static_cast<int32_t>(pools_.slots.size());
    spec_.params.first = static_cast<int32_t>(pools_.params.size());
    first_operand_ = pools_.operands.size();
    first_attr_ = pools_.attrs.size();
  }

  constexpr Dispatch& number(std::string_view name, int64_t value) {
    return param(name, ParamUse::Kind::number, value);
  }
  constexpr Dispatch& signed_number(std::string_view name, int64_t value) {
    return param(name, ParamUse::Kind::signed_number, value);
  }
  constexpr Dispatch& real(std::string_view name, float value) {
    return param(name, ParamUse::Kind::float_bits, attr_of(value));
  }
  constexpr Dispatch& boolean(std::string_view name, bool value) { return param(name, ParamUse::Kind::flag, value); }
  constexpr Dispatch& type(std::string_view name, Register reg) {
    return param(name, ParamUse::Kind::type, static_cast<int64_t>(reg));
  }
  constexpr Dispatch& flag(std::string_view name, bool on) {
    return add_param(KernelFile::Kind::if_begin, name, ParamUse::Kind::flag, on);
  }
  // What an extent function returns: the built extent, or the run-time one.
  constexpr Dispatch& extent(std::string_view name, Dim dim) {
    if (dim.symbol < 0) return add_param(KernelFile::Kind::extent, name, ParamUse::Kind::number, dim.extent);
    return add_param(KernelFile::Kind::extent, name, ParamUse::Kind::immediate, immediate(dim.symbol));
  }
  // Replaces the text of a //#slot block; without a text it stays as it is in the file.
  constexpr Dispatch& slot(std::string_view name, std::string_view text = {}) {
    SlotUse use;
    use.name = find(KernelFile::Kind::slot, name);
    use.text = text.data() != nullptr && text.empty() ? std::string_view(" ") : text;  // nothing is a text, too
    pools_.slots.push_back(use);
    return *this;
  }

  // The same, with a text that is written from numbers when the kernel is rendered.
  constexpr Dispatch& slot(std::string_view name, SlotWriter write, std::span<const int64_t> args) {
    SlotUse use;
    use.name = find(KernelFile::Kind::slot, name);
    use.write = write;
    use.args = {static_cast<int32_t>(pools_.attrs.size()), static_cast<int32_t>(args.size())};
    for (const int64_t arg : args) pools_.attrs.push_back(arg);
    pools_.slots.push_back(use);
    return *this;
  }

  constexpr Dispatch& slot(std::string_view name, SlotWriter write, std::initializer_list<int64_t> args) {
    return slot(name, write, std::span<const int64_t>(args.begin(), args.size()));
  }

  // WGSL functions that the kernel calls; a text that a fused map brings along, too, is there once.
  constexpr Dispatch& functions(std::string_view text) {
    SlotUse use;
    use.text = text;
    pools_.slots.push_back(use);
    return *this;
  }

  // x_at(i): element i of the operand, its axes taken in the given order (all of them; default: as they are).
  constexpr Dispatch& input(std::string_view name, Ref from, std::span<const int> order = {}) {
    SlotUse use;
    use.name = find(KernelFile::Kind::input, name);
    use.value = from.kind == Ref::Kind::memory ? load_memory(from.id) : localise(from.id);
    for (size_t i = 0; i < order.size(); ++i) use.order[i] = static_cast<int8_t>(order[i]);
    pools_.slots.push_back(use);
    return *this;
  }
  // y_put(i, v): element i of the result, after the maps that follow the op, wherever they want it.
  constexpr Dispatch& output(std::string_view name, Ref to) { return write(name, to, false); }
  // The same for a kernel that calls nothing but y_put4, and y_put4 for every element.
  constexpr Dispatch& output4(std::string_view name, Ref to) { return write(name, to, true); }
  constexpr Dispatch& write(std::string_view name, Ref to, bool fours) {
    SlotUse use;
    use.name = find(KernelFile::Kind::output, name);
    if (to.kind == Ref::Kind::memory) {
      use.given = use.value = add_given(lowering_.memory()[static_cast<size_t>(to.id)].type, -1);
      use.binding = bind_write(to.id, false);
      pools_.slots.push_back(use);
      return *this;
    }
    const Graph& graph = lowering_.graph();
    const int32_t value = graph.node(node_).results.first + to.id;
    use.given = add_given(graph.value(value), value);
    const bool kept = node_ == root_ || to.id != call_.op->transformed_result();  // as the kernel gives it
    for (int32_t root = root_; root >= 0; root = kept ? -1 : lowering_.next_root(root)) {
      making_ = root;
      const int32_t stored = kept ? value : graph.node(root).results.first;
      use.value = localise(stored);
      use.place = place_of(use.value);
      const bool whole =
          fours && use.place < 0 && lowering_.next_root(root_) < 0 && bytes_of(graph.value(stored).dtype) == 4;
      use.binding = bind_write(lowering_.memory_of(stored), false, whole);
      pools_.slots.push_back(use);
    }
    making_ = root_;
    return *this;
  }
  // y_word(w): whole words of a value that is computed from nothing but its index.
  constexpr Dispatch& words(std::string_view name, int32_t value, int32_t memory) {
    SlotUse use;
    use.name = find(KernelFile::Kind::output, name);
    if (lowering_.memory_of(value) != memory) making_ = -1;  // a copy of what is there already
    use.value = localise(value);
    use.binding = bind_write(memory, true);
    pools_.slots.push_back(use);
    return *this;
  }
  // The buffer itself, as the kernel file declares it.
  constexpr Dispatch& raw(std::string_view name, Ref from, bool writes = false) {
    return bind_whole(find(KernelFile::Kind::raw, name), from, writes, 1);
  }
  // x_load(i): the element at place i of the buffer; with a width of 4 or 8 (16-bit types) x_load4 or x_load8 instead,
  // from a multiple of that on; with -4 x_load4 from any place on, which costs two loads. What lies behind the end of
  // the buffer is not defined.
  constexpr Dispatch& buffer(std::string_view name, Ref from, int width = 1) {
    return bind_whole(find(KernelFile::Kind::buffer, name), from, false, width);
  }
  // The function `name`(i): the place of element i of a tensor of this shape that is laid out so.
  constexpr Dispatch& place(std::string_view name, const Shape& shape, const View& view) {
    SlotUse use;
    use.name = find(KernelFile::Kind::place, name);
    LocalValue local;
    local.shape = shape;
    local.view = view;
    use.value = add_local(local, -1);
    pools_.slots.push_back(use);
    return *this;
  }

  // Workgroups along each axis. One axis beyond the limit must be folded by the kernel: see grid.h.
  constexpr void grid(int64_t x, int64_t y = 1, int64_t z = 1, int32_t grid_scalar = -1);

 private:
  constexpr int32_t find(KernelFile::Kind kind, std::string_view name) {
    const int index = file_.find(kind, name, next_name_);
    if (index < 0) {
      lowering_.fail(op_name(), ": the kernel file has no ", name);
    } else {
      ++given_[index];
      next_name_ = index + 1;
    }
    return index;
  }
  constexpr Dispatch& param(std::string_view name, ParamUse::Kind kind, int64_t value) {
    return add_param(KernelFile::Kind::param, name, kind, value);
  }
  constexpr Dispatch& add_param(KernelFile::Kind point, std::string_view name, ParamUse::Kind kind, int64_t value) {
    pools_.params.push_back({find(point, name), kind, value});
    return *this;
  }

  constexpr Dispatch& bind_whole(int32_t name, Ref from, bool writes, int width) {
    SlotUse use;
    use.name = name;
    use.width = width;
    int32_t memory = from.id;
    if (from.kind == Ref::Kind::result)
      memory = lowering_.memory_of(lowering_.graph().node(node_).results.first + from.id);
    if (from.kind == Ref::Kind::value) {
      memory = lowering_.buffer_of(from.id);
      if (memory < 0) {
        lowering_.fail(call_.op->name, ": the buffer of an absorbed operand does not exist");
        return *this;
      }
    }
    use.binding = bind(memory, {dtype_of_memory(memory), writes, false, true});
    pools_.slots.push_back(use);
    return *this;
  }

  constexpr std::string_view op_name() const { return call_.op != nullptr ? call_.op->name : "map"; }
  constexpr int32_t unique_spec();
  constexpr void check_complete();
  constexpr void finish_step();
  constexpr bool reads_tables() const;

  const KernelFile& file_;
  const Call& call_;
  int32_t node_, root_;  // node_: the kernel op, or -1
  std::string_view variant_;
  size_t first_operand_ = 0, first_attr_ = 0;
  int8_t given_[KernelFile::kMaxNames] = {};  // how often each of the file's names
  int next_name_ = 0;
};

constexpr void Dispatch::grid(int64_t x, int64_t y, int64_t z, int32_t grid_scalar) {
  step_.grid_scalar = grid_scalar;
  if (node_ >= 0) step_.spec = lowering_.spec();
  Program& program = lowering_.program();
  spec_.values.count = static_cast<int32_t>(pools_.values.size()) - spec_.values.first;
  spec_.slots.count = static_cast<int32_t>(pools_.slots.size()) - spec_.slots.first;
  spec_.params.count = static_cast<int32_t>(pools_.params.size()) - spec_.params.first;
  spec_.bindings.count = static_cast<int32_t>(pools_.bindings.size()) - spec_.bindings.first;
  spec_.immediates.count = static_cast<int32_t>(pools_.immediates.size()) - spec_.immediates.first;
  step_.bindings.count = static_cast<int32_t>(program.bindings.size()) - step_.bindings.first;
  step_.immediates.count = static_cast<int32_t>(program.step_immediates.size()) - step_.immediates.first;
  if (static_cast<uint32_t>(step_.immediates.count) * 4 > lowering_.target().max_immediate_bytes) {
    lowering_.fail(op_name(), ": more than ", lowering_.target().max_immediate_bytes / 4,
                   " run-time numbers in one kernel");
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
    const Cost cost = call_.op->cost != nullptr ? call_.op->cost(call_)
                                                : Cost{static_cast<double>(call_.operand(0).shape.count()), 0};
    step_.flops = cost.flops;
  }
  for (const LocalValue& value : slice(span_of(pools_.values), spec_.values)) {
    if (value.kind != LocalValue::Kind::map) continue;
    if (value.op->view == nullptr && !value.op->reads_elsewhere)
      step_.flops += static_cast<double>(value.shape.count());
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

// The index of this specification; an equal one before it is used instead.
constexpr int32_t Dispatch::unique_spec() {
  spec_.hash = hash_of(pools_, spec_);
  for (size_t i = 0; i < pools_.specs.size(); ++i) {
    if (!same_kernel(pools_, spec_, pools_.specs[i])) continue;
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

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_DISPATCH_H_

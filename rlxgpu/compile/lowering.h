// Lowering turns groups of nodes into steps: for each dispatch a kernel specification (shared with
// equal ones before it), its bindings and its grid. Memory is only named here; plan.h places it.
#ifndef RLXGPU_COMPILE_LOWERING_H_
#define RLXGPU_COMPILE_LOWERING_H_

#include "rlxgpu/compile/choice.h"
#include "rlxgpu/compile/fuse.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/compile/twins.h"

namespace rlxgpu {

// Something a dispatch reads or writes.
struct Ref {
  enum class Kind : uint8_t { value, result, memory };
  Kind kind = Kind::value;
  int32_t id = -1;  // a value of the graph; result k of the op; an entry of Lowering::memory
};

// A tensor that needs a place.
struct Memory {
  TensorType type;
  BufferRole role = BufferRole::scratch;
  int32_t port = -1;      // index of Program::ports
  Range words;            // constant: of Graph::words
  Table table;            // constant: or computed when the program is loaded
};

// The steps that one group of the fused graph became.
struct GroupSteps {
  int32_t root = -1;  // node
  Range steps;        // of Program::steps
};

class Lowering {
 public:
  constexpr Lowering(const Graph& graph, const Fusion& fusion, const Target& target, std::span<const Choice> choices, const Chooser& chooser,
                     Program& program)
      : graph_(graph), fusion_(fusion), target_(target), choices_(choices), chooser_(chooser), program_(program) {
    memory_of_.resize(graph.values.size(), -1);
  }

  constexpr void set_trust(const Trust& trust) { trust_ = trust; }
  constexpr void note_groups(Vec<GroupSteps>& groups) { groups_ = &groups; }
  constexpr void run();

  constexpr const Graph& graph() const { return graph_; }
  constexpr const Target& target() const { return target_; }
  constexpr Program& program() { return program_; }
  constexpr Vec<Memory>& memory() { return memory_; }
  // Specifications are built one after another at the end of the pools.
  constexpr void open_dispatch() {
    if (dispatch_open_) fail("internal: a dispatch was begun (or dense() called) before the one before it had its grid");
    dispatch_open_ = true;
  }
  constexpr void close_dispatch() { dispatch_open_ = false; }
  // Steps of equal kernels have equal labels and costs: the first one's.
  constexpr int32_t first_step(int32_t kernel) const { return first_steps_[static_cast<size_t>(kernel)]; }
  constexpr void add_first_step() { first_steps_.push_back(static_cast<int32_t>(program_.steps.size())); }

  constexpr int32_t operand(int32_t node, int k) const { return graph_.operand(graph_.node(node), k); }
  constexpr int32_t scratch(const TensorType& type) {
    Memory memory;
    memory.type = type;
    memory_.push_back(memory);
    return static_cast<int32_t>(memory_.size() - 1);
  }
  // The next of the roots that one group writes, or -1.
  constexpr int32_t next_root(int32_t root) const { return fusion_.next[static_cast<size_t>(root)]; }
  // A table like one before it is that one.
  constexpr int32_t table(const TensorType& type, const Table& table) {
    for (const int32_t id : tables_) {
      const Memory& known = memory_[static_cast<size_t>(id)];
      if (known.table == table && known.type == type) return id;
    }
    const int32_t id = scratch(type);
    memory_[static_cast<size_t>(id)].role = BufferRole::constant;
    memory_[static_cast<size_t>(id)].table = table;
    tables_.push_back(id);
    return id;
  }
  constexpr int32_t memory_of(int32_t value) const { return memory_of_[static_cast<size_t>(value)]; }

  // The stored value that this one is a strided view of, or -1 when it must be computed.
  constexpr int32_t strided(int32_t value, View& view) const {
    if (memory_of(value) >= 0) {
      view = {0, dense_strides(graph_.value(value).shape)};
      return value;
    }
    const Node& from = graph_.producer(value);
    if (from.kind != NodeKind::op || from.op->view == nullptr) return -1;
    View inner;
    const int32_t base = strided(graph_.operand(from, 0), inner);
    return base >= 0 && from.op->view(call_of(graph_, from), inner, view) ? base : -1;
  }
  constexpr View view(int32_t value) const {
    View view;
    strided(value, view);
    return view;
  }
  // The memory that this value is a view of, or -1.
  constexpr int32_t buffer_of(int32_t value) {
    View view;
    int32_t base = strided(value, view);
    if (base < 0 && graph_.producer(value).kind == NodeKind::constant) {
      store_constant(value);
      base = value;
    }
    return base < 0 ? -1 : memory_of(base);
  }
  constexpr Ref dense(int32_t value);

  template <typename... Parts>
  constexpr void fail(const Parts&... parts) {
    if (program_.error.empty()) ((program_.error << parts), ...);
  }

 private:
  constexpr void add_sources();
  constexpr void lower_group(int32_t root);
  constexpr bool reads_twice(const Node& node, int32_t value) const;
  constexpr void describe(int32_t value, int32_t root, Vec<int32_t>& seen, GroupShape& shape) const;
  constexpr void repeat(const LoweredGroup& twin, const LoweredGroup& group);
  constexpr void map_step(int32_t value, int32_t memory);
  constexpr bool turn_step(int32_t value, int32_t memory);
  constexpr void add_outputs();
  constexpr void store_constant(int32_t value);
  constexpr void store_results(const Node& node, int first = 0);
  constexpr void choose_variant(int32_t anchor, int32_t root);
  constexpr const Variant* best_of(const Call& call, const Vec<const Variant*>& accepted) const;
  constexpr Range intern(std::string_view name) {
    const auto first = static_cast<int32_t>(program_.names.size());
    program_.names << name;
    return {first, static_cast<int32_t>(name.size())};
  }
  constexpr int32_t add_memory(const TensorType& type, BufferRole role, std::string_view name) {
    Memory memory;
    memory.type = type;
    memory.role = role;
    if (role != BufferRole::constant) {
      memory.port = static_cast<int32_t>(program_.ports.size());
      program_.ports.push_back({role, intern(name), -1});
    }
    memory_.push_back(memory);
    return static_cast<int32_t>(memory_.size() - 1);
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const Target& target_;
  std::span<const Choice> choices_;
  Chooser chooser_;
  Trust trust_;
  Program& program_;
  Vec<Memory> memory_;
  Vec<int32_t> memory_of_;  // by value
  Vec<GroupSteps>* groups_ = nullptr;  // to be filled in, in the order of their steps
  Vec<int32_t> tables_;     // those of memory_
  Vec<int32_t> first_steps_;  // by kernel
  Vec<LoweredGroup> lowered_;
  HashIndex lowered_index_;
  bool dispatch_open_ = false;
};

// One dispatch in the making. grid() completes it.
class Dispatch {
 public:
  constexpr Dispatch(Lowering& lowering, const KernelFile& file, const Call& call, int32_t node, int32_t root, std::string_view variant)
      : lowering_(lowering), pools_(lowering.program().kernels), file_(file), call_(call), node_(node), root_(root), making_(root), variant_(variant) {
    lowering.open_dispatch();
    spec_.file = &file;
    spec_.values.first = static_cast<int32_t>(pools_.values.size());
    spec_.slots.first = static_cast<int32_t>(pools_.slots.size());
    spec_.params.first = static_cast<int32_t>(pools_.params.size());
    spec_.bindings.first = static_cast<int32_t>(pools_.bindings.size());
    spec_.immediates.first = static_cast<int32_t>(pools_.immediates.size());
    first_operand_ = pools_.operands.size();
    first_attr_ = pools_.attrs.size();
    step_.bindings.first = static_cast<int32_t>(lowering.program().bindings.size());
    step_.immediates.first = static_cast<int32_t>(lowering.program().step_immediates.size());
  }

  constexpr Dispatch& number(std::string_view name, int64_t value) { return param(name, ParamUse::Kind::number, value); }
  constexpr Dispatch& signed_number(std::string_view name, int64_t value) { return param(name, ParamUse::Kind::signed_number, value); }
  constexpr Dispatch& real(std::string_view name, float value) { return param(name, ParamUse::Kind::float_bits, attr_of(value)); }
  constexpr Dispatch& boolean(std::string_view name, bool value) { return param(name, ParamUse::Kind::flag, value); }
  constexpr Dispatch& type(std::string_view name, Register reg) { return param(name, ParamUse::Kind::type, static_cast<int64_t>(reg)); }
  constexpr Dispatch& flag(std::string_view name, bool on) { return add_param(KernelFile::Kind::if_begin, name, ParamUse::Kind::flag, on); }
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
      const bool whole = fours && use.place < 0 && lowering_.next_root(root_) < 0 && bytes_of(graph.value(stored).dtype) == 4;
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

  // Workgroups along each axis. One axis beyond the limit must be folded by the kernel: see fold_grid.
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

  constexpr int32_t immediate(int32_t scalar) {
    Vec<int32_t>& list = lowering_.program().step_immediates;
    for (size_t i = static_cast<size_t>(step_.immediates.first); i < list.size(); ++i) {
      if (list[i] == scalar) return static_cast<int32_t>(i) - step_.immediates.first;
    }
    list.push_back(scalar);
    const Graph& graph = lowering_.graph();
    pools_.immediates.push_back(graph.value(graph.node(graph.scalars[static_cast<size_t>(scalar)]).results.first).dtype);
    return static_cast<int32_t>(list.size()) - 1 - step_.immediates.first;
  }

  // Loads of one tensor share a binding; buffers that the kernel file declares have one each.
  constexpr int32_t bind(int32_t memory, const BindingType& type) {
    Vec<StepBinding>& list = lowering_.program().bindings;
    const auto first = static_cast<size_t>(step_.bindings.first);
    for (size_t i = first; i < list.size() && !type.writes && !type.raw; ++i) {
      const BindingType& known = pools_.bindings[static_cast<size_t>(spec_.bindings.first) + i - first];
      if (list[i].tensor == memory && !known.writes && !known.raw) return static_cast<int32_t>(i - first);
    }
    list.push_back({memory, type.writes});
    pools_.bindings.push_back(type);
    return static_cast<int32_t>(list.size() - 1 - first);
  }
  constexpr Dispatch& bind_whole(int32_t name, Ref from, bool writes, int width) {
    SlotUse use;
    use.name = name;
    use.width = width;
    int32_t memory = from.id;
    if (from.kind == Ref::Kind::result) memory = lowering_.memory_of(lowering_.graph().node(node_).results.first + from.id);
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
  constexpr DType dtype_of_memory(int32_t memory) const { return lowering_.memory()[static_cast<size_t>(memory)].type.dtype; }
  constexpr int32_t bind_read(int32_t memory) { return bind(memory, {dtype_of_memory(memory), false, false, false}); }
  constexpr int32_t bind_write(int32_t memory, bool whole_words, bool fours = false) {
    const DType dtype = dtype_of_memory(memory);
    return bind(memory, {dtype, true, !whole_words && per_word(dtype) > 1, false, fours});
  }

  constexpr int32_t add_local(const LocalValue& local, int32_t value) {
    pools_.values.push_back(local);
    known_.push_back(value);
    return static_cast<int32_t>(known_.size()) - 1;
  }
  constexpr int32_t add_given(const TensorType& type, int32_t value) {
    LocalValue local;
    static_cast<TensorType&>(local) = type;
    local.kind = LocalValue::Kind::given;
    return add_local(local, value);
  }
  // Where the elements of a local value are among those that the kernel hands over, if not in the same order.
  constexpr int32_t place_of(int32_t local) {
    const auto at = [&](int32_t id) -> const LocalValue& { return pools_.values[static_cast<size_t>(spec_.values.first + id)]; };
    LocalValue place;
    static_cast<TensorType&>(place) = at(local);
    Vec<int32_t> chain;  // from the value to what is handed over
    Vec<char> depends;   // on it, by local value; operands come before their users
    for (int32_t id = 0; id <= local; ++id) {
      depends.push_back(at(id).kind == LocalValue::Kind::given);
      for (int k = 0; k < at(id).operands.count; ++k) {
        if (depends[static_cast<size_t>(pools_.operands[static_cast<size_t>(at(id).operands.first + k)])]) depends.back() = 1;
      }
    }
    bool views = false;
    while (at(local).kind == LocalValue::Kind::map) {
      chain.push_back(local);
      views = views || at(local).op->view != nullptr;
      const Range operands = at(local).operands;
      int32_t from = -1;
      for (int k = 0; k < operands.count && from < 0; ++k) {
        const int32_t operand = pools_.operands[static_cast<size_t>(operands.first + k)];
        if (depends[static_cast<size_t>(operand)]) from = operand;
      }
      if (from < 0) return -1;
      local = from;
    }
    if (!views) return -1;
    const int64_t given = at(local).shape.count();
    place.view = {0, dense_strides(at(local).shape)};
    for (size_t i = chain.size(); i-- > 0; local = chain[i]) {
      const LocalValue& value = at(chain[i]);
      if (value.op->view == nullptr) continue;
      Call call;
      call.op = value.op;
      call.operand_count = call.result_count = 1;
      call.operand_types[0] = &at(local), call.result_types[0] = &value;
      call.attrs = slice(span_of(pools_.attrs), value.attrs);
      const View inner = place.view;
      value.op->view(call, inner, place.view);
    }
    const bool same = place.shape.count() == given && place.view == View{0, dense_strides(place.shape)};
    return same ? -1 : add_local(place, -1);
  }
  constexpr int32_t load_memory(int32_t memory) {
    LocalValue local;
    static_cast<TensorType&>(local) = lowering_.memory()[static_cast<size_t>(memory)].type;
    local.view.strides = dense_strides(local.shape);
    local.binding = bind_read(memory);
    return add_local(local, -1);
  }

  // The local value that computes a value of the graph inside this kernel.
  constexpr int32_t localise(int32_t value) {
    for (size_t i = 0; i < known_.size(); ++i) {
      if (known_[i] == value) return static_cast<int32_t>(i);
    }
    const Graph& graph = lowering_.graph();
    const Node& from = graph.producer(value);
    LocalValue local;
    static_cast<TensorType&>(local) = graph.value(value);
    if (from.kind == NodeKind::scalar) {
      local.kind = LocalValue::Kind::scalar;
      local.word = static_cast<uint32_t>(immediate(from.scalar));
      return add_local(local, value);
    }
    if (from.kind == NodeKind::constant && local.shape.count() == 1) {
      local.kind = LocalValue::Kind::literal;
      local.word = graph.words[static_cast<size_t>(from.words.first)];
      if (from.words.count > 1) local.word2 = graph.words[static_cast<size_t>(from.words.first + 1)];
      return add_local(local, value);
    }
    const bool being_made = from.kind == NodeKind::op && lowering_.graph().value(value).node == making_ && from.op->at != nullptr;
    View view;
    const int32_t base = being_made ? strided_operand(from, view) : lowering_.strided(value, view);
    if (base >= 0) {
      local.view = view;
      local.binding = bind_read(lowering_.memory_of(base));
      return add_local(local, value);
    }
    if (from.kind != NodeKind::op || from.op->at == nullptr) {
      lowering_.fail("internal: a value without memory is not a map");
      return 0;
    }
    int32_t operands[kMaxOperands] = {};
    for (int k = 0; k < from.operands.count; ++k) operands[k] = localise(graph.operand(from, k));
    local.kind = LocalValue::Kind::map;
    local.op = from.op;
    local.operands = {static_cast<int32_t>(pools_.operands.size()), from.operands.count};
    for (int k = 0; k < from.operands.count; ++k) pools_.operands.push_back(operands[k]);
    local.attrs = {static_cast<int32_t>(pools_.attrs.size()), from.attrs.count};
    for (const int64_t attr : graph.attributes(from)) pools_.attrs.push_back(attr);
    return add_local(local, value);
  }
  // The root of a group has memory already, but is not there yet: look behind it.
  constexpr int32_t strided_operand(const Node& from, View& view) const {
    if (from.op->view == nullptr) return -1;
    View inner;
    const int32_t base = lowering_.strided(lowering_.graph().operand(from, 0), inner);
    return base >= 0 && from.op->view(call_of(lowering_.graph(), from), inner, view) ? base : -1;
  }

  constexpr std::string_view op_name() const { return call_.op != nullptr ? call_.op->name : "map"; }
  constexpr int32_t unique_spec();
  constexpr uint64_t hash_of() const;
  constexpr bool same_as(const KernelSpec& other) const;
  constexpr void check_complete();
  constexpr void finish_step();
  constexpr bool reads_tables() const;

  Lowering& lowering_;
  SpecPools& pools_;
  const KernelFile& file_;
  const Call& call_;
  int32_t node_, root_;  // node_: the kernel op, or -1
  int32_t making_;       // the node whose own memory is written here, which is not to be read
  std::string_view variant_;
  KernelSpec spec_;
  Step step_;
  size_t first_operand_ = 0, first_attr_ = 0;
  int8_t given_[KernelFile::kMaxNames] = {};  // how often each of the file's names
  int next_name_ = 0;
  Vec<int32_t> known_;  // values of the graph by local id
};

}  // namespace rlxgpu

#include "rlxgpu/compile/emit.h"  // the three headers are one thing: each brings the others

#endif  // RLXGPU_COMPILE_LOWERING_H_

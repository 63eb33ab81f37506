// Lowering: a program in the making. Knows which values of the graph have memory and where, hands out more, and keeps
// the first error. lower.h walks the groups of the graph with it, dispatch.h adds steps to it. Memory is only named
// here; plan.h places it.
#ifndef RLXGPU_COMPILE_LOWERING_H_
#define RLXGPU_COMPILE_LOWERING_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/fusion.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/compile/views.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/target.h"

namespace rlxgpu::core {

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
  int32_t port = -1;  // index of Program::ports
  Range words;        // constant: of Graph::words
  Table table;        // constant: or computed when the program is loaded
};

class Lowering {
 public:
  constexpr Lowering(const Graph& graph, const Fusion& fusion, const Target& target, Program& program)
      : graph_(graph), fusion_(fusion), target_(target), program_(program) {
    memory_of_.resize(graph.values.size(), -1);
  }

  constexpr const Graph& graph() const { return graph_; }
  constexpr const Fusion& fusion() const { return fusion_; }
  constexpr const Target& target() const { return target_; }
  constexpr Program& program() { return program_; }
  constexpr Vec<Memory>& memory() { return memory_; }
  constexpr const Vec<Memory>& memory() const { return memory_; }

  // Specifications are built one after another at the end of the pools.
  constexpr void open_dispatch() {
    if (dispatch_open_)
      fail("internal: a dispatch was begun (or dense() called) before the one before it had its grid");
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
  constexpr void store_constant(int32_t value) {
    const int32_t memory = add_memory(graph_.value(value), BufferRole::constant, "");
    memory_[static_cast<size_t>(memory)].words = graph_.producer(value).words;
    set_memory_of(value, memory);
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
  constexpr void set_memory_of(int32_t value, int32_t memory) { memory_of_[static_cast<size_t>(value)] = memory; }

  // The stored value that this one is a strided view of, or -1 when it must be computed.
  constexpr int32_t strided(int32_t value, View& view) const {
    Vec<const Node*> views;
    for (; memory_of(value) < 0; value = graph_.operand(*views.back(), 0)) {
      const Node& from = graph_.producer(value);
      if (from.kind != NodeKind::op || from.op->view == nullptr) return -1;
      views.push_back(&from);
    }
    return view_through(graph_, value, views, view) ? value : -1;
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

  constexpr Range intern(std::string_view name) {
    const auto first = static_cast<int32_t>(program_.names.size());
    program_.names << name;
    return {first, static_cast<int32_t>(name.size())};
  }

  // "op/variant{...}" of the dispatches that follow.
  constexpr void set_spec(Range spec) { spec_ = spec; }
  constexpr Range spec() const { return spec_; }

  template <typename... Parts>
  constexpr void fail(const Parts&... parts) {
    if (program_.error.empty()) ((program_.error << parts), ...);
  }

 private:
  const Graph& graph_;
  const Fusion& fusion_;
  const Target& target_;
  Program& program_;
  Vec<Memory> memory_;
  Vec<int32_t> memory_of_;    // by value
  Vec<int32_t> tables_;       // those of memory_
  Vec<int32_t> first_steps_;  // by kernel
  Range spec_;
  bool dispatch_open_ = false;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_LOWERING_H_

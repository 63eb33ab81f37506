// DispatchValues: what one kernel reads, computes and writes, in the kernel's own numbering.
//
// A value of the graph becomes a local value: a load from a binding, a run-time number, a literal, or a map of other
// local values. Dispatch (dispatch.h) is made of it.
#ifndef RLXGPU_COMPILE_DISPATCH_VALUES_H_
#define RLXGPU_COMPILE_DISPATCH_VALUES_H_

#include <cstdint>

#include "rlxgpu/compile/lowering.h"

namespace rlxgpu::core {

class DispatchValues {
 protected:
  constexpr DispatchValues(Lowering& lowering, int32_t root)
      : lowering_(lowering), pools_(lowering.program().kernels), making_(root) {
    spec_.values.first = static_cast<int32_t>(pools_.values.size());
    spec_.bindings.first = static_cast<int32_t>(pools_.bindings.size());
    spec_.immediates.first = static_cast<int32_t>(pools_.immediates.size());
    step_.bindings.first = static_cast<int32_t>(lowering.program().bindings.size());
    step_.immediates.first = static_cast<int32_t>(lowering.program().step_immediates.size());
  }

  constexpr int32_t immediate(int32_t scalar) {
    Vec<int32_t>& list = lowering_.program().step_immediates;
    for (size_t i = static_cast<size_t>(step_.immediates.first); i < list.size(); ++i) {
      if (list[i] == scalar) return static_cast<int32_t>(i) - step_.immediates.first;
    }
    list.push_back(scalar);
    const Graph& graph = lowering_.graph();
    pools_.immediates.push_back(
        graph.value(graph.node(graph.scalars[static_cast<size_t>(scalar)]).results.first).dtype);
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
  constexpr DType dtype_of_memory(int32_t memory) const {
    return lowering_.memory()[static_cast<size_t>(memory)].type.dtype;
  }
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
    const auto at = [&](int32_t id) -> const LocalValue& {
      return pools_.values[static_cast<size_t>(spec_.values.first + id)];
    };
    LocalValue place;
    static_cast<TensorType&>(place) = at(local);
    Vec<int32_t> chain;  // from the value to what is handed over
    Vec<char> depends;   // on it, by local value; operands come before their users
    for (int32_t id = 0; id <= local; ++id) {
      depends.push_back(at(id).kind == LocalValue::Kind::given);
      for (int k = 0; k < at(id).operands.count; ++k) {
        if (depends[static_cast<size_t>(pools_.operands[static_cast<size_t>(at(id).operands.first + k)])])
          depends.back() = 1;
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
    const bool being_made =
        from.kind == NodeKind::op && lowering_.graph().value(value).node == making_ && from.op->at != nullptr;
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

  Lowering& lowering_;
  SpecPools& pools_;
  KernelSpec spec_;
  Step step_;
  int32_t making_;  // the node whose own memory is written here, which is not to be read

 private:
  Vec<int32_t> known_;  // values of the graph by local id
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_DISPATCH_VALUES_H_

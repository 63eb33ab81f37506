// plan: gives every tensor of a lowered program its buffer.
//
// Inputs, outputs, weights, states and tables have a buffer each; constants share one. Values between steps
// live in slots: whole buffers, used again when what they held is no longer read, and never bound
// twice in one step, because WebGPU forbids reading and writing one buffer in a dispatch.
#ifndef RLXGPU_COMPILE_PLAN_H_
#define RLXGPU_COMPILE_PLAN_H_

#include "rlxgpu/compile/lowering.h"
#include "rlxgpu/compile/program.h"

namespace rlxgpu::core {

class Planner {
 public:
  constexpr Planner(const Graph& graph, const Vec<Memory>& memory, const Target& target, Program& program)
      : graph_(graph), memory_(memory), target_(target), program_(program) {}

  constexpr void run() {
    for (const Memory& memory : memory_) add_tensor(memory);
    find_last_uses();
    for (size_t s = 0; s < program_.steps.size(); ++s) place_step(static_cast<int32_t>(s));
    for (TensorDecl& tensor : program_.tensors) {
      if (tensor.buffer < 0) tensor.buffer = spare_buffer();  // never bound: an empty result
    }
    for (BufferDecl& buffer : program_.buffers) buffer.bytes = buffer.bytes < 16 ? 16 : (buffer.bytes + 15) / 16 * 16;
    for (size_t t = 0; t < program_.tensors.size(); ++t) check_size(static_cast<int32_t>(t));
  }

 private:
  constexpr void add_tensor(const Memory& memory) {
    const auto id = static_cast<int32_t>(program_.tensors.size());
    TensorDecl tensor;
    static_cast<TensorType&>(tensor) = memory.type;
    tensor.bytes = storage_bytes(memory.type.dtype, memory.type.shape.count());
    if (memory.table.fill != nullptr) {
      tensor.buffer = add_buffer(memory.role, tensor.bytes);
      program_.buffers.back().table = memory.table;
    } else if (memory.role == BufferRole::constant) {
      place_constant(memory, tensor);
    } else if (memory.role != BufferRole::scratch) {
      tensor.buffer = add_buffer(memory.role, tensor.bytes);
      program_.ports[static_cast<size_t>(memory.port)].tensor = id;
    }
    program_.tensors.push_back(tensor);
  }

  constexpr int32_t add_buffer(BufferRole role, uint64_t bytes) {
    program_.buffers.push_back({role, bytes, {}, {}});
    return static_cast<int32_t>(program_.buffers.size() - 1);
  }

  constexpr void place_constant(const Memory& memory, TensorDecl& tensor) {
    if (constants_ < 0) constants_ = add_buffer(BufferRole::constant, 0);
    const size_t aligned = target_.offset_alignment / 4;
    while (program_.words.size() % aligned != 0) program_.words.push_back(0);
    tensor.buffer = constants_;
    tensor.offset = program_.words.size() * 4;
    for (int i = 0; i < memory.words.count; ++i) program_.words.push_back(graph_.words[static_cast<size_t>(memory.words.first + i)]);
    BufferDecl& buffer = program_.buffers[static_cast<size_t>(constants_)];
    buffer.bytes = program_.words.size() * 4 < 16 ? 16 : program_.words.size() * 4;
    buffer.words = {0, static_cast<int32_t>(program_.words.size())};
  }

  constexpr void find_last_uses() {
    last_use_.resize(memory_.size(), -1);
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      for (const StepBinding& binding : slice(span_of(program_.bindings), program_.steps[s].bindings)) {
        last_use_[static_cast<size_t>(binding.tensor)] = static_cast<int32_t>(s);
      }
    }
  }

  constexpr void place_step(int32_t s) {
    const auto bindings = slice(span_of(program_.bindings), program_.steps[static_cast<size_t>(s)].bindings);
    for (const StepBinding& binding : bindings) {
      TensorDecl& tensor = program_.tensors[static_cast<size_t>(binding.tensor)];
      if (tensor.buffer < 0) tensor.buffer = take_slot(tensor.bytes);
    }
    for (const StepBinding& binding : bindings) {  // only now: what a step reads, it must not write
      if (last_use_[static_cast<size_t>(binding.tensor)] != s) continue;
      last_use_[static_cast<size_t>(binding.tensor)] = -1;  // once
      for (Slot& slot : slots_) {
        if (slot.buffer == program_.tensors[static_cast<size_t>(binding.tensor)].buffer) slot.free = true;
      }
    }
  }

  // The tightest free slot that is large enough, else the largest free one, which grows, else a new one.
  constexpr int32_t take_slot(uint64_t bytes) {
    Slot* best = nullptr;
    for (Slot& slot : slots_) {
      if (!slot.free) continue;
      if (best == nullptr) {
        best = &slot;
        continue;
      }
      const uint64_t size = size_of(slot), best_size = size_of(*best);
      const bool better = best_size >= bytes ? size >= bytes && size < best_size : size > best_size;
      if (better) best = &slot;
    }
    if (best == nullptr) {
      slots_.push_back({add_buffer(BufferRole::scratch, 0), true});
      best = &slots_.back();
    }
    best->free = false;
    uint64_t& size = program_.buffers[static_cast<size_t>(best->buffer)].bytes;
    if (size < bytes) size = bytes;
    return best->buffer;
  }
  constexpr int32_t spare_buffer() {
    if (!slots_.empty()) return slots_[0].buffer;
    slots_.push_back({add_buffer(BufferRole::scratch, 16), true});
    return slots_[0].buffer;
  }

  constexpr void check_size(int32_t id) {
    const TensorDecl& tensor = program_.tensors[static_cast<size_t>(id)];
    if (tensor.bytes <= target_.max_binding_bytes || !program_.error.empty()) return;
    say_which(id);
    program_.error << name_of(tensor.dtype) << tensor.shape << " takes " << tensor.bytes
                   << " bytes; one binding of this target holds at most " << target_.max_binding_bytes
                   << ": make it in parts, of a type with fewer bytes, or run it on a device with larger bindings";
  }
  // "model.h:8: param "w", ", "model.h:9: the result of step 3 (matmul/f32/plain), ".
  constexpr void say_which(int32_t id) {
    Text& error = program_.error;
    for (const Output& output : graph_.outputs) {
      const Node& node = graph_.producer(output.value);
      if (is_named(id, graph_.name(output.name))) return void(say_site(node.site) << "output \"" << graph_.name(output.name) << "\", ");
    }
    for (const Node& node : graph_.nodes) {
      if (node.kind == NodeKind::op || node.kind == NodeKind::constant || !is_named(id, graph_.name(node.name))) continue;
      constexpr std::string_view kKinds[] = {"input", "param", "state"};
      const int kind = node.kind == NodeKind::input ? 0 : node.kind == NodeKind::param ? 1 : 2;
      return void(say_site(node.site) << kKinds[kind] << " \"" << graph_.name(node.name) << "\", ");
    }
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const Step& step = program_.steps[s];
      for (const StepBinding& binding : slice(span_of(program_.bindings), step.bindings)) {
        if (binding.tensor != id || !binding.writes) continue;
        for (const Node& node : graph_.nodes) {
          if (node.kind == NodeKind::op && node.site.line == step.line) {
            say_site(node.site);
            break;
          }
        }
        error << "the result of step " << s << " (" << text_of(step.label) << "), ";
        return;
      }
    }
    error << "a constant ";
  }
  constexpr Text& say_site(const Site& site) { return program_.error << site.file << ':' << site.line << ": "; }
  constexpr std::string_view text_of(Range name) const {
    return program_.names.view().substr(static_cast<size_t>(name.first), static_cast<size_t>(name.count));
  }
  constexpr bool is_named(int32_t tensor, std::string_view name) const {
    for (const Port& port : program_.ports) {
      if (port.tensor == tensor && text_of(port.name) == name) return true;
    }
    return false;
  }

  struct Slot {
    int32_t buffer = -1;
    bool free = false;
  };
  constexpr uint64_t size_of(const Slot& slot) const { return program_.buffers[static_cast<size_t>(slot.buffer)].bytes; }

  const Graph& graph_;
  const Vec<Memory>& memory_;
  const Target& target_;
  Program& program_;
  Vec<int32_t> last_use_;  // by tensor: the last step that binds it
  Vec<Slot> slots_;
  int32_t constants_ = -1;  // the buffer of the constants
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_PLAN_H_

// Groups of nodes that differ only in which tensors they read and write, as the layers of a model do. The first of them
// is lowered; the steps of the others are its steps with other bindings. Saves most of the work of a deep graph, which
// matters when the compiler does it.
#ifndef RLXGPU_COMPILE_EQUAL_GROUPS_H_
#define RLXGPU_COMPILE_EQUAL_GROUPS_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/base/hash_index.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/lowering.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

// What a group looks like, tensors and run-time numbers replaced by the order of their first use.
struct GroupShape {
  Vec<int64_t> words;
  Vec<const OpDef*> ops;
  Vec<int32_t> reads;    // memory, in that order
  Vec<int32_t> scalars;  // likewise

  constexpr uint64_t hash() const {
    Hash hash;
    for (const int64_t word : words) hash << static_cast<uint64_t>(word);
    return hash.value();
  }
  constexpr bool same_as(const GroupShape& other) const {
    if (words.size() != other.words.size() || ops.size() != other.ops.size()) return false;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] != other.words[i]) return false;
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i] != other.ops[i]) return false;
    }
    return true;
  }
  static constexpr int32_t place(Vec<int32_t>& list, int32_t item) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] == item) return static_cast<int32_t>(i);
    }
    list.push_back(item);
    return static_cast<int32_t>(list.size() - 1);
  }
  constexpr void add(const TensorType& type) {
    words.push_back(type.shape.rank() * 16 + static_cast<int>(type.dtype));
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      words.push_back(type.shape[axis]);
      if (type.shape.symbol(axis) >= 0) words.push_back(-1 - place(scalars, type.shape.symbol(axis)));
    }
  }
};

// A group that has been lowered.
struct LoweredGroup {
  GroupShape shape;
  Range steps;           // of Program::steps
  Vec<int32_t> results;  // memory
  Range scratch;         // memory made on the way
};

// Everything that decides how a group is lowered, from the root down to what it reads.
constexpr void describe(const Lowering& lowering, int32_t value, int32_t root, Vec<int32_t>& seen, GroupShape& shape) {
  const Graph& graph = lowering.graph();
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == value) {
      shape.words.push_back(-2 - static_cast<int64_t>(i));
      return;
    }
  }
  seen.push_back(value);
  const Value& type = graph.values[static_cast<size_t>(value)];
  const Node& from = graph.nodes[static_cast<size_t>(type.node)];
  shape.words.push_back(static_cast<int64_t>(from.kind) * 1024 + value - from.results.first);
  shape.add(type);
  if (from.kind == NodeKind::scalar) {
    shape.words.push_back(GroupShape::place(shape.scalars, from.scalar));
    return;
  }
  if (from.kind == NodeKind::constant && type.shape.count() == 1 && lowering.memory_of(value) < 0) {
    for (int i = 0; i < from.words.count; ++i)
      shape.words.push_back(graph.words[static_cast<size_t>(from.words.first + i)]);
    return;
  }
  const int32_t memory = type.node == root ? -1 : lowering.memory_of(value);
  if (memory >= 0) {
    shape.words.push_back(GroupShape::place(shape.reads, memory));
    shape.words.push_back(static_cast<int64_t>(lowering.memory()[static_cast<size_t>(memory)].role));
    return;
  }
  shape.ops.push_back(from.op);
  shape.words.push_back(from.attrs.count);
  for (int i = 0; i < from.attrs.count; ++i)
    shape.words.push_back(graph.attrs[static_cast<size_t>(from.attrs.first + i)]);
  for (int k = 0; k < from.operands.count; ++k) describe(lowering, graph.operand(from, k), root, seen, shape);
}

// The steps of a group that is like one before it: those of the first, with other tensors and run-time numbers.
constexpr void repeat(Lowering& lowering, const LoweredGroup& first, const LoweredGroup& group) {
  Program& program = lowering.program();
  Vec<Memory>& memory = lowering.memory();
  const auto first_scratch = static_cast<int32_t>(memory.size());
  for (int i = 0; i < first.scratch.count; ++i) {
    Memory copy = memory[static_cast<size_t>(first.scratch.first + i)];
    if (copy.role != BufferRole::scratch) {  // a table is shared: nobody binds this one
      copy = Memory();
      copy.type.shape = {0};
    }
    memory.push_back(copy);
  }
  for (int s = 0; s < first.steps.count; ++s) {
    Step step = program.steps[static_cast<size_t>(first.steps.first + s)];
    const Range bindings = step.bindings, immediates = step.immediates;
    step.bindings.first = static_cast<int32_t>(program.bindings.size());
    for (int i = 0; i < bindings.count; ++i) {
      StepBinding binding = program.bindings[static_cast<size_t>(bindings.first + i)];
      const int32_t old = binding.tensor;
      for (size_t k = 0; k < first.shape.reads.size(); ++k) {
        if (first.shape.reads[k] == old) binding.tensor = group.shape.reads[k];
      }
      for (size_t k = 0; k < first.results.size(); ++k) {
        if (first.results[k] == old) binding.tensor = group.results[k];
      }
      const bool own = old >= first.scratch.first && old < first.scratch.first + first.scratch.count;
      if (own && memory[static_cast<size_t>(old)].role == BufferRole::scratch)
        binding.tensor = first_scratch + old - first.scratch.first;
      program.bindings.push_back(binding);
    }
    step.immediates.first = static_cast<int32_t>(program.step_immediates.size());
    for (int i = 0; i < immediates.count; ++i) {
      const int32_t old = program.step_immediates[static_cast<size_t>(immediates.first + i)];
      for (size_t k = 0; k < first.shape.scalars.size(); ++k) {
        if (first.shape.scalars[k] == old) program.step_immediates.push_back(group.shape.scalars[k]);
      }
    }
    if (step.grid_scalar >= 0) {
      for (size_t k = 0; k < first.shape.scalars.size(); ++k) {
        if (first.shape.scalars[k] == step.grid_scalar) {
          step.grid_scalar = group.shape.scalars[k];
          break;
        }
      }
    }
    program.steps.push_back(step);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_EQUAL_GROUPS_H_

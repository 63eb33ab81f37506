// Twins: groups of nodes that differ only in which tensors they read and write, as the layers of a model
// do. The first of them is lowered; the steps of the others are its steps with other bindings. Saves
// most of the work of a deep graph, which matters when the compiler does it.
#ifndef RLXGPU_COMPILE_TWINS_H_
#define RLXGPU_COMPILE_TWINS_H_

#include "rlxgpu/base/hash_index.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu {

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
  Range steps;            // of Program::steps
  Vec<int32_t> results;   // memory
  Range scratch;          // memory made on the way
};

}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_TWINS_H_

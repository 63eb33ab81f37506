// reference::Array and reference::Call: what an op's reference implementation reads and writes.
//
//   inline void exp_reference(reference::Call& call) {
//     for (int64_t i = 0; i < call.result().count(); ++i) call.result()[i] = std::exp(call.operand(0)[i]);
//   }
//
// The meaning of every op, in double precision, slow and obvious on purpose. Integers and booleans are
// held in doubles, exactly. A c64 element is two doubles, at 2 i and 2 i + 1. The interpreter
// (interpreter.h) rounds results to their storage type afterwards.
#ifndef RLXGPU_REFERENCE_CALL_H_
#define RLXGPU_REFERENCE_CALL_H_

#include <cstdint>
#include <vector>

#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core::reference {

// Coordinates of an element; only the first rank() entries mean something.
struct Index {
  int64_t at[kMaxRank] = {};
  int64_t& operator[](int axis) { return at[axis]; }
  int64_t operator[](int axis) const { return at[axis]; }
};

struct Array : TensorType {
  std::vector<double> data;

  Array() = default;
  Array(DType type, const Shape& extents) {
    dtype = type;
    shape = extents;
    data.resize(static_cast<size_t>(count() * (type == c64 ? 2 : 1)));
  }
  int64_t count() const { return shape.count(); }
  double& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }

  Index index_of(int64_t i) const {
    Index index;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[axis] = i % shape[axis];
      i /= shape[axis];
    }
    return index;
  }
  int64_t offset_of(const Index& index) const {
    int64_t i = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) i = i * shape[axis] + index[axis];
    return i;
  }
  // Where this array's element is when it is broadcast to `shape_of_result` (axes aligned at the end).
  int64_t broadcast_offset(const Index& index, int result_rank) const {
    int64_t i = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      i = i * shape[axis] + (shape[axis] == 1 ? 0 : index[axis + result_rank - shape.rank()]);
    }
    return i;
  }
};

struct Call {
  const OpDef* op = nullptr;
  std::vector<const Array*> operands;
  std::vector<Array*> results;  // already sized, all zero
  std::span<const int64_t> attrs;

  const Array& operand(int k) const { return *operands[static_cast<size_t>(k)]; }
  Array& result(int k = 0) const { return *results[static_cast<size_t>(k)]; }
  int64_t attr(int i) const { return attrs[static_cast<size_t>(i)]; }
  float attr_float(int i) const { return std::bit_cast<float>(static_cast<uint32_t>(attr(i))); }
};

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_REFERENCE_CALL_H_

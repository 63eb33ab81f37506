// At: how a map op writes the WGSL of one element of its result.
//
//   constexpr void exp_at(At& at) { at.result() << "exp(" << at.operand(0) << ")"; }
//
//   constexpr void reverse_at(At& at) {                       // along the axis attr(0)
//     Coords source = at.coords();
//     const int axis = static_cast<int>(at.attr(0));
//     source[axis] = at.let(at.shape()[axis] - 1, "u - ", source[axis]);
//     at.result() << at.operand(0, source);
//   }
//
// at.result() takes the expression, in the result's register type (dtype.h). at.operand(k) is the name
// of the operand's element at the same coordinates (broadcast); at.operand(k, coords) at any others,
// which must lie inside the operand. Loads and intermediate values become `let` statements before the
// expression, each once however often it is asked for.
#ifndef RLXGPU_WGSL_AT_H_
#define RLXGPU_WGSL_AT_H_

#include <bit>
#include <cstdint>

#include "rlxgpu/base/text.h"
#include "rlxgpu/wgsl/scope.h"

namespace rlxgpu::core {

class At {
 public:
  constexpr At(Scope& scope, const LocalValue& value, int coords, Text& result)
      : scope_(scope), value_(value), coords_(coords), result_(result) {}

  constexpr const Shape& shape() const { return value_.shape; }
  constexpr DType dtype() const { return value_.dtype; }
  constexpr int operand_count() const { return value_.operands.count; }
  constexpr const Shape& operand_shape(int k) const { return local(k).shape; }
  constexpr DType operand_dtype(int k) const { return local(k).dtype; }
  constexpr int64_t attr(int i) const { return scope_.attr(value_, i); }
  constexpr float attr_float(int i) const { return std::bit_cast<float>(static_cast<uint32_t>(attr(i))); }

  // The wanted element's coordinate along an axis: the name of a u32.
  constexpr Name coord(int axis) { return scope_.coord(coords_, axis); }
  constexpr Coords coords() {
    Coords all;
    for (int axis = 0; axis < shape().rank(); ++axis) all[axis] = coord(axis);
    return all;
  }
  // The wanted element's row-major index.
  constexpr Name index() { return scope_.linear(coords_); }

  constexpr Name operand(int k) { return scope_.value_broadcast(id(k), coords_); }
  constexpr Name operand(int k, const Coords& coords) {
    return scope_.value(id(k), scope_.explicit_coords(local(k).shape, coords));
  }
  // Element i of the operand, counted row-major.
  constexpr Name operand_at_index(int k, Name i) {
    return scope_.value(id(k), scope_.linear_coords(local(k).shape, i));
  }

  // Names an expression: let("x + ", 3, "u").
  template <typename... Parts>
  constexpr Name let(const Parts&... parts) {
    return scope_.let('c', parts...);
  }
  constexpr Text& result() { return result_; }

 private:
  constexpr int id(int k) const { return scope_.operand(value_, k); }
  constexpr const LocalValue& local(int k) const { return scope_.local(id(k)); }

  Scope& scope_;
  const LocalValue& value_;
  int coords_;
  Text& result_;
};

constexpr void write_map(Scope& scope, const LocalValue& value, int coords, Text& result) {
  At at(scope, value, coords, result);
  value.op->at(at);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_AT_H_

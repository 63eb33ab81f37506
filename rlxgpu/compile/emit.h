// Emit: how a kernel op turns one of its variants into dispatches.
//
//   constexpr void reduce_rows_emit(Emit& e) {
//     e.dispatch(kReduceRowsFile)
//         .number("kRows", rows).number("kCols", cols).type("Acc", Register::f32)
//         .input("x", e.operand(0), order)      // x_at(i): whatever the operand is computed from
//         .output("y", e.result())              // y_put(i, v): maps that follow are applied to v
//         .grid(rows);
//   }
//
// What decides how fast a variant is, and not what it computes, is no constant of its emit function but a parameter:
// e.parameter("rows") (graph/parameter.h tells how a variant declares it).
//
// Several dispatches run in the order they are emitted and hand values on through e.scratch(). Every
// parameter, flag and block of a kernel file must be given, and nothing that it does not have;
// otherwise lowering stops with an error. A //#raw block binds the buffer itself: e.view(k) tells
// where the operand's elements are in it (an operand whose bit in OpDef::absorbs is not set), and
// e.dense(k) is a copy without gaps when the kernel cannot use strides; call it before e.dispatch(),
// for it is a dispatch of its own.
#ifndef RLXGPU_COMPILE_EMIT_H_
#define RLXGPU_COMPILE_EMIT_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/compile/copies.h"
#include "rlxgpu/compile/dispatch.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/compile/lowering.h"

namespace rlxgpu::core {

class Emit {
 public:
  constexpr Emit(Lowering& lowering, const Call& call, int32_t node, int32_t root, const Variant& variant,
                 const ParameterValues& parameters)
      : lowering_(lowering),
        call_(call),
        node_(node),
        root_(root),
        variant_(variant.name),
        parameters_(variant.parameters.list, parameters) {}

  constexpr const Call& call() const { return call_; }
  constexpr const Target& target() const { return lowering_.target(); }
  constexpr int64_t attr(int i) const { return call_.attr(i); }
  // The value of one of the variant's parameters (graph/parameter.h), given or by default.
  constexpr int64_t parameter(std::string_view name) const {
    if (!parameters_.has(name)) lowering_.fail(call_.op->name, '/', variant_, " declares no parameter ", name);
    return parameters_[name];
  }
  constexpr const Parameters& parameters() const { return parameters_; }

  constexpr Ref operand(int k) const { return {Ref::Kind::value, lowering_.operand(node_, k)}; }
  constexpr Ref result(int k = 0) const { return {Ref::Kind::result, k}; }
  // Whether maps that follow are computed where the result is stored.
  constexpr bool has_maps_behind() const { return root_ != node_; }
  // Memory for the time between the dispatches of this op.
  constexpr Ref scratch(DType dtype, const Shape& shape) const {
    return {Ref::Kind::memory, lowering_.scratch({dtype, shape})};
  }

  // A constant that is computed when the program is loaded.
  constexpr Ref table(DType dtype, const Shape& shape, const Table& table) const {
    return {Ref::Kind::memory, lowering_.table({dtype, shape}, table)};
  }

  // Where operand k's elements are in its buffer.
  constexpr View view(int k) const { return lowering_.view(lowering_.operand(node_, k)); }
  // Operand k's elements one after another, copied if they are not.
  constexpr Ref dense(int k) const { return rlxgpu::core::dense(lowering_, lowering_.operand(node_, k)); }

  constexpr Dispatch dispatch(const KernelFile& file) const {
    return Dispatch(lowering_, file, call_, node_, root_, variant_);
  }

 private:
  Lowering& lowering_;
  const Call& call_;
  int32_t node_, root_;
  std::string_view variant_;
  Parameters parameters_;
};

// WGSL functions that an epilogue calls.
constexpr void give_functions(Dispatch& dispatch, const Functions& functions) {
  for (int i = 0; i < Functions::size(); ++i) {
    if (!functions[i].empty()) dispatch.functions(functions[i]);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_EMIT_H_

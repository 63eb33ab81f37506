// OpDef: all that rlxgpu knows of an op, as a struct of constexpr functions. No registry.
//
//   inline constexpr OpDef kExp{.name = "exp", .infer = same_as_operand, .at = exp_at, .reference = exp_reference};
//
// There are two kinds of ops:
// - A map op has `at`: it says, as WGSL, what one element of its result is, given elements of its
//   operands at any coordinates. Elementwise ops and most data movement are map ops. They have no
//   kernel of their own: chains of them become one, or join the kernel before or after them.
// - A kernel op has `variants`: each emits one or more dispatches of kernel files.
// A map op that only re-addresses its operand (transpose, slice) also has `view`: no code at all.
//
// A user's own op, in the user's own repository, has the same form and the same powers.
#ifndef RLXGPU_GRAPH_OP_H_
#define RLXGPU_GRAPH_OP_H_

#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "rlxgpu/base/span.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/parameter.h"
#include "rlxgpu/graph/target.h"

namespace rlxgpu::core {

class Builder;  // builder.h
class Infer;    // builder.h
class At;       // wgsl/at.h
class Emit;     // compile/emit.h
class Fold;     // compile/fold.h
namespace reference {
struct Call;  // reference/call.h
}

inline constexpr int kMaxOperands = 16, kMaxResults = 4;

// Elements of a buffer: element (i0, i1, ...) is at offset + i0 * strides[0] + i1 * strides[1] + ...
// Strides may be zero (broadcast) or negative (reversed).
struct View {
  int64_t offset = 0;
  Strides strides;
  constexpr bool operator==(const View&) const = default;
};
// All elements of the shape one after another, from the buffer's beginning. (A step along an extent of 1 is never
// taken.)
constexpr bool is_dense(const View& view, const Shape& shape) {
  const Strides dense = dense_strides(shape);
  bool same = view.offset == 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    same = same && (shape[axis] == 1 || view.strides[axis] == dense[axis]);
  return same;
}

// One use of an op: the types of its operands and results, and its attributes.
struct Call {
  const OpDef* op = nullptr;
  const TensorType* operand_types[kMaxOperands] = {};
  const TensorType* result_types[kMaxResults] = {};
  const View* operand_views[kMaxOperands] = {};  // for variants: null when the operand is not in memory
  int operand_count = 0, result_count = 0;
  Span<int64_t> attrs = {};
  std::span<const OpDef* const> fused = {};  // for choosers: the maps that its kernels compute besides

  constexpr const TensorType& operand(int k) const { return *operand_types[static_cast<size_t>(k)]; }
  constexpr const TensorType& result(int k = 0) const { return *result_types[static_cast<size_t>(k)]; }
  // Where operand k's elements are: as they lie in its own buffer, when they have no place yet.
  constexpr View view(int k) const {
    const View* const known = operand_views[static_cast<size_t>(k)];
    return known != nullptr ? *known : View{0, dense_strides(operand(k).shape)};
  }
  constexpr int64_t attr(int i) const { return attrs[static_cast<size_t>(i)]; }
  constexpr float attr_float(int i) const { return std::bit_cast<float>(static_cast<uint32_t>(attr(i))); }
};

constexpr int64_t attr_of(float value) { return std::bit_cast<uint32_t>(value); }

struct Variant {
  std::string_view name;                                  // in labels, benchmarks and the tuner's file
  bool (*accepts)(const Call&, const Target&) = nullptr;  // whether it can do the call; null: always
  void (*emit)(Emit&) = nullptr;
  bool (*prefers)(const Call&, const Target&) = nullptr;  // whether it is good at a call that it accepts; null: always
  // For kernels that drivers are known to get wrong: a small graph of constants and of this op, called like the given
  // call, whose results are exact. Before runtime uses the variant, once for each device, it must give what the op's
  // reference gives (runtime/trust.h). Null: trusted.
  void (*probe)(Builder&, const Call&) = nullptr;
  ParameterRules parameters = {};  // the numbers that decide how fast it is: parameter.h
};
// As Variant::prefers: used only when it is asked for, or when the tuner found it to be the fastest.
constexpr bool never(const Call&, const Target&) { return false; }

// A constant tensor that is computed when a program is loaded (twiddle factors, windows): `fill` writes its words, in
// storage layout, from `args`. It takes nothing of the compiler's time, and equal ones of a program are one.
struct Table {
  void (*fill)(std::span<const int64_t> args, std::span<uint32_t> words) = nullptr;
  std::array<int64_t, 6> args = {};
  constexpr bool operator==(const Table&) const = default;
};

// Writes the text of a //#slot block of a kernel file when the kernel is rendered, from numbers.
using SlotWriter = void (*)(Text& out, std::span<const int64_t> args);

struct Cost {
  double flops = 0;  // arithmetic the algorithm needs, not what a kernel happens to spend
  double bytes = 0;  // each operand read once, each result written once
};

// How far a computed element may be from the exact one: ulps of the result in f32, and an absolute error.
struct Accuracy {
  double ulps = 0.5;
  double absolute = 0;
};

// Texts of WGSL functions.
struct Functions {
  std::string_view first = {}, second = {}, third = {};
  constexpr std::string_view operator[](int i) const { return i == 0 ? first : i == 1 ? second : third; }
  static constexpr int size() { return 3; }
};

struct OpDef {
  std::string_view name;  // in listings, labels, errors, benchmarks

  void (*infer)(Infer&) = nullptr;  // the result's type, or the sentence that says why not

  void (*at)(At&) = nullptr;                                               // map op: one element of the result, as WGSL
  bool (*view)(const Call&, const View& operand, View& result) = nullptr;  // map op without code; false: not possible
  bool reads_elsewhere = false;  // map op that reads operands at other coordinates than the result's; implied by `view`
  bool always_stored = false;    // map op whose result always has memory of its own: others do not compute it again
  int (*reads)(const Call&) = nullptr;  // how many elements of each operand one of the result takes; null: one
  bool keeps_order = false;             // element i of the result is element i of the operand, whatever the shapes
  Functions wgsl = {};                  // functions that `at` calls; each text is put into a kernel once

  // Kernel op. The first that accepts and prefers a call is used; the last is the simplest and accepts every call.
  std::span<const Variant> variants = {};
  uint32_t absorbs = 0;        // bit k: operand k may be computed on the fly from the maps before it
  bool absorbs_after = false;  // result 0 may be transformed by the maps that follow before it is stored, and be stored
                               // in their layouts: kernels hand over each element once, through .output(). Of an op
                               // that works in place: result 1
  int extra_bindings = 0;      // buffers that a kernel which stores result 0 may bind beyond one for each operand and
                               // result: scratch of a dispatch before it, tables. Maps that join it leave room for them
  int in_place = -1;           // result 0 is operand k's buffer, changed (a cache that grows, a weight that learns)

  bool commutative = false;  // its two operands may change places
  int axis_attrs = -1;       // attributes from this one on are axes of operand 0, which may count from the end

  bool (*fold)(Fold&) = nullptr;                  // constant operands: the constant result; false: not possible
  Cost (*cost)(const Call&) = nullptr;            // null: one operation an element, every tensor once
  void (*reference)(reference::Call&) = nullptr;  // the meaning, in double precision
  Accuracy accuracy = {8};  // what its kernels promise, besides the rounding of sums (reference/op_error.h)

  constexpr int transformed_result() const { return in_place >= 0 ? 1 : 0; }  // that of absorbs_after
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_GRAPH_OP_H_

// elementwise<Form, references...>: an op that computes each element of its result from the elements of
// its operands at the same place, stated as WGSL patterns and as plain functions.
//
//   inline constexpr OpDef kMax = elementwise<
//       Form{.floats = "rlx_max(@0, @1)", .integers = "max(@0, @1)"}, reference::max>("max", {kNan});
//
// @k is operand k, #i attribute i (a float). A group of types without a pattern is refused. Operands broadcast
// as in NumPy and have one dtype. f16 and bf16 are computed in f32 and rounded only when stored, so a fused chain
// keeps more digits than its steps would. i8 and u8 wrap after every op, fused or not, where `wraps` says that
// the result can leave its range.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_FORM_H_
#define RLXGPU_KERNELS_ELEMENTWISE_FORM_H_

#include <cstddef>
#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/kernels/elementwise/map_reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

// WGSL with holes. An array, so that it can be part of a template argument.
struct Pattern {
  char text[96] = {};

  constexpr Pattern() = default;
  template <size_t kSize>
  constexpr Pattern(const char (&literal)[kSize]) {  // implicit: written as a literal
    static_assert(kSize <= sizeof(text));
    for (size_t i = 0; i < kSize; ++i) text[i] = literal[i];
  }
  constexpr std::string_view view() const { return text; }
  constexpr bool empty() const { return text[0] == 0; }
};

struct Form {
  Pattern floats = {};    // f32, f16, bf16: the register is an f32
  Pattern integers = {};  // i32, u32, i8, u8
  Pattern booleans = {};
  Pattern complexes = {};    // c64: the register is a vec2f
  bool signed_only = false;  // of the integers, only i32 and i8
  bool wraps = false;        // i8 and u8: bring the result back into range
  bool to_boolean = false;   // a predicate
};

inline constexpr Pattern kNoPattern;

constexpr const Pattern& pattern_for(const Form& form, DType dtype) {
  if (is_float(dtype)) return form.floats;
  if (dtype == boolean) return form.booleans;
  if (dtype == c64) return form.complexes;
  return form.signed_only && !is_signed(dtype) ? kNoPattern : form.integers;
}

// A bit for each dtype that has a pattern.
template <Form kForm>
inline constexpr uint32_t kTakenTypes = [] {
  uint32_t taken = 0;
  for (const DType dtype : kAllDTypes) taken |= uint32_t{!pattern_for(kForm, dtype).empty()} << static_cast<int>(dtype);
  return taken;
}();

// "f32, f16 or bf16": what a message says of the types that an op takes.
template <typename Accepts>
constexpr Text type_list(const Accepts& accepts) {
  int left = 0;
  for (const DType dtype : kAllDTypes) left += accepts(dtype) ? 1 : 0;
  Text list;
  for (const DType dtype : kAllDTypes) {
    if (!accepts(dtype)) continue;
    list << name_of(dtype) << (--left == 0 ? "" : left == 1 ? " or " : ", ");
  }
  return list;
}

// The broadcast shape of operands [first, count()); false after a failure.
constexpr bool infer_broadcast(Infer& infer, int first, Shape& shape) {
  const Call& call = infer.call();
  shape = call.operand(first).shape;
  for (int k = first + 1; k < call.operand_count; ++k) {
    if (!broadcast(shape, call.operand_types[k]->shape, shape)) {
      infer.fail("the shapes do not broadcast: aligned at the end, extents must be equal or 1",
                 shape.dynamic() || call.operand_types[k]->shape.dynamic() ? ", and run-time extents the same one" : "");
      return false;
    }
  }
  return true;
}

// Operands [first, count()) must have one dtype; false after a failure.
constexpr bool infer_same_dtype(Infer& infer, int first) {
  const Call& call = infer.call();
  for (int k = first + 1; k < call.operand_count; ++k) {
    if (call.operand_types[k]->dtype != call.operand_types[first]->dtype) {
      infer.fail("operands of ", name_of(infer.dtype(first)), " and ", name_of(infer.dtype(k)),
                 " do not mix: cast one of them");
      return false;
    }
  }
  return true;
}

namespace internal {

template <Form kForm>
constexpr void form_infer(Infer& infer) {
  if (!infer_same_dtype(infer, 0)) return;
  const DType dtype = infer.dtype(0);
  if ((kTakenTypes<kForm> >> static_cast<int>(dtype) & 1) == 0) {
    const Text list = type_list([](DType d) { return !pattern_for(kForm, d).empty(); });
    return infer.fail("takes ", list, ", not ", name_of(dtype), dtype == c64 ? ": use real, imag or abs first" : ": cast the operand first");
  }
  for (const int64_t attr : infer.call().attrs) {
    if ((static_cast<uint32_t>(attr) & 0x7f800000u) == 0x7f800000u) return infer.fail("a parameter is not finite");
  }
  Shape shape;
  if (infer_broadcast(infer, 0, shape)) infer.result(kForm.to_boolean ? boolean : dtype, shape);
}

// The pattern with its holes filled.
constexpr void fill(At& at, std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '@') {
      at.result() << at.operand(pattern[++i] - '0');
    } else if (pattern[i] == '#') {
      at.result() << "bitcast<f32>(" << Hex{static_cast<uint32_t>(at.attr(pattern[++i] - '0'))} << "u)";
    } else {
      at.result() << pattern[i];
    }
  }
}

template <Form kForm>
constexpr void form_at(At& at) {
  const std::string_view pattern = pattern_for(kForm, at.operand_dtype(0)).view();
  if (kForm.wraps && (at.dtype() == i8 || at.dtype() == u8)) {
    at.result() << "extractBits(";
    fill(at, pattern);
    at.result() << ", 0u, 8u)";
  } else {
    fill(at, pattern);
  }
}

}  // namespace internal

template <Form kForm, auto... kReferences>
constexpr OpDef elementwise(std::string_view name, Functions wgsl = {}, bool (*fold)(Fold&) = nullptr) {
  OpDef op;  // member by member: g++ 12 cannot copy an array in a designated initialiser of a template
  op.name = name;
  op.infer = internal::form_infer<kForm>;
  op.at = internal::form_at<kForm>;
  op.wgsl = wgsl;
  op.fold = fold;
  op.reference = internal::map_reference<kReferences...>;
  return op;
}

constexpr OpDef commutative(OpDef op) {
  op.commutative = true;
  return op;
}

// For functions that are less accurate than others: as accuracy.h says.
constexpr OpDef with_accuracy(OpDef op, Accuracy accuracy) {
  op.accuracy = accuracy;
  return op;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ELEMENTWISE_FORM_H_

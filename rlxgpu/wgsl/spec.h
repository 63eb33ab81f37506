// KernelSpec: all that decides a kernel's text, as plain data in flat pools. Two dispatches with equal
// specs share one kernel: twelve equal layers need the kernels of one.
//
// A kernel is a KernelFile with values for its params and extents, and with code for its inputs and
// outputs. That code comes from a small graph of LocalValues: loads from bindings, literals, run-time
// numbers, maps of these; and the value a kernel hands to its output (`given`).
#ifndef RLXGPU_WGSL_SPEC_H_
#define RLXGPU_WGSL_SPEC_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/wgsl/kernel_file.h"

namespace rlxgpu::core {

struct LocalValue : TensorType {
  enum class Kind : uint8_t { load, literal, scalar, map, given };
  Kind kind = Kind::load;
  const OpDef* op = nullptr;  // map
  Range operands;             // map: of SpecPools::operands, indices relative to the spec's first value
  Range attrs;                // map
  View view;                  // load
  int32_t binding = -1;       // load
  uint32_t word = 0, word2 = 0;  // literal: its storage bits (c64: both). scalar: its index among the immediates
};

struct SlotUse {
  int32_t name = -1;     // index into the file's names; -1: functions that the kernel calls
  int32_t value = -1;    // input: what to compute; output: what to store; place: of what. Relative to the spec's first value
  int32_t binding = -1;  // output, raw, buffer
  int32_t width = 1;     // buffer: elements loaded at once; less than 0: from any place on
  int32_t given = -1;    // output: the value that the kernel hands over
  int32_t place = -1;    // output: where its elements are among those handed over (a view); -1: in the same order
  int8_t order[kMaxRank] = {0, 1, 2, 3, 4, 5, 6, 7};  // input: axes of the operand in the order of the index
  std::string_view text;  // slot: its replacement; functions: their text
  SlotWriter write = nullptr;  // slot: or who writes it
  Range args;                  // of SpecPools::attrs: for the writer
  constexpr bool operator==(const SlotUse&) const = default;
  constexpr bool same_as(const SlotUse& other) const {  // wherever the args are; their numbers are not looked at
    SlotUse moved = other;
    moved.args.first = args.first;
    return *this == moved;
  }
};

struct ParamUse {
  enum class Kind : uint8_t { number, signed_number, float_bits, type, flag, immediate };
  int32_t name = -1;  // index into the file's names
  Kind kind = Kind::number;
  int64_t value = 0;  // type: a Register
  constexpr bool operator==(const ParamUse&) const = default;
};

struct BindingType {
  DType dtype = DType::f32;
  bool writes = false;
  bool shares_words = false;  // packed elements of one word are written by different invocations
  bool raw = false;           // declared by the kernel file itself
  bool fours = false;         // written in whole vectors of four only
  constexpr bool operator==(const BindingType&) const = default;
};

struct KernelSpec {
  const KernelFile* file = nullptr;
  Range values, slots, params, bindings, immediates;  // immediates: of SpecPools::immediates
  uint64_t hash = 0;
};

struct SpecPools {
  Vec<KernelSpec> specs;
  Vec<LocalValue> values;
  Vec<int32_t> operands;
  Vec<int64_t> attrs;
  Vec<SlotUse> slots;
  Vec<ParamUse> params;
  Vec<BindingType> bindings;
  Vec<DType> immediates;
};

struct SpecView {
  std::span<const KernelSpec> specs;
  std::span<const LocalValue> values;
  std::span<const int32_t> operands;
  std::span<const int64_t> attrs;
  std::span<const SlotUse> slots;
  std::span<const ParamUse> params;
  std::span<const BindingType> bindings;
  std::span<const DType> immediates;
};

template <typename T>
constexpr std::span<const T> span_of(const Vec<T>& vec) {
  return {vec.data(), vec.size()};
}
template <typename T>
constexpr std::span<const T> slice(std::span<const T> pool, Range range) {
  return pool.subspan(static_cast<size_t>(range.first), static_cast<size_t>(range.count));
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_SPEC_H_

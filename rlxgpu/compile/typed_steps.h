// StepTuple: the steps of a constant program as types, for static_asserts, loops of the compiler and reports.
//
//   using Layer = Executable<AttentionLayer, kRdna3, choose<"attention/streaming{queries=8}">>;
//   using Attend = std::tuple_element_t<1, Layer::Steps>;
//   static_assert(Attend::Kernel::op == "attention" && Attend::Kernel::parameter<"queries"> == 8);
//   static_assert(Attend::Kernel::workgroup.count() <= 256 && Attend::Kernel::wgsl.size() > 1000);
//   for_each_step<Layer>([]<typename Step>() { report(Step::Kernel::spec, Step::grid, Step::flops); });
//
// Equal kernels of a program are one type. Nothing of this is computed before it is asked for; the WGSL of a kernel
// costs the compiler as much as KernelText does, and once more its length.
#ifndef RLXGPU_COMPILE_TYPED_STEPS_H_
#define RLXGPU_COMPILE_TYPED_STEPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "rlxgpu/base/fixed_string.h"
#include "rlxgpu/compile/freeze.h"
#include "rlxgpu/wgsl/workgroup_size.h"

namespace rlxgpu::core {

// One binding of a kernel or a step.
struct TypedBinding {
  DType dtype = DType::f32;
  bool writes = false;
  constexpr bool operator==(const TypedBinding&) const = default;
};

namespace internal {

// The value of `name` in "matmul/tiled{rows_each=4,cols_each=2}"; `found` is false where there is none.
struct FoundParameter {
  int64_t value = 0;
  bool found = false;
};
constexpr FoundParameter parameter_in(std::string_view spec, std::string_view name) {
  std::string_view rest = VariantName(spec).parameters;
  while (!rest.empty()) {
    const size_t end = rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',');
    std::string_view item = rest.substr(0, end);
    rest.remove_prefix(end == rest.size() ? end : end + 1);
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || item.substr(0, equals) != name) continue;
    item.remove_prefix(equals + 1);
    int32_t value = 0;
    if (read_number(item, value)) return {value, true};
  }
  return {};
}

}  // namespace internal

// Kernel k of a program, made by the variant that `kSpec` names; kSpec: of the program's names.
template <typename Program, int kIndex, int32_t kSpecFirst, int32_t kSpecCount>
struct TypedKernel {
 private:
  static constexpr std::string_view variant_text() {
    const std::string_view whole = VariantName(spec).name;
    const size_t slash = whole.find('/');
    return slash == std::string_view::npos ? std::string_view() : whole.substr(slash + 1);
  }
  template <FixedString kName>
  static consteval int64_t find_parameter() {
    constexpr internal::FoundParameter kFound = internal::parameter_in(spec, kName.view());
    static_assert(kFound.found, "the variant of this kernel has no parameter of this name: see TypedKernel::spec");
    return kFound.value;
  }
  static constexpr size_t text_size() {
    size_t size = 0;
    for (size_t i = 0; i < Text::sizes.pieces; ++i) size += Text::contents.pieces.items[i].size;
    return size;
  }
  using Text = typename Program::template Text<kIndex>;

 public:
  // "attention/streaming{queries=8,keys=1,lanes=64}"; "map" of a kernel that only computes maps or copies.
  static constexpr std::string_view spec =
      kSpecCount == 0 ? std::string_view("map") : Program::view.name({kSpecFirst, kSpecCount});
  static constexpr std::string_view op = spec.substr(0, spec.find('/'));
  static constexpr std::string_view variant = variant_text();
  template <FixedString kName>
  static constexpr int64_t parameter = find_parameter<kName>();

 private:
  struct Joined {
    FixedString<text_size()> text;
    size_t used = 0;
    constexpr void append(const char* from, size_t size) {
      for (size_t i = 0; i < size; ++i) text.text[used + i] = from[i];
      used += size;
    }
  };
  static constexpr Joined joined = [] {
    Joined out;
    Text::append_to(out);
    return out;
  }();
  static constexpr const KernelSpec& kernel = Program::view.kernels.specs[static_cast<size_t>(kIndex)];

 public:
  static constexpr std::string_view wgsl = joined.text.view();
  static constexpr WorkgroupSize workgroup = workgroup_size(wgsl);
  static_assert(workgroup.found, "the workgroup size of this kernel is no sum or product of its constants");
  static constexpr size_t binding_count = static_cast<size_t>(kernel.bindings.count);
  static constexpr std::array<TypedBinding, binding_count> bindings = [] {
    std::array<TypedBinding, binding_count> all = {};
    for (size_t i = 0; i < binding_count; ++i) {
      const BindingType& type = Program::view.kernels.bindings[static_cast<size_t>(kernel.bindings.first) + i];
      all[i] = {type.dtype, type.writes};
    }
    return all;
  }();
};

// Step i of a program.
template <typename Program, size_t kIndex>
struct TypedStep {
 private:
  static constexpr const Step& step = Program::view.steps[kIndex];

 public:
  using Kernel = TypedKernel<Program, step.kernel, step.spec.first, step.spec.count>;
  static constexpr std::string_view label = Program::view.name(step.label);
  static constexpr std::array<uint32_t, 3> grid = {step.grid[0], step.grid[1], step.grid[2]};
  static constexpr double flops = step.flops, bytes = step.bytes;
  static constexpr size_t operand_count = static_cast<size_t>(step.bindings.count);
  // The tensor that binding k is bound to: its type, and whether the step writes it.
  template <size_t kBinding>
  struct operand {
    static_assert(kBinding < operand_count, "the step has fewer bindings");

   private:
    static constexpr const StepBinding& binding =
        Program::view.bindings[static_cast<size_t>(step.bindings.first) + kBinding];

   public:
    static constexpr TensorType type = Program::view.tensors[static_cast<size_t>(binding.tensor)];
    static constexpr DType dtype = type.dtype;
    static constexpr bool writes = binding.writes;
  };
};

template <typename Program>
struct StepTuple {};

// The same for all of them, in order: f.template operator()<Step>().
template <typename Executable, typename F>
constexpr void for_each_step(F&& f) {
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    (f.template operator()<std::tuple_element_t<kIndex, typename Executable::Steps>>(), ...);
  }(std::make_index_sequence<std::tuple_size_v<typename Executable::Steps>>());
}

}  // namespace rlxgpu::core

template <typename Program>
struct std::tuple_size<rlxgpu::core::StepTuple<Program>> : std::integral_constant<size_t, Program::view.steps.size()> {
};
template <size_t kIndex, typename Program>
struct std::tuple_element<kIndex, rlxgpu::core::StepTuple<Program>> {
  static_assert(kIndex < Program::view.steps.size(), "the program has fewer steps");
  using type = rlxgpu::core::TypedStep<Program, kIndex>;
};

namespace rlxgpu {
using core::for_each_step;
}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_TYPED_STEPS_H_

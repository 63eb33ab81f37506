// Choice and Chooser: who decides between the variants of a kernel op, when not the op's own order, and with which
// parameters (graph/parameter.h).
//
//   options.choices = {{{"matmul", "tiled"}}};                // of every matmul that the variant accepts
//   options.choices = {{{"matmul", "tiled{rows_each=2}"}}};   // with this value, where it is valid; others by default
//   options.chooser = {choose_measured, &measurements};   // of one call at a time
//
// A chooser is asked once for each group of nodes unlike all before it (equal_groups.h): its answer may depend on
// the call and on nothing else. Choices win over it. Both work in the compiler, too.
#ifndef RLXGPU_COMPILE_CHOICE_H_
#define RLXGPU_COMPILE_CHOICE_H_

#include <span>
#include <string_view>

#include "rlxgpu/base/fixed_string.h"
#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

// Use this variant of that op, with these values of its parameters, wherever both are accepted.
struct Choice {
  std::string_view op, variant;
};

// The same as a template argument: Executable<G, kRdna3, choose<"matmul/tiled_8x8{tile_k=8}">>.
template <size_t kSize>
struct ChoiceText {
  FixedString<kSize> text;
  constexpr Choice choice() const {
    const std::string_view all = text.view();
    const size_t slash = all.find('/');
    if (slash == std::string_view::npos) return {all, {}};
    return {all.substr(0, slash), all.substr(slash + 1)};
  }
};
template <FixedString kText>
inline constexpr ChoiceText<kText.size()> choose{kText};

// Whether a step was made as a choice wants it; `spec`: its Step::spec.
constexpr bool fits(std::string_view spec, const Choice& choice) {
  const VariantName made(spec), wanted(choice.variant);
  if (made.name.size() != choice.op.size() + 1 + wanted.name.size() || !made.name.starts_with(choice.op) ||
      !made.name.ends_with(wanted.name))
    return false;
  std::string_view rest = wanted.parameters;
  while (!rest.empty()) {
    const size_t comma = rest.find(','), size = comma == std::string_view::npos ? rest.size() : comma;
    const std::string_view item = rest.substr(0, size);
    rest.remove_prefix(size == rest.size() ? size : size + 1);
    bool found = false;
    for (size_t at = made.parameters.find(item); at != std::string_view::npos && !found;
         at = made.parameters.find(item, at + 1)) {
      const size_t end = at + item.size();
      found =
          (at == 0 || made.parameters[at - 1] == ',') && (end == made.parameters.size() || made.parameters[end] == ',');
    }
    if (!found) return false;
  }
  return true;
}

struct Chooser {
  // `accepted`: the variants that accept the call, one at least: the preferred one, then the others in the op's order.
  // Returns the index of one of them; anything else means the first. Values of its parameters go to `given`; when they
  // are not valid for the call, they are the defaults.
  int (*choose)(void* context, const Call& call, std::span<const Variant* const> accepted,
                ParameterValues& given) = nullptr;
  void* context = nullptr;
};

// All parameters of the variant for the call: those that are not given get their defaults. False when a value is out of
// range or the variant does not take them together.
constexpr bool complete_parameters(const Variant& variant, const Call& call, const Target& target,
                                   ParameterValues& values) {
  Parameters p(variant.parameters.list, values);
  if (variant.parameters.defaults != nullptr) variant.parameters.defaults(call, target, p);
  values = p.values();
  for (size_t i = 0; i < p.declared().size(); ++i) {
    if (!p.declared()[i].contains(values.value[i])) return false;
  }
  return p.unknown().empty() && (variant.parameters.valid == nullptr || variant.parameters.valid(call, target, p));
}

// What a call is, as one line: "matmul f32[8,64] f32[64,16]:(1,64) -> f32[8,16]". Equal lines mean that one
// variant's kernels cost the same. Strides are those of operands that are read where they are and not dense; {...} are
// attributes; " +add +tanh" are the maps that are computed with it.
constexpr void append_call(Text& out, const Call& call) {
  out << call.op->name;
  for (int k = 0; k < call.operand_count; ++k) {
    const TensorType& type = call.operand(k);
    out << ' ' << name_of(type.dtype) << type.shape;
    const View* const view = call.operand_views[static_cast<size_t>(k)];
    if (view == nullptr || *view == View{0, dense_strides(type.shape)}) continue;
    out << ":(";
    for (int axis = 0; axis < type.shape.rank(); ++axis) out << (axis > 0 ? "," : "") << view->strides[axis];
    out << ')';
    if (view->offset != 0) out << '+' << view->offset;
  }
  out << " ->";
  for (int k = 0; k < call.result_count; ++k) out << ' ' << name_of(call.result(k).dtype) << call.result(k).shape;
  if (!call.attrs.empty()) {
    out << " {";
    for (size_t i = 0; i < call.attrs.size(); ++i) out << (i > 0 ? "," : "") << call.attrs[i];
    out << '}';
  }
  for (const OpDef* const map : call.fused) out << " +" << map->name;
}

// A variant that has a probe (Variant::probe) and a call that it is to compute. Whether it is right on a device is
// settled before a program is planned for good (runtime/trust.h): planning asks nobody.
struct Suspect {
  std::string_view op, variant;
  Text call;    // as append_call writes it
  Graph probe;  // whose results show whether the variant is right
};

constexpr Suspect suspect_of(const Call& call, const Variant& variant) {
  Suspect suspect;
  suspect.op = call.op->name;
  suspect.variant = variant.name;
  append_call(suspect.call, call);
  Builder probe;
  variant.probe(probe, call);
  suspect.probe = probe.graph();
  return suspect;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::choose;
}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_CHOICE_H_

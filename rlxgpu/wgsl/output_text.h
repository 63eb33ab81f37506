// OutputWriter: the WGSL functions through which a kernel stores what it has computed.
//
//   fn y_put(i : u32, v : f32)          element i of what the kernel hands over, after the maps that follow it
//   fn y_put4(i : u32, v : vec4<f32>)   four neighbours from a multiple of four on
//   fn y_word(w : u32)                  a whole word of a value that is computed from nothing but its index
//
// Layout, packed types and fused maps are decided here; a kernel file knows nothing of them.
#ifndef RLXGPU_WGSL_OUTPUT_TEXT_H_
#define RLXGPU_WGSL_OUTPUT_TEXT_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/inverse_view.h"
#include "rlxgpu/wgsl/at.h"
#include "rlxgpu/wgsl/packing.h"
#include "rlxgpu/wgsl/scope.h"
#include "rlxgpu/wgsl/spec.h"

namespace rlxgpu::core {

// The type of a binding's words in WGSL.
constexpr std::string_view word_type(const BindingType& type) {
  if (type.shares_words) return "atomic<u32>";
  return per_word(type.dtype) > 1 ? "u32" : wgsl_of(register_of(type.dtype));
}

class OutputWriter {
 public:
  constexpr OutputWriter(const SpecView& pools, const KernelSpec& spec, const KernelFile& file, Text& out)
      : pools_(pools), spec_(spec), file_(file), out_(out) {}

  // What a kernel hands over is stored once, under its name; or in several places, each with a number after the name.
  // `four`: the kernel calls y_put4, too.
  constexpr void outputs(int file_name, bool four) {
    const std::string_view name = file_.name(file_name).text;
    int count = 0;
    const SlotUse* first = nullptr;
    for (const SlotUse& use : slice(pools_.slots, spec_.slots)) {
      if (use.name != file_name) continue;
      if (first == nullptr) first = &use;
      ++count;
    }
    if (count == 1 && first->place < 0) return output(name, *first, four);
    const std::string_view given = wgsl_of(register_of(values()[static_cast<size_t>(first->given)].dtype));
    Text calls, calls4;
    int number = 0;
    for (const SlotUse& use : slice(pools_.slots, spec_.slots)) {
      if (use.name != file_name) continue;
      Text numbered;
      numbered << name << number++;
      output(numbered.view(), use, four);
      calls << "  " << numbered << "_put(i, v);\n";
      calls4 << "  " << numbered << "_put4(i, v);\n";
    }
    out_ << "fn " << name << "_put(i : u32, v : " << given << ") {\n" << calls << "}\n";
    if (four) out_ << "fn " << name << "_put4(i : u32, v : vec4<" << given << ">) {\n" << calls4 << "}\n";
  }

 private:
  constexpr std::span<const LocalValue> values() const { return slice(pools_.values, spec_.values); }
  constexpr std::span<const BindingType> bindings() const { return slice(pools_.bindings, spec_.bindings); }

  constexpr void output(std::string_view name, const SlotUse& use, bool four) {
    const LocalValue& value = values()[static_cast<size_t>(use.value)];
    const BindingType& type = bindings()[static_cast<size_t>(use.binding)];
    const std::string_view stored = wgsl_of(register_of(value.dtype));
    // What is stored at i: of the value handed over, or of nothing but the index.
    if (use.given >= 0) {
      const LocalValue& given = values()[static_cast<size_t>(use.given)];
      out_ << "fn " << name << "_map(i : u32, v : " << wgsl_of(register_of(given.dtype)) << ") -> " << stored << " {\n";
    } else {
      out_ << "fn " << name << "_value(i : u32) -> " << stored << " {\n";
    }
    Scope scope(pools_, spec_, write_map, out_);
    const Name result = scope.value(use.value, scope.linear_coords(value.shape, Name("i")));
    out_ << "  return " << result << ";\n}\n";

    if (use.given >= 0) {
      const LocalValue& given = values()[static_cast<size_t>(use.given)];
      const std::string_view given_at = use.place < 0 ? "i" : "e";
      if (use.place >= 0) place(name, values()[static_cast<size_t>(use.place)], given.shape.count());
      if (!type.fours) {
        out_ << "fn " << name << "_put(" << given_at << " : u32, v : " << wgsl_of(register_of(given.dtype)) << ") {\n";
        if (use.place >= 0) find_place(name);
        out_ << "  let stored = " << name << "_map(i, v);\n";
        store(type, use.binding);
        out_ << "}\n";
      }
      if (four) put4(name, use, type, wgsl_of(register_of(given.dtype)));
    } else {
      out_ << "fn " << name << "_word(w : u32) {\n";
      whole_word(name, type, use.binding, value.shape.count());
      out_ << "}\n";
    }
  }

  // Where element e of what a kernel hands over is stored (graph/inverse_view.h); 0xffffffff: nowhere.
  constexpr void place(std::string_view name, const LocalValue& to, int64_t count) {
    InverseView inverse;
    inverse.find(to.view, to.shape);
    const Strides dense = dense_strides(to.shape);
    out_ << "fn " << name << "_place(e : u32) -> u32 {\n";
    if (to.view.offset > 0) out_ << "  if (e < " << to.view.offset << "u) { return 0xffffffffu; }\n";
    out_ << "  var rest = e - " << to.view.offset << "u;\n  var at = 0u;\n";
    int64_t most = count - 1 - to.view.offset;  // that the rest can be
    for (int i = 0; i < inverse.count; ++i) {
      const int axis = inverse.axes[i];
      const int64_t stride = to.view.strides[axis];
      if (most / stride >= to.shape[axis])
        out_ << "  if (rest >= " << stride * to.shape[axis] << "u) { return 0xffffffffu; }\n";
      out_ << "  at += rest";
      if (stride != 1) out_ << " / " << stride << 'u';
      if (dense[axis] != 1) out_ << " * " << dense[axis] << 'u';
      out_ << ";\n";
      if (stride != 1) out_ << "  rest %= " << stride << "u;\n";
      most = stride - 1;
    }
    if (most > 0) out_ << "  if (rest != 0u) { return 0xffffffffu; }\n";
    out_ << "  return at;\n}\n";
  }
  constexpr void find_place(std::string_view name) {
    out_ << "  let i = " << name << "_place(e);\n  if (i == 0xffffffffu) { return; }\n";
  }

  // One element, by an invocation that may share its word with others: only its own bits change, so the
  // order of the invocations does not matter.
  constexpr void store(const BindingType& type, int binding) {
    const int lanes = per_word(type.dtype);
    if (lanes == 1) {
      out_ << "  b" << binding << "[i] = stored;\n";
      return;
    }
    const int bits = 32 / lanes;
    out_ << "  let shift = (i % " << lanes << "u) * " << bits << "u;\n"
         << "  atomicAnd(&b" << binding << "[i / " << lanes << "u], ~(" << ((1u << bits) - 1) << "u << shift));\n"
         << "  atomicOr(&b" << binding << "[i / " << lanes << "u], bits_" << name_of(type.dtype)
         << "(stored) << shift);\n";
  }

  // What makes of the index i of the first of four neighbours, a multiple of four, the index of another. Not a sum: for
  // i + 1 LLVM keeps a register of ones, which LLVM 21 loses on processors with AVX-512 (docs/drivers.md), and from `|`
  // it sees that i / 8 is the same for all four.
  static constexpr std::string_view kOfFour[] = {"", " | 1u", " | 2u", " | 3u"};

  // Four neighbours from a multiple of four on, by the one invocation that owns them: whole words.
  constexpr void put4(std::string_view name, const SlotUse& use, const BindingType& type, std::string_view given) {
    const int lanes = per_word(type.dtype), binding = use.binding;
    constexpr char kParts[] = {'x', 'y', 'z', 'w'};
    out_ << "fn " << name << "_put4(" << (use.place < 0 ? "i" : "e") << " : u32, v : vec4<" << given << ">) {\n";
    if (use.place >= 0 && !fours_stay(values()[static_cast<size_t>(use.place)])) {
      for (int first = 0; first < 4; ++first)
        out_ << "  " << name << "_put(e" << kOfFour[first] << ", v." << kParts[first] << ");\n";
      out_ << "}\n";
      return;
    }
    if (use.place >= 0) find_place(name);
    if (type.fours) out_ << "  b" << binding << "[i / 4u] = vec4<" << word_type(type) << ">(";
    for (int first = 0; first < 4; first += lanes) {
      if (type.fours) {
        out_ << (first > 0 ? ", " : "") << name << "_map(i" << kOfFour[first] << ", v." << kParts[first] << ')'
             << (first == 3 ? ");\n" : "");
        continue;
      }
      if (lanes == 1) {
        const std::string_view of_four = kOfFour[first];
        out_ << "  b" << binding << "[i" << of_four << "] = " << name << "_map(i" << of_four << ", v." << kParts[first]
             << ");\n";
        continue;
      }
      out_ << "  atomicStore(&b" << binding << "[i / " << lanes << "u + " << first / lanes << "u], ";
      for (int lane = 0; lane < lanes; ++lane) {
        out_ << (lane > 0 ? " | (" : "(") << "bits_" << name_of(type.dtype) << '(' << name << "_map(i"
             << kOfFour[first + lane] << ", v." << kParts[first + lane] << ")) << " << lane * (32 / lanes) << "u)";
      }
      out_ << ");\n";
    }
    out_ << "}\n";
  }
  // Whether four neighbours from a multiple of four on are such neighbours where they are stored, too.
  static constexpr bool fours_stay(const LocalValue& to) {
    const int last = to.shape.rank() - 1;
    if (last < 0 || to.shape[last] % 4 != 0 || to.view.strides[last] != 1 || to.view.offset % 4 != 0) return false;
    for (int axis = 0; axis < last; ++axis) {
      if (to.shape[axis] != 1 && to.view.strides[axis] % 4 != 0) return false;
    }
    return true;
  }

  // All elements of one word, by the one invocation that owns it; beyond the end they are zero.
  constexpr void whole_word(std::string_view name, const BindingType& type, int binding, int64_t count) {
    const int lanes = per_word(type.dtype);
    if (lanes == 1) {
      out_ << "  b" << binding << "[w] = " << name << "_value(w);\n";
      return;
    }
    out_ << "  var word = 0u;\n";
    for (int lane = 0; lane < lanes; ++lane) {
      if (lane > 0 && count % lanes != 0) out_ << "  if (w * " << lanes << "u + " << lane << "u < " << count << "u) {";
      out_ << "  word |= bits_" << name_of(type.dtype) << '(' << name << "_value(w * " << lanes << "u + " << lane
           << "u)) << " << lane * (32 / lanes) << "u;" << (lane > 0 && count % lanes != 0 ? " }\n" : "\n");
    }
    out_ << "  b" << binding << "[w] = word;\n";
  }

  const SpecView& pools_;
  const KernelSpec& spec_;
  const KernelFile& file_;
  Text& out_;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_OUTPUT_TEXT_H_

// render_kernel writes the WGSL of one kernel specification.
//
//   Text wgsl;
//   render_kernel(program.kernels, 3, wgsl);
//
// The kernel file's text, with its values and blocks replaced; after it the bindings and run-time
// numbers, the functions that maps call, and how packed types are read and written.
#ifndef RLXGPU_WGSL_RENDER_H_
#define RLXGPU_WGSL_RENDER_H_

#include "rlxgpu/base/pieces.h"
#include "rlxgpu/graph/inverse_view.h"
#include "rlxgpu/wgsl/at.h"
#include "rlxgpu/wgsl/packing.h"
#include "rlxgpu/wgsl/scope.h"

namespace rlxgpu {

class KernelRenderer {
 public:
  constexpr KernelRenderer(const SpecView& pools, const KernelSpec& spec, Pieces& pieces)
      : pools_(pools), spec_(spec), file_(*spec.file), pieces_(pieces), out_(pieces.text()) {}

  constexpr void render() {
    for (int i = 0; i < file_.size(); ++i) {
      const KernelFile::Piece& piece = file_.piece(i);
      switch (piece.kind) {
        case KernelFile::Kind::text: pieces_.quote(file_.text_of(piece)); break;
        case KernelFile::Kind::param:
        case KernelFile::Kind::extent: parameter(piece); break;
        case KernelFile::Kind::if_begin:
          if (!flag(piece.name)) i = piece.jump;
          break;
        case KernelFile::Kind::if_else: i = piece.jump; break;
        case KernelFile::Kind::if_end: break;
        default: block(piece); break;
      }
    }
    declarations();
    pieces_.close();
  }

 private:
  constexpr const ParamUse* param(int name) const {
    for (const ParamUse& use : slice(pools_.params, spec_.params)) {
      if (use.name == name) return &use;
    }
    return nullptr;
  }
  constexpr bool flag(int name) const {
    const ParamUse* use = param(name);
    return use != nullptr && use->value != 0;
  }
  constexpr const SlotUse* slot(int name) const {
    for (const SlotUse& use : slice(pools_.slots, spec_.slots)) {
      if (use.name == name) return &use;
    }
    return nullptr;
  }
  constexpr std::span<const LocalValue> values() const { return slice(pools_.values, spec_.values); }
  constexpr std::span<const BindingType> bindings() const { return slice(pools_.bindings, spec_.bindings); }

  constexpr void parameter(const KernelFile::Piece& piece) {
    const ParamUse* use = param(piece.name);
    if (use == nullptr) {  // an extent that is not a run-time number keeps its text
      out_ << file_.text_of(piece);
      return;
    }
    switch (use->kind) {
      case ParamUse::Kind::number: out_ << use->value << 'u'; break;
      case ParamUse::Kind::signed_number: out_ << "i32(" << use->value << ')'; break;
      case ParamUse::Kind::float_bits: out_ << "bitcast<f32>(" << Hex{static_cast<uint32_t>(use->value)} << "u)"; break;
      case ParamUse::Kind::type: out_ << wgsl_of(static_cast<Register>(use->value)); break;
      case ParamUse::Kind::flag: out_ << (use->value != 0 ? "true" : "false"); break;
      case ParamUse::Kind::immediate: out_ << "imm.s" << use->value; break;
    }
  }

  constexpr void block(const KernelFile::Piece& piece) {
    const SlotUse* use = slot(piece.name);
    if (use == nullptr) return;  // an optional operand that is not there
    if (piece.kind == KernelFile::Kind::slot) {
      if (use->write != nullptr) {
        use->write(out_, slice(pools_.attrs, use->args));
      } else {
        pieces_.quote(use->text.data() != nullptr ? use->text : file_.text_of(piece));
      }
      out_ << '\n';
    } else if (piece.kind == KernelFile::Kind::raw) {
      raw(file_.text_of(piece), use->binding);
    } else if (piece.kind == KernelFile::Kind::buffer) {
      buffer(file_.name(piece.name).text, *use);
    } else if (piece.kind == KernelFile::Kind::place) {
      place_in_view(file_.name(piece.name).text, values()[static_cast<size_t>(use->value)]);
    } else if (piece.kind == KernelFile::Kind::input) {
      input(file_.name(piece.name).text, *use);
    } else {
      outputs(piece.name, file_.text_of(piece).find("_put4") != std::string_view::npos);
    }
  }

  // The block itself, with the number in @binding( ) replaced.
  constexpr void raw(std::string_view text, int binding) {
    const std::string_view lead = "@binding(";
    size_t at = 0;
    while (at < text.size() && !text.substr(at).starts_with(lead)) ++at;
    if (at == text.size()) throw "kernel file: a //#raw block without @binding( )";
    at += lead.size();
    pieces_.quote(text.substr(0, at));
    out_ << binding;
    while (text[at] != ')') ++at;
    pieces_.quote(text.substr(at));
  }

  constexpr void place_in_view(std::string_view name, const LocalValue& value) {
    out_ << "fn " << name << "(i : u32) -> u32 {\n";
    Scope scope(pools_, spec_, out_);
    const Name at = scope.address(value.view, value.shape, scope.linear_coords(value.shape, Name("i")));
    out_ << "  return " << at << ";\n}\n";
  }

  // The buffer's declaration and the function that loads one, four or eight elements of it.
  constexpr void buffer(std::string_view name, const SlotUse& use) {
    const DType dtype = bindings()[static_cast<size_t>(use.binding)].dtype;
    const std::string_view elem = wgsl_of(register_of(dtype));
    const int width = use.width < 0 ? -use.width : use.width;
    const int lanes = per_word(dtype), words = width / lanes;  // loaded at once
    out_ << "@group(0) @binding(" << use.binding << ") var<storage, read> " << name << " : array<";
    if (words > 1) out_ << "vec" << words << '<';
    out_ << (lanes > 1 || use.width < 0 ? "u32" : elem) << (words > 1 ? ">>;\n" : ">;\n") << "fn " << name << "_load";
    if (width == 1) {
      out_ << "(i : u32) -> " << elem << " { return ";
      if (lanes == 1) {
        out_ << name << "[i]; }\n";
      } else {
        out_ << "load_" << name_of(dtype) << '(' << name << "[i / " << lanes << "u], i); }\n";
      }
      return;
    }
    out_ << width << "(i : u32) -> " << (width == 4 ? "vec4<" : "mat2x4<") << elem << "> {\n  let words = ";
    if (use.width > 0) {
      out_ << name << "[i / " << width << "u];\n  return ";
    } else {
      out_ << "part" << 32 / lanes << '(' << name << "[i / 4u], " << name << "[i / 4u + 1u], i % 4u);\n  return ";
    }
    if (lanes == 1 && use.width > 0) {
      out_ << "words;\n}\n";
    } else if (lanes == 1) {
      out_ << "bitcast<vec4<" << elem << ">>(words);\n}\n";
    } else if (width == 4) {
      out_ << "load4_" << name_of(dtype) << "(words);\n}\n";
    } else {
      out_ << "mat2x4<f32>(load4_" << name_of(dtype) << "(words.xy), load4_" << name_of(dtype) << "(words.zw));\n}\n";
    }
  }

  constexpr void declare(int binding, const BindingType& type) {
    out_ << "@group(0) @binding(" << binding << ") var<storage, " << (type.writes ? "read_write" : "read") << "> b" << binding
         << " : array<" << (type.fours ? "vec4<" : "") << word_type(type) << (type.fours ? ">" : "") << ">;\n";
  }
  static constexpr std::string_view word_type(const BindingType& type) {
    if (type.shares_words) return "atomic<u32>";
    return per_word(type.dtype) > 1 ? "u32" : wgsl_of(register_of(type.dtype));
  }

  // Everything at module scope that the generated blocks use; WGSL does not mind that it comes last.
  constexpr void declarations() {
    int i = 0;
    if (spec_.immediates.count != 0) {
      out_ << "struct Immediates {\n";
      for (const DType dtype : slice(pools_.immediates, spec_.immediates)) {
        out_ << "  s" << i++ << " : " << wgsl_of(register_of(dtype)) << ",\n";
      }
      out_ << "}\nvar<immediate> imm : Immediates;\n";
    }
    bool loads[9] = {}, loads4[9] = {}, parts[3] = {}, stores[9] = {}, literals = false;
    for (const LocalValue& value : values()) {
      if (value.kind == LocalValue::Kind::load) loads[static_cast<int>(value.dtype)] = true;
      literals = literals || value.kind == LocalValue::Kind::literal;
    }
    for (const SlotUse& use : slice(pools_.slots, spec_.slots)) {
      if (use.name < 0 || file_.name(use.name).kind != KernelFile::Kind::buffer) continue;
      const auto dtype = static_cast<size_t>(bindings()[static_cast<size_t>(use.binding)].dtype);
      (use.width == 1 ? loads : loads4)[dtype] = true;
      if (use.width < 0) parts[per_word(bindings()[static_cast<size_t>(use.binding)].dtype) / 2] = true;
    }
    i = 0;
    for (const BindingType& type : bindings()) {
      if (!type.raw) declare(i, type);
      if (!type.raw && type.writes) stores[static_cast<int>(type.dtype)] = true;
      ++i;
    }
    if (literals) pieces_.quote(kFloatBits);
    if (parts[0]) pieces_.quote(kPart32);
    if (parts[1]) pieces_.quote(kPart16);
    if (parts[2]) pieces_.quote(kPart8);
    for (const DType dtype : kAllDTypes) {
      if (loads[static_cast<int>(dtype)]) pieces_.quote(load_function(dtype));
      if (loads4[static_cast<int>(dtype)]) pieces_.quote(load4_function(dtype));
      if (stores[static_cast<int>(dtype)]) pieces_.quote(bits_function(dtype));
    }
    functions();
  }

  // The texts that the kernel and its map ops bring along, each once.
  constexpr void functions() {
    Vec<const char*> seen;
    for (const SlotUse& use : slice(pools_.slots, spec_.slots)) {
      if (use.name >= 0 || seen.contains(use.text.data())) continue;
      seen.push_back(use.text.data());
      pieces_.quote(use.text);
    }
    for (const LocalValue& value : values()) {
      if (value.kind != LocalValue::Kind::map) continue;
      for (int i = 0; i < Functions::size(); ++i) {
        const std::string_view text = value.op->wgsl[i];
        if (text.empty() || seen.contains(text.data())) continue;
        seen.push_back(text.data());
        pieces_.quote(text);
      }
    }
  }

  constexpr void input(std::string_view name, const SlotUse& use) {
    const LocalValue& value = values()[static_cast<size_t>(use.value)];
    out_ << "fn " << name << "_at(i : u32) -> " << wgsl_of(register_of(value.dtype)) << " {\n";
    Scope scope(pools_, spec_, out_);
    const Name i("i");
    Name result;
    bool in_order = true;
    for (int axis = 0; axis < value.shape.rank(); ++axis) in_order = in_order && use.order[axis] == axis;
    if (in_order) {
      result = scope.value(use.value, scope.linear_coords(value.shape, i));
    } else {
      Shape permuted;
      for (int axis = 0; axis < value.shape.rank(); ++axis) permuted.push_back(value.shape.dim(use.order[axis]));
      const int set = scope.linear_coords(permuted, i);
      Coords coords;
      for (int axis = 0; axis < value.shape.rank(); ++axis) coords[use.order[axis]] = scope.coord(set, axis);
      result = scope.value(use.value, scope.explicit_coords(value.shape, coords));
    }
    out_ << "  return " << result << ";\n}\n";
  }

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
    Scope scope(pools_, spec_, out_);
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
      if (most / stride >= to.shape[axis]) out_ << "  if (rest >= " << stride * to.shape[axis] << "u) { return 0xffffffffu; }\n";
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
         << "  atomicOr(&b" << binding << "[i / " << lanes << "u], bits_" << name_of(type.dtype) << "(stored) << shift);\n";
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
      for (int first = 0; first < 4; ++first) out_ << "  " << name << "_put(e" << kOfFour[first] << ", v." << kParts[first] << ");\n";
      out_ << "}\n";
      return;
    }
    if (use.place >= 0) find_place(name);
    if (type.fours) out_ << "  b" << binding << "[i / 4u] = vec4<" << word_type(type) << ">(";
    for (int first = 0; first < 4; first += lanes) {
      if (type.fours) {
        out_ << (first > 0 ? ", " : "") << name << "_map(i" << kOfFour[first] << ", v." << kParts[first] << ')' << (first == 3 ? ");\n" : "");
        continue;
      }
      if (lanes == 1) {
        const std::string_view of_four = kOfFour[first];
        out_ << "  b" << binding << "[i" << of_four << "] = " << name << "_map(i" << of_four << ", v." << kParts[first] << ");\n";
        continue;
      }
      out_ << "  atomicStore(&b" << binding << "[i / " << lanes << "u + " << first / lanes << "u], ";
      for (int lane = 0; lane < lanes; ++lane) {
        out_ << (lane > 0 ? " | (" : "(") << "bits_" << name_of(type.dtype) << '(' << name << "_map(i" << kOfFour[first + lane] << ", v."
             << kParts[first + lane] << ")) << " << lane * (32 / lanes) << "u)";
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
      out_ << "  word |= bits_" << name_of(type.dtype) << '(' << name << "_value(w * " << lanes << "u + " << lane << "u)) << "
           << lane * (32 / lanes) << "u;" << (lane > 0 && count % lanes != 0 ? " }\n" : "\n");
    }
    out_ << "  b" << binding << "[w] = word;\n";
  }

  const SpecView& pools_;
  const KernelSpec& spec_;
  const KernelFile& file_;
  Pieces& pieces_;
  Text& out_;  // of pieces_
};

constexpr void render_kernel(const SpecView& pools, int kernel, Pieces& out) {
  KernelRenderer(pools, pools.specs[static_cast<size_t>(kernel)], out).render();
}
constexpr void render_kernel(const SpecView& pools, int kernel, Text& out) {
  Pieces pieces;
  render_kernel(pools, kernel, pieces);
  join(pieces.pieces().data(), pieces.pieces().size(), pieces.written(), out);
}

}  // namespace rlxgpu

#endif  // RLXGPU_WGSL_RENDER_H_

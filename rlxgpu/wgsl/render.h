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
#include "rlxgpu/wgsl/at.h"
#include "rlxgpu/wgsl/output_text.h"
#include "rlxgpu/wgsl/packing.h"
#include "rlxgpu/wgsl/scope.h"

namespace rlxgpu::core {

class KernelRenderer {
 public:
  constexpr KernelRenderer(const SpecView& pools, const KernelSpec& spec, Pieces& pieces)
      : pools_(pools), spec_(spec), file_(*spec.file), pieces_(pieces), out_(pieces.text()) {}

  constexpr void render() {
    for (int i = 0; i < file_.size(); ++i) {
      const KernelFile::Piece& piece = file_.piece(i);
      switch (piece.kind) {
        case KernelFile::Kind::text:
          pieces_.quote(file_.text_of(piece));
          break;
        case KernelFile::Kind::param:
        case KernelFile::Kind::extent:
          parameter(piece);
          break;
        case KernelFile::Kind::if_begin:
          if (!flag(piece.name)) i = piece.jump;
          break;
        case KernelFile::Kind::if_else:
          i = piece.jump;
          break;
        case KernelFile::Kind::if_end:
          break;
        default:
          block(piece);
          break;
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
      case ParamUse::Kind::number:
        out_ << use->value << 'u';
        break;
      case ParamUse::Kind::signed_number:
        out_ << "i32(" << use->value << ')';
        break;
      case ParamUse::Kind::float_bits:
        float_literal(static_cast<uint32_t>(use->value));
        break;
      case ParamUse::Kind::type:
        out_ << wgsl_of(static_cast<Register>(use->value));
        break;
      case ParamUse::Kind::flag:
        out_ << (use->value != 0 ? "true" : "false");
        break;
      case ParamUse::Kind::immediate:
        out_ << "imm.s" << use->value;
        break;
    }
  }

  // A number of these bits, exactly; not a bitcast, which Naga (Firefox) does not take for a constant.
  constexpr void float_literal(uint32_t bits) {
    const uint32_t exponent = bits >> 23 & 255, fraction = (bits & 0x7fffff) << 1;
    if (exponent == 255) {  // an infinity or NaN is no constant in WGSL at all, and the compiler of WGSL says so
      out_ << "bitcast<f32>(" << Hex{bits} << "u)";
      return;
    }
    if (bits >> 31 != 0) out_ << '-';
    out_ << "0x" << (exponent != 0 ? '1' : '0') << '.';
    for (int shift = 20; shift >= 0; shift -= 4) out_ << "0123456789abcdef"[fraction >> shift & 15];
    out_ << 'p' << (exponent != 0 ? static_cast<int>(exponent) - 127 : -126) << 'f';
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
      buffer(file_.name(piece.name).text, *use, file_.text_of(piece).find("_vector") != std::string_view::npos);
    } else if (piece.kind == KernelFile::Kind::place) {
      place_in_view(file_.name(piece.name).text, values()[static_cast<size_t>(use->value)]);
    } else if (piece.kind == KernelFile::Kind::input) {
      input(file_.name(piece.name).text, *use);
    } else {
      OutputWriter(pools_, spec_, file_, out_)
          .outputs(piece.name, file_.text_of(piece).find("_put4") != std::string_view::npos);
    }
  }

  // The block itself, with the number in @binding( ) replaced.
  constexpr void raw(std::string_view text, int binding) {
    const std::string_view lead = "@binding(";
    size_t at = 0;
    while (at < text.size() && !text.substr(at).starts_with(lead)) ++at;
    if (at == text.size()) bad_kernel_file("kernel file: a //#raw block without @binding( )");
    at += lead.size();
    pieces_.quote(text.substr(0, at));
    out_ << binding;
    while (text[at] != ')') ++at;
    pieces_.quote(text.substr(at));
  }

  constexpr void place_in_view(std::string_view name, const LocalValue& value) {
    out_ << "fn " << name << "(i : u32) -> u32 {\n";
    Scope scope(pools_, spec_, write_map, out_);
    const Name at = scope.address(value.view, value.shape, scope.linear_coords(value.shape, Name("i")));
    out_ << "  return " << at << ";\n}\n";
  }

  // The buffer's declaration and the function that loads one, four or eight elements of it; `vectors`: it is told which
  // four or eight, instead of the place of the first.
  constexpr void buffer(std::string_view name, const SlotUse& use, bool vectors) {
    const DType dtype = bindings()[static_cast<size_t>(use.binding)].dtype;
    const std::string_view elem = wgsl_of(register_of(dtype));
    const int width = use.width < 0 ? -use.width : use.width;
    const int lanes = per_word(dtype), words = width / lanes;  // loaded at once
    out_ << "@group(0) @binding(" << use.binding << ") var<storage, read> " << name << " : array<";
    if (words > 1) out_ << "vec" << words << '<';
    out_ << (lanes > 1 || use.width < 0 ? "u32" : elem) << (words > 1 ? ">>;\n" : ">;\n") << "fn " << name
         << (vectors ? "_vector" : "_load");
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
      out_ << name << "[i";
      if (!vectors) out_ << " / " << width << 'u';
      out_ << "];\n  return ";
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
    out_ << "@group(0) @binding(" << binding << ") var<storage, " << (type.writes ? "read_write" : "read") << "> b"
         << binding << " : array<" << (type.fours ? "vec4<" : "") << word_type(type) << (type.fours ? ">" : "")
         << ">;\n";
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
    Scope scope(pools_, spec_, write_map, out_);
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

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_RENDER_H_

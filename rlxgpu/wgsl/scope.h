// Scope writes the body of one WGSL function that computes elements of local values (spec.h).
//
// It names every load and every intermediate value once per coordinates, turns one row-major index
// into coordinates only where a layout needs them, and unpacks packed types. Used by At and render.h.
#ifndef RLXGPU_WGSL_SCOPE_H_
#define RLXGPU_WGSL_SCOPE_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/wgsl/spec.h"

namespace rlxgpu::core {

// A short piece of WGSL: a variable or a number.
struct Name {
  char text[20] = {};
  uint8_t size = 0;

  constexpr Name() = default;
  constexpr explicit Name(std::string_view from) : size(static_cast<uint8_t>(from.size())) {
    for (size_t i = 0; i < from.size(); ++i) text[i] = from[i];
  }
  constexpr std::string_view view() const { return {text, size}; }
  constexpr bool operator==(const Name& other) const { return view() == other.view(); }
};
constexpr Text& operator<<(Text& out, const Name& name) { return out << name.view(); }

inline constexpr Name kZero{"0u"};
// A coordinate that is known.
constexpr Name name_of(int64_t coordinate) {
  Text text;
  text << coordinate << 'u';
  return Name(text.view());
}

// One coordinate for each axis.
struct Coords {
  Name at[kMaxRank];
  constexpr Name& operator[](int axis) { return at[axis]; }
  constexpr const Name& operator[](int axis) const { return at[axis]; }
};

class Scope {
 public:
  // Writes the expression for an element of a map op's result, at a set of coordinates: write_map of at.h.
  using MapWriter = void (*)(Scope&, const LocalValue& value, int set, Text& expression);

  constexpr Scope(const SpecView& pools, const KernelSpec& spec, MapWriter write_map, Text& out)
      : pools_(pools), spec_(spec), write_map_(write_map), out_(out) {}

  constexpr const LocalValue& local(int id) const {
    return pools_.values[static_cast<size_t>(spec_.values.first + id)];
  }
  constexpr int operand(const LocalValue& value, int k) const {
    return pools_.operands[static_cast<size_t>(value.operands.first + k)];
  }
  constexpr int64_t attr(const LocalValue& value, int i) const {
    return pools_.attrs[static_cast<size_t>(value.attrs.first + i)];
  }

  template <typename... Parts>
  constexpr Name let(char prefix, const Parts&... parts) {
    Text name;
    name << prefix << next_++;
    out_ << "  let " << name << " = ";
    ((out_ << parts), ...);
    out_ << ";\n";
    return Name(name.view());
  }

  // Sets of coordinates are numbered. One that is known by its row-major index:
  constexpr int linear_coords(const Shape& shape, Name index) {
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (sets_[i].is_linear && sets_[i].linear == index && sets_[i].shape == shape) return static_cast<int>(i);
    }
    Set set;
    set.shape = shape;
    set.linear = index;
    set.is_linear = true;
    sets_.push_back(set);
    return static_cast<int>(sets_.size() - 1);
  }
  // One that is known axis by axis:
  constexpr int explicit_coords(const Shape& shape, const Coords& coords) {
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (sets_[i].is_linear || !(sets_[i].shape == shape)) continue;
      bool same = true;
      for (int axis = 0; axis < shape.rank(); ++axis) same = same && sets_[i].axis[axis] == coords[axis];
      if (same) return static_cast<int>(i);
    }
    Set set;
    set.shape = shape;
    set.axis = coords;
    sets_.push_back(set);
    return static_cast<int>(sets_.size() - 1);
  }

  constexpr Name coord(int set, int axis) {
    const auto s = static_cast<size_t>(set);
    if (sets_[s].axis[axis].size != 0) return sets_[s].axis[axis];
    const Shape shape = sets_[s].shape;
    const Name name = shape[axis] <= 1 ? kZero : piece_of(sets_[s].linear, shape, axis, axis + 1);
    sets_[s].axis[axis] = name;
    return name;
  }
  constexpr Name linear(int set) {
    const auto s = static_cast<size_t>(set);
    if (sets_[s].linear.size != 0) return sets_[s].linear;
    const Shape shape = sets_[s].shape;
    const Name name = address(View{0, dense_strides(shape)}, shape, set);
    sets_[s].linear = name;
    return name;
  }

  // The value's element at these coordinates, which are of its own shape.
  constexpr Name value(int id, int set) {
    const LocalValue& value = local(id);
    if (value.kind == LocalValue::Kind::given) return Name("v");
    if (value.kind == LocalValue::Kind::scalar) {
      Text name;
      name << "imm.s" << value.word;
      return Name(name.view());
    }
    if (value.kind == LocalValue::Kind::literal) set = -1;  // the same everywhere
    for (const Known& known : known_) {
      if (known.value == id && known.set == set) return known.name;
    }
    const Name name = value.kind == LocalValue::Kind::literal ? literal(value)
                      : value.kind == LocalValue::Kind::load  ? load(value, set)
                                                              : map(value, set);
    known_.push_back({id, set, name});
    return name;
  }
  // The same, with coordinates of a shape that the value is broadcast to.
  constexpr Name value_broadcast(int id, int set) {
    const LocalValue& value = local(id);
    if (value.kind != LocalValue::Kind::map) return this->value(id, set);  // loads stretch by their strides
    const Shape& to = sets_[static_cast<size_t>(set)].shape;
    bool same = value.shape.rank() == to.rank();
    for (int axis = 0; same && axis < to.rank(); ++axis) same = value.shape[axis] == to[axis];
    if (same) return this->value(id, set);
    Coords coords;
    const int shift = to.rank() - value.shape.rank();
    for (int axis = 0; axis < value.shape.rank(); ++axis) {
      coords[axis] = value.shape[axis] == 1 ? kZero : coord(set, axis + shift);
    }
    return this->value(id, explicit_coords(value.shape, coords));
  }

  // The place of an element in its buffer. The view's shape is aligned with the coordinates' at the
  // end; an extent of 1 stretches.
  constexpr Name address(const View& view, const Shape& shape, int set) {
    const Shape to = sets_[static_cast<size_t>(set)].shape;
    Strides strides;
    const int shift = to.rank() - shape.rank();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis + shift >= 0 && shape[axis] != 1) strides[axis + shift] = view.strides[axis];
    }
    Text sum;
    int terms = 0;
    Name only;
    const bool is_linear = sets_[static_cast<size_t>(set)].is_linear;
    for (int axis = 0; axis < to.rank();) {
      int last = axis + 1;  // axes [axis, last) are walked as one
      while (is_linear && last < to.rank() && strides[last - 1] == strides[last] * to[last]) ++last;
      const int64_t stride = strides[last - 1];
      if (stride != 0 && to.count(axis, last) != 1) {
        const Name at =
            last == axis + 1 ? coord(set, axis) : piece_of(sets_[static_cast<size_t>(set)].linear, to, axis, last);
        if (terms > 0) sum << " + ";
        sum << at;
        if (stride != 1) sum << " * " << static_cast<uint32_t>(stride) << 'u';
        terms += stride == 1 ? 1 : 2;
        only = at;
      }
      axis = last;
    }
    if (terms == 1 && view.offset == 0) return only;
    if (view.offset != 0 || terms == 0) {
      if (terms > 0) sum << " + ";
      sum << static_cast<uint32_t>(view.offset) << 'u';
    }
    return terms == 0 ? Name(sum.view()) : let('c', sum);
  }

 private:
  struct Set {
    Shape shape;
    Name linear;
    bool is_linear = false;
    Coords axis;
  };
  struct Known {
    int value = -1, set = -1;
    Name name;
  };

  // Axes [first, last) of a row-major index, as one number.
  constexpr Name piece_of(Name index, const Shape& shape, int first, int last) {
    if (shape.count() == 0) return kZero;  // nobody asks for an element of it
    const int64_t inner = shape.count(last, shape.rank()), extent = shape.count(first, last);
    const bool outermost = shape.count(0, first) == 1;
    if (inner == 1 && outermost) return index;
    if (inner == 1) return let('c', index, " % ", extent, 'u');
    if (outermost) return let('c', index, " / ", inner, 'u');
    return let('c', "(", index, " / ", inner, "u) % ", extent, 'u');
  }

  constexpr Name literal(const LocalValue& value) {
    const uint32_t word = value.word;
    switch (value.dtype) {
      case DType::f32:
        return float_literal(word);
      case DType::f16:
        return float_literal(std::bit_cast<uint32_t>(half_value(static_cast<uint16_t>(word))));
      case DType::bf16:
        return float_literal(word << 16);
      case DType::i32:
        return let('t', "bitcast<i32>(", Hex{word}, "u)");
      case DType::i8:
        return let('t', "bitcast<i32>(", Hex{static_cast<uint32_t>(static_cast<int8_t>(word & 0xff))}, "u)");
      case DType::u32:
      case DType::u8:
        return let('t', word, 'u');
      case DType::boolean:
        return Name(word != 0 ? "true" : "false");
      case DType::c64:
        return let('t', "vec2f(float_bits(", Hex{word}, "u), float_bits(", Hex{value.word2}, "u))");
    }
    return {};
  }

  // Infinities and NaN may not be constants of WGSL, so they pass through a function.
  constexpr Name float_literal(uint32_t bits) {
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    return let('t', finite ? "bitcast<f32>(" : "float_bits(", Hex{bits}, "u)");
  }

  constexpr Name load(const LocalValue& value, int set) {
    const Name at = address(value.view, value.shape, set);
    if (per_word(value.dtype) == 1) return let('t', 'b', value.binding, '[', at, ']');
    return let('t', "load_", name_of(value.dtype), "(b", value.binding, "[", at,
               per_word(value.dtype) == 2 ? " >> 1u" : " >> 2u", "], ", at, ')');
  }

  constexpr Name map(const LocalValue& value, int set) {
    Text expression;
    write_map_(*this, value, set, expression);
    return let('t', expression);
  }

  const SpecView& pools_;
  const KernelSpec& spec_;
  MapWriter write_map_;
  Text& out_;
  Vec<Set> sets_;
  Vec<Known> known_;
  int next_ = 0;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_SCOPE_H_

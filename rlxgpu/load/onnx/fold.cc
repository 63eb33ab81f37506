#include "rlxgpu/load/onnx/fold.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/load/onnx/arguments.h"

namespace rlxgpu::core::onnx {
namespace {

using Extents = std::vector<int64_t>;

int64_t count_of(const Extents& extents) {
  int64_t n = 1;
  for (const int64_t extent : extents) n *= extent;
  return n;
}

// A result larger than what is folded is left to the device.
struct TooLarge {};
void check_size(const Extents& extents) {
  int64_t n = 1;
  for (const int64_t extent : extents) {
    if (extent < 0 || extent > kMostKnown) throw TooLarge();
    n *= extent;
    if (n > kMostKnown) throw TooLarge();
  }
}

// Calls visit(coordinates, index) for every element of a shape, in order.
template <typename Visit>
void for_each(const Extents& extents, Visit visit) {
  Extents at(extents.size());
  const int64_t count = count_of(extents);
  for (int64_t i = 0; i < count; ++i) {
    visit(at, i);
    for (size_t axis = extents.size(); axis-- > 0;) {
      if (++at[axis] < extents[axis]) break;
      at[axis] = 0;
    }
  }
}

int64_t index_of(const Extents& extents, const Extents& at) {
  int64_t index = 0;
  for (size_t axis = 0; axis < extents.size(); ++axis) index = index * extents[axis] + at[axis];
  return index;
}

// The element of a broadcast operand at the result's coordinates.
int64_t broadcast_index(const Extents& extents, const Extents& at) {
  int64_t index = 0;
  const size_t skipped = at.size() - extents.size();
  for (size_t axis = 0; axis < extents.size(); ++axis)
    index = index * extents[axis] + (extents[axis] == 1 ? 0 : at[axis + skipped]);
  return index;
}

Extents broadcast_extents(const Node& n, const Extents& a, const Extents& b) {
  Extents result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) n.invalid("the operands' shapes do not fit");
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

// The elements `from` of x, in this order.
HostTensor picked(const HostTensor& x, Extents shape, const std::vector<int64_t>& from) {
  if (is_float(x.type())) {
    std::vector<double> values;
    for (const int64_t i : from) values.push_back(x.number(i));
    return HostTensor::of_numbers(x.type(), std::move(shape), values);
  }
  std::vector<int64_t> values;
  for (const int64_t i : from) values.push_back(x.integer(i));
  return HostTensor::of_integers(x.type(), std::move(shape), values);
}

template <typename Index>
HostTensor moved(const HostTensor& x, const Extents& shape, Index index) {
  check_size(shape);
  std::vector<int64_t> from;
  for_each(shape, [&](const Extents& at, int64_t) { from.push_back(index(at)); });
  return picked(x, shape, from);
}

HostTensor relabelled(const HostTensor& x, Extents shape) {
  return HostTensor(x.type(), std::move(shape), x.bytes(), std::make_shared<const HostTensor>(x));
}

// Element by element, with broadcasting: integers by one function, floats by another.
template <typename Integers, typename Numbers>
void binary(Node& n, ElementType result, Integers integers, Numbers numbers) {
  const HostTensor &a = n.elements(0), &b = n.elements(1);
  const Extents shape = broadcast_extents(n, a.shape(), b.shape());
  check_size(shape);
  std::vector<int64_t> whole;
  std::vector<double> real;
  for_each(shape, [&](const Extents& at, int64_t) {
    const int64_t i = broadcast_index(a.shape(), at), k = broadcast_index(b.shape(), at);
    if (!is_float(a.type())) {
      whole.push_back(integers(a.integer(i), b.integer(k)));
    } else if (is_float(result)) {
      real.push_back(numbers(a.number(i), b.number(k)));
    } else {
      whole.push_back(numbers(a.number(i), b.number(k)) != 0);  // a comparison
    }
  });
  n.result(0, is_float(result) ? HostTensor::of_numbers(result, shape, real)
                               : HostTensor::of_integers(result, shape, whole));
}

// Arithmetic modulo 2^64, without overflow that the language does not define.
int64_t wrapping(uint64_t x) { return static_cast<int64_t>(x); }
uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

void fold_add(Node& n) {
  binary(n, n.type(0), [](int64_t a, int64_t b) { return wrapping(bits(a) + bits(b)); }, std::plus<double>());
}
void fold_sub(Node& n) {
  binary(n, n.type(0), [](int64_t a, int64_t b) { return wrapping(bits(a) - bits(b)); }, std::minus<double>());
}
void fold_mul(Node& n) {
  binary(n, n.type(0), [](int64_t a, int64_t b) { return wrapping(bits(a) * bits(b)); }, std::multiplies<double>());
}
void fold_div(Node& n) {
  const auto divide = [&](int64_t a, int64_t b) {
    if (b == 0) n.invalid("division by 0");
    return b == -1 ? wrapping(0 - bits(a)) : a / b;
  };
  binary(n, n.type(0), divide, std::divides<double>());
}
void fold_mod(Node& n) {
  const bool like_c = n.flag("fmod");
  const auto remainder = [&](int64_t a, int64_t b) {
    if (b == 0) n.invalid("division by 0");
    const int64_t rest = b == -1 ? 0 : a % b;
    return !like_c && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  };
  binary(n, n.type(0), remainder, [](double a, double b) { return std::fmod(a, b); });
}
template <typename Compare>
void fold_compare(Node& n) {
  binary(
      n, ElementType::boolean, [](int64_t a, int64_t b) -> int64_t { return Compare()(a, b); },
      [](double a, double b) -> double { return Compare()(a, b); });
}
void fold_and(Node& n) {
  binary(n, ElementType::boolean, [](int64_t a, int64_t b) -> int64_t { return a && b; }, std::plus<double>());
}
void fold_or(Node& n) {
  binary(n, ElementType::boolean, [](int64_t a, int64_t b) -> int64_t { return a || b; }, std::plus<double>());
}
void fold_max(Node& n) {
  if (n.count() != 2) throw TooLarge();
  binary(
      n, n.type(0), [](int64_t a, int64_t b) { return std::max(a, b); },
      [](double a, double b) { return std::max(a, b); });
}
void fold_min(Node& n) {
  if (n.count() != 2) throw TooLarge();
  binary(
      n, n.type(0), [](int64_t a, int64_t b) { return std::min(a, b); },
      [](double a, double b) { return std::min(a, b); });
}
void fold_pow(Node& n) {
  if (!is_float(n.type(0))) throw TooLarge();
  binary(n, n.type(0), [](int64_t a, int64_t) { return a; }, [](double a, double b) { return std::pow(a, b); });
}

template <typename Integers, typename Numbers>
void unary(Node& n, Integers integers, Numbers numbers) {
  const HostTensor& x = n.elements(0);
  if (is_float(x.type())) {
    std::vector<double> values = x.numbers();
    for (double& v : values) v = numbers(v);
    return n.result(0, HostTensor::of_numbers(x.type(), x.shape(), values));
  }
  std::vector<int64_t> values = x.integers();
  for (int64_t& v : values) v = integers(v);
  n.result(0, HostTensor::of_integers(x.type(), x.shape(), values));
}
constexpr auto kSame = [](int64_t x) { return x; };
void fold_neg(Node& n) {
  unary(n, [](int64_t x) { return wrapping(0 - bits(x)); }, std::negate<double>());
}
void fold_abs(Node& n) {
  unary(n, [](int64_t x) { return x < 0 ? wrapping(0 - bits(x)) : x; }, [](double x) { return std::abs(x); });
}
void fold_not(Node& n) {
  unary(n, [](int64_t x) -> int64_t { return x == 0; }, std::negate<double>());
}
void fold_floor(Node& n) {
  unary(n, kSame, [](double x) { return std::floor(x); });
}
void fold_ceil(Node& n) {
  unary(n, kSame, [](double x) { return std::ceil(x); });
}
void fold_sqrt(Node& n) {
  unary(n, kSame, [](double x) { return std::sqrt(x); });
}
void fold_exp(Node& n) {
  unary(n, kSame, [](double x) { return std::exp(x); });
}
void fold_log(Node& n) {
  unary(n, kSame, [](double x) { return std::log(x); });
}
void fold_reciprocal(Node& n) {
  unary(n, kSame, [](double x) { return 1 / x; });
}
void fold_relu(Node& n) {
  unary(n, [](int64_t x) { return std::max<int64_t>(x, 0); }, [](double x) { return std::max(x, 0.0); });
}
void fold_identity(Node& n) { n.result(0, Value(n.value(0))); }

bool is_plain(ElementType type) { return is_float(type) || is_integer(type) || type == ElementType::boolean; }

void cast_to(Node& n, ElementType to) {
  const HostTensor& x = n.elements(0);
  n.ignore({"saturate", "round_mode"});
  if (!is_plain(to) || !is_plain(x.type())) throw TooLarge();
  if (is_float(x.type()) || is_float(to)) {
    const std::vector<double> numbers = x.numbers();
    for (const double v : numbers) {
      if (!is_float(to) && to != ElementType::boolean && !(std::abs(v) < 1e9))
        throw TooLarge();  // as the device saturates
    }
    return n.result(0, HostTensor::of_numbers(to, x.shape(), numbers));
  }
  n.result(0, HostTensor::of_integers(to, x.shape(), x.integers()));
}
void fold_cast(Node& n) { cast_to(n, n.element_type("to")); }
void fold_cast_like(Node& n) { cast_to(n, n.type(1)); }

void fold_gather(Node& n) {
  const HostTensor &x = n.elements(0), &indices = n.elements(1);
  const auto axis = static_cast<size_t>(n.axis(n.integer("axis", 0), static_cast<int>(x.shape().size())));
  Extents shape(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(axis));
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + static_cast<int64_t>(axis) + 1, x.shape().end());
  const size_t picks = indices.shape().size();
  n.result(0, moved(x, shape, [&](const Extents& at) {
             const Extents which(at.begin() + static_cast<int64_t>(axis),
                                 at.begin() + static_cast<int64_t>(axis + picks));
             int64_t index = indices.integer(index_of(indices.shape(), which));
             if (index < 0) index += x.shape()[axis];
             if (index < 0 || index >= x.shape()[axis]) n.invalid("an index is outside of the operand");
             Extents from(at.begin(), at.begin() + static_cast<int64_t>(axis));
             from.push_back(index);
             from.insert(from.end(), at.begin() + static_cast<int64_t>(axis + picks), at.end());
             return index_of(x.shape(), from);
           }));
}

void fold_concat(Node& n) {
  const HostTensor& first = n.elements(0);
  const auto axis = static_cast<size_t>(n.axis(n.integer("axis", 1), static_cast<int>(first.shape().size())));
  Extents shape = first.shape();
  shape[axis] = 0;
  for (int k = 0; k < n.count(); ++k) {
    const HostTensor& part = n.elements(k);
    if (part.shape().size() != shape.size() || part.type() != first.type())
      n.invalid("the parts differ in type or rank");
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != axis && part.shape()[i] != shape[i]) n.invalid("the parts differ in axis ", i);
    }
    shape[axis] += part.shape()[axis];
  }
  check_size(shape);
  std::vector<int64_t> whole;
  std::vector<double> real;
  for_each(shape, [&](const Extents& at, int64_t) {
    Extents from = at;
    int k = 0;
    while (from[axis] >= n.elements(k).shape()[axis]) from[axis] -= n.elements(k++).shape()[axis];
    const HostTensor& part = n.elements(k);
    if (is_float(first.type())) {
      real.push_back(part.number(index_of(part.shape(), from)));
    } else {
      whole.push_back(part.integer(index_of(part.shape(), from)));
    }
  });
  n.result(0, is_float(first.type()) ? HostTensor::of_numbers(first.type(), shape, real)
                                     : HostTensor::of_integers(first.type(), shape, whole));
}

void fold_slice(Node& n) {
  const HostTensor& x = n.elements(0);
  const std::vector<Cut> cuts = cuts_of(n, x.shape());
  Extents shape;
  for (const Cut& cut : cuts) shape.push_back(cut.count);
  n.result(0, moved(x, shape, [&](const Extents& at) {
             Extents from;
             for (size_t axis = 0; axis < at.size(); ++axis)
               from.push_back(cuts[axis].start + at[axis] * cuts[axis].step);
             return index_of(x.shape(), from);
           }));
}

void fold_split(Node& n) {
  const HostTensor& x = n.elements(0);
  const int axis = n.axis(n.integer("axis", 0), static_cast<int>(x.shape().size()));
  const std::vector<int64_t> lengths = split_lengths(n, x.shape()[static_cast<size_t>(axis)]);
  int64_t start = 0;
  for (size_t k = 0; k < lengths.size(); ++k) {
    Extents shape = x.shape();
    shape[static_cast<size_t>(axis)] = lengths[k];
    n.result(static_cast<int>(k), moved(x, shape, [&](Extents at) {
               at[static_cast<size_t>(axis)] += start;
               return index_of(x.shape(), at);
             }));
    start += lengths[k];
  }
}

void fold_reshape(Node& n) {
  const HostTensor& x = n.elements(0);
  const Extents shape = reshaped(n, integers_of(n, "shape", 1), x.shape(), n.flag("allowzero"));
  if (count_of(shape) != x.count()) n.invalid("the new shape has another number of elements");
  n.result(0, relabelled(x, shape));
}
void fold_unsqueeze(Node& n) {
  n.result(0, relabelled(n.elements(0), unsqueezed(n, n.elements(0).shape(), integers_of(n, "axes", 1))));
}
void fold_squeeze(Node& n) {
  n.result(0, relabelled(n.elements(0), squeezed(n, n.elements(0).shape(), integers_of(n, "axes", 1))));
}

void fold_transpose(Node& n) {
  const HostTensor& x = n.elements(0);
  std::vector<int64_t> order = n.integers("perm");
  const size_t rank = x.shape().size();
  if (order.empty()) {
    for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  if (order.size() != rank || axes_of(n, order, static_cast<int>(rank)).size() != rank)
    n.invalid("perm does not name every axis once");
  Extents shape;
  for (int64_t& axis : order) {
    axis = n.axis(axis, static_cast<int>(rank));
    shape.push_back(x.shape()[static_cast<size_t>(axis)]);
  }
  n.result(0, moved(x, shape, [&](const Extents& at) {
             Extents from(rank);
             for (size_t i = 0; i < rank; ++i) from[static_cast<size_t>(order[i])] = at[i];
             return index_of(x.shape(), from);
           }));
}

void fold_expand(Node& n) {
  const HostTensor& x = n.elements(0);
  const std::vector<int64_t> to = n.integers(1);
  check_size(to);
  n.result(0, moved(x, broadcast_extents(n, x.shape(), to),
                    [&](const Extents& at) { return broadcast_index(x.shape(), at); }));
}

void fold_tile(Node& n) {
  const HostTensor& x = n.elements(0);
  const std::vector<int64_t> repeats = n.integers(1);
  if (repeats.size() != x.shape().size()) n.invalid("repeats has another length than the operand's rank");
  Extents shape = x.shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > kMostKnown) throw TooLarge();
    shape[i] *= repeats[i];
  }
  n.result(0, moved(x, shape, [&](const Extents& at) {
             Extents from = at;
             for (size_t i = 0; i < from.size(); ++i) from[i] %= x.shape()[i];
             return index_of(x.shape(), from);
           }));
}

void fold_constant_of_shape(Node& n) {
  const std::vector<int64_t> shape = n.integers(0);
  check_size(shape);
  const HostTensor zero = HostTensor::of_numbers(ElementType::f32, {1}, std::vector<double>{0});
  const HostTensor value = n.has("value") ? n.elements("value") : zero;
  if (value.count() != 1) n.invalid("value has ", value.count(), " elements, not one");
  n.result(0, moved(value, shape, [](const Extents&) { return 0; }));
}

void fold_range(Node& n) {
  const ElementType type = n.type(0);
  const double start = n.number(0), limit = n.number(1), step = n.number(2);
  const double count = std::max(std::ceil((limit - start) / step), 0.0);
  if (!(count <= static_cast<double>(kMostKnown))) throw TooLarge();
  std::vector<double> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) values.push_back(start + static_cast<double>(i) * step);
  n.result(0, HostTensor::of_numbers(type, {static_cast<int64_t>(count)}, values));
}

void fold_where(Node& n) {
  const HostTensor &c = n.elements(0), &a = n.elements(1), &b = n.elements(2);
  const Extents shape = broadcast_extents(n, broadcast_extents(n, c.shape(), a.shape()), b.shape());
  check_size(shape);
  std::vector<int64_t> whole;
  std::vector<double> real;
  for_each(shape, [&](const Extents& at, int64_t) {
    const HostTensor& chosen = c.integer(broadcast_index(c.shape(), at)) != 0 ? a : b;
    const int64_t i = broadcast_index(chosen.shape(), at);
    whole.push_back(is_float(a.type()) ? 0 : chosen.integer(i));
    real.push_back(is_float(a.type()) ? chosen.number(i) : 0);
  });
  n.result(0, is_float(a.type()) ? HostTensor::of_numbers(a.type(), shape, real)
                                 : HostTensor::of_integers(a.type(), shape, whole));
}

template <typename Combine>
void reduced(Node& n, int64_t first, bool takes_first, Combine combine) {
  const HostTensor& x = n.elements(0);
  if (is_float(x.type()) || x.count() == 0) throw TooLarge();
  const auto rank = static_cast<int>(x.shape().size());
  std::vector<int64_t> axes = axes_of(n, integers_of(n, "axes", 1), rank);
  const bool keep = n.flag("keepdims", true);
  if (axes.empty() && n.flag("noop_with_empty_axes")) return n.result(0, Value(n.value(0)));
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  Extents kept = x.shape(), shape;
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (keep || std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) shape.push_back(kept[i]);
  }
  std::vector<int64_t> values(static_cast<size_t>(count_of(kept)), first);
  std::vector<bool> begun(values.size(), !takes_first);
  for_each(x.shape(), [&](const Extents& at, int64_t i) {
    const auto to = static_cast<size_t>(broadcast_index(kept, at));
    values[to] = begun[to] ? combine(values[to], x.integer(i)) : x.integer(i);
    begun[to] = true;
  });
  n.result(0, HostTensor::of_integers(x.type(), shape, values));
}
void fold_reduce_sum(Node& n) {
  reduced(n, 0, false, [](int64_t a, int64_t b) { return wrapping(bits(a) + bits(b)); });
}
void fold_reduce_prod(Node& n) {
  reduced(n, 1, false, [](int64_t a, int64_t b) { return wrapping(bits(a) * bits(b)); });
}
void fold_reduce_max(Node& n) {
  reduced(n, 0, true, [](int64_t a, int64_t b) { return std::max(a, b); });
}
void fold_reduce_min(Node& n) {
  reduced(n, 0, true, [](int64_t a, int64_t b) { return std::min(a, b); });
}

struct FoldedOp {
  std::string_view op;
  void (*fold)(Node&);
};
constexpr FoldedOp kFolded[] = {
    {"Abs", fold_abs},
    {"Add", fold_add},
    {"And", fold_and},
    {"Cast", fold_cast},
    {"CastLike", fold_cast_like},
    {"Ceil", fold_ceil},
    {"Concat", fold_concat},
    {"ConstantOfShape", fold_constant_of_shape},
    {"Div", fold_div},
    {"Equal", fold_compare<std::equal_to<>>},
    {"Exp", fold_exp},
    {"Expand", fold_expand},
    {"Floor", fold_floor},
    {"Gather", fold_gather},
    {"Greater", fold_compare<std::greater<>>},
    {"GreaterOrEqual", fold_compare<std::greater_equal<>>},
    {"Identity", fold_identity},
    {"Less", fold_compare<std::less<>>},
    {"LessOrEqual", fold_compare<std::less_equal<>>},
    {"Log", fold_log},
    {"Max", fold_max},
    {"Min", fold_min},
    {"Mod", fold_mod},
    {"Mul", fold_mul},
    {"Neg", fold_neg},
    {"Not", fold_not},
    {"Or", fold_or},
    {"Pow", fold_pow},
    {"Range", fold_range},
    {"Reciprocal", fold_reciprocal},
    {"ReduceMax", fold_reduce_max},
    {"ReduceMin", fold_reduce_min},
    {"ReduceProd", fold_reduce_prod},
    {"ReduceSum", fold_reduce_sum},
    {"Relu", fold_relu},
    {"Reshape", fold_reshape},
    {"Slice", fold_slice},
    {"Split", fold_split},
    {"Sqrt", fold_sqrt},
    {"Squeeze", fold_squeeze},
    {"Sub", fold_sub},
    {"Tile", fold_tile},
    {"Transpose", fold_transpose},
    {"Unsqueeze", fold_unsqueeze},
    {"Where", fold_where},
};

}  // namespace

bool fold(Node& n) {
  if (!n.def().domain.empty() || n.count() == 0) return false;
  const auto folded =
      std::find_if(std::begin(kFolded), std::end(kFolded), [&](const FoldedOp& f) { return f.op == n.def().op; });
  if (folded == std::end(kFolded)) return false;
  for (int k = 0; k < n.count(); ++k) {
    if (!n.has(k) || (k == 1 && n.def().op == "CastLike")) continue;  // of which only the type matters
    if (!n.known(k) || n.elements(k).count() > kMostKnown || !is_plain(n.type(k))) return false;
  }
  try {
    folded->fold(n);
    return true;
  } catch (const TooLarge&) {
    return false;
  }
}

}  // namespace rlxgpu::core::onnx

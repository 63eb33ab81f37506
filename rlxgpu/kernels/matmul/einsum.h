// einsum("bhqd,bhkd->bhqk", {q, k}): sums of products over named axes, as in NumPy; made of matmul, transpose, reshape
// and sum when the graph is built.
//
//   einsum("ij,jk->ik", {a, b})       einsum("...ij->...ji", {x})       einsum("ii", {x})      // the trace
//   dot_general(a, b, {.contract_a = {1}, .contract_b = {0}, .batch_a = {}, .batch_b = {}})
//
// Letters name axes; one that is repeated in an operand walks its diagonal; "..." stands for axes that broadcast. Without
// "->" the result has the letters that occur once, in alphabetical order, after those of "...". Several operands are
// multiplied from left to right. An axis that only one operand has and the result has not is summed first.
#ifndef RLXGPU_KERNELS_MATMUL_EINSUM_H_
#define RLXGPU_KERNELS_MATMUL_EINSUM_H_

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/transpose.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

// The diagonal of two axes of one extent: attrs first, second. The second axis is gone.
constexpr void diagonal_infer(Infer& infer) {
  const int first = static_cast<int>(infer.attr(0)), second = static_cast<int>(infer.attr(1));
  const Shape& from = infer.shape(0);
  if (!(from.dim(first) == from.dim(second)))
    return infer.fail("axes ", first, " and ", second, " differ (", from[first], " vs ", from[second], ")");
  Shape to;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (axis != second) to.push_back(from.dim(axis));
  }
  infer.result(infer.dtype(0), to);
}
constexpr bool diagonal_view(const Call& call, const View& operand, View& result) {
  const int second = static_cast<int>(call.attr(1));
  result = {operand.offset, {}};
  for (int axis = 0; axis < call.result().shape.rank(); ++axis) {
    result.strides[axis] = operand.strides[axis < second ? axis : axis + 1];
  }
  result.strides[static_cast<int>(call.attr(0))] += operand.strides[second];
  return true;
}
constexpr void diagonal_at(At& at) {
  const int first = static_cast<int>(at.attr(0)), second = static_cast<int>(at.attr(1));
  Coords from;
  for (int axis = 0; axis <= at.shape().rank(); ++axis) {
    from[axis] = at.coord(axis == second ? first : axis < second ? axis : axis - 1);
  }
  at.result() << at.operand(0, from);
}

}  // namespace internal

namespace reference {

inline void diagonal(Call& call) {
  const Array& x = call.operand(0);
  Array& y = call.result();
  const int first = static_cast<int>(call.attr(0)), second = static_cast<int>(call.attr(1)), rank = x.shape.rank();
  for (size_t i = 0; i < y.data.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), coords[kMaxRank] = {}, at = 0;
    for (int axis = y.shape.rank() - 1; axis >= 0; --axis) {
      coords[axis] = rest % y.shape[axis];
      rest /= y.shape[axis];
    }
    for (int axis = 0; axis < rank; ++axis) {
      at = at * x.shape[axis] + coords[axis == second ? first : axis < second ? axis : axis - 1];
    }
    y.data[i] = x.data[static_cast<size_t>(at)];
  }
}

}  // namespace reference

inline constexpr OpDef kDiagonal = {
    .name = "diagonal",
    .infer = internal::diagonal_infer,
    .at = internal::diagonal_at,
    .view = internal::diagonal_view,
    .reads_elsewhere = true,
    .reference = reference::diagonal,
};

// The diagonal of axes `first` < `second`, which stays at `first`.
constexpr Tensor diagonal(Tensor x, int first = 0, int second = 1, Site site = std::source_location::current()) {
  const int rank = x.shape().rank();
  if (x.valid() && (first < 0 || first >= second || second >= rank)) {
    x.builder().fail(site, "diagonal(", x.shape(), "): axes ", first, " and ", second, " are not two axes in order");
    return {&x.builder(), -1};
  }
  return apply(kDiagonal, {x}, {first, second}, site);
}

namespace internal {

// A tensor whose axes have letters; those of "..." are digits, '0' the last of them.
struct Lettered {
  Tensor tensor;
  Text letters;
  constexpr int axis_of(char letter) const {
    for (size_t i = 0; i < letters.size(); ++i) {
      if (letters.view()[i] == letter) return static_cast<int>(i);
    }
    return -1;
  }
  constexpr bool has(char letter) const { return axis_of(letter) >= 0; }
  constexpr Dim dim(char letter) const { return tensor.shape().dim(axis_of(letter)); }
};

class Einsum {
 public:
  constexpr Einsum(std::string_view equation, std::span<const Tensor> operands, Site site)
      : equation_(equation), site_(site), builder_(operands[0].builder()) {
    if (parse(operands)) run();
  }
  constexpr Tensor result() const { return ok_ ? result_ : Tensor(&builder_, -1); }

 private:
  static constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static constexpr bool contains(std::string_view text, char c) {
    for (const char d : text) {
      if (c == d) return true;
    }
    return false;
  }

  template <typename... Parts>
  constexpr bool fail(const Parts&... parts) {
    builder_.fail(site_, "einsum(\"", equation_, "\"): ", parts...);
    return ok_ = false;
  }

  // The letters of one term; `rest`: how many axes "..." stands for.
  constexpr bool read_term(std::string_view term, int rest, Text& letters) {
    bool dots = false;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == '.') {
        if (dots || !term.substr(i).starts_with("...")) return fail("\"", term, "\" has dots that are not one \"...\"");
        dots = true;
        for (int axis = rest - 1; axis >= 0; --axis) letters << static_cast<char>('0' + axis);
        i += 2;
      } else if (is_letter(term[i])) {
        letters << term[i];
      } else {
        return fail("\"", term, "\" has something else than letters and \"...\"");
      }
    }
    return true;
  }
  static constexpr int letters_in(std::string_view term) {
    int count = 0;
    for (const char c : term) count += is_letter(c);
    return count;
  }

  constexpr bool parse(std::span<const Tensor> operands) {
    Text spaceless;
    for (const char c : equation_) {
      if (c != ' ') spaceless << c;
    }
    std::string_view left = spaceless.view(), right;
    const size_t arrow = left.find("->");
    if (arrow != std::string_view::npos) right = left.substr(arrow + 2), left = left.substr(0, arrow);
    for (const Tensor& operand : operands) {
      if (!operand.valid()) return ok_ = false;
      const bool last = terms_.size() + 1 == operands.size();
      const size_t comma = left.find(',');
      if (last != (comma == std::string_view::npos)) return fail(operands.size(), " operands are given");
      const std::string_view term = left.substr(0, comma);
      const int rank = operand.shape().rank(), named = letters_in(term);
      const bool dots = contains(term, '.');
      if (named > rank || (named < rank && !dots))
        return fail("\"", term, "\" does not name the ", rank, " axes of ", operand.shape());
      Lettered lettered;
      lettered.tensor = operand;
      if (!read_term(term, rank - named, lettered.letters)) return false;
      if (rank - named > most_dots_) most_dots_ = rank - named;
      if (!take_diagonals(lettered)) return false;
      terms_.push_back(static_cast<Lettered&&>(lettered));
      if (!last) left = left.substr(comma + 1);
    }
    if (arrow != std::string_view::npos) {
      if (!read_term(right, most_dots_, out_)) return false;
      if (most_dots_ > 0 && !contains(right, '.')) return fail("the result lacks the axes of \"...\"");
      for (const char c : out_.view()) {
        int times = 0;
        for (const char d : out_.view()) times += c == d;
        if (times > 1) return fail("the result has ", c, " twice");
        bool known = false;
        for (const Lettered& term : terms_) known = known || term.has(c);
        if (!known && is_letter(c)) return fail("no operand has ", c);
      }
    } else {
      for (int axis = most_dots_ - 1; axis >= 0; --axis) out_ << static_cast<char>('0' + axis);
      for (char c = 'A'; c <= 'z'; ++c) {
        if (is_letter(c) && times_in(spaceless.view(), c) == 1) out_ << c;
      }
    }
    return extents_agree();
  }
  static constexpr int times_in(std::string_view text, char c) {
    int times = 0;
    for (const char d : text) times += c == d;
    return times;
  }

  // A letter has one extent everywhere, or 1.
  constexpr bool extents_agree() {
    for (size_t i = 0; i < terms_.size(); ++i) {
      for (const char c : terms_[i].letters.view()) {
        for (size_t k = 0; k < i; ++k) {
          if (!terms_[k].has(c)) continue;
          const Dim a = terms_[k].dim(c), b = terms_[i].dim(c);
          if (!(a == b) && a.extent != 1 && b.extent != 1) {
            if (is_letter(c)) return fail(c, " is ", a.extent, " and ", b.extent);
            return fail("the axes of \"...\" do not broadcast (", a.extent, " vs ", b.extent, ")");
          }
        }
      }
    }
    return true;
  }

  constexpr bool take_diagonals(Lettered& term) {
    for (int first = 0; first < static_cast<int>(term.letters.size()); ++first) {
      for (int second = first + 1; second < static_cast<int>(term.letters.size());) {
        if (term.letters.view()[static_cast<size_t>(first)] != term.letters.view()[static_cast<size_t>(second)]) {
          ++second;
          continue;
        }
        const char letter = term.letters.view()[static_cast<size_t>(first)];
        const Shape& shape = term.tensor.shape();
        if (!(shape.dim(first) == shape.dim(second))) return fail(letter, " is ", shape[first], " and ", shape[second]);
        term.tensor = diagonal(term.tensor, first, second, site_);
        Text without;
        for (size_t i = 0; i < term.letters.size(); ++i) {
          if (i != static_cast<size_t>(second)) without << term.letters.view()[i];
        }
        term.letters = without;
      }
    }
    return true;
  }

  constexpr bool wanted_later(char letter, size_t from) const {
    if (contains(out_.view(), letter)) return true;
    for (size_t i = from; i < terms_.size(); ++i) {
      if (terms_[i].has(letter)) return true;
    }
    return false;
  }

  // Sums away the axes that nobody else wants.
  constexpr void reduce(Lettered& term, const Lettered* other, size_t from) {
    Axes axes;
    Text kept;
    for (size_t i = 0; i < term.letters.size(); ++i) {
      const char letter = term.letters.view()[i];
      if ((other != nullptr && other->has(letter)) || wanted_later(letter, from)) {
        kept << letter;
      } else {
        axes.axis[axes.count++] = static_cast<int64_t>(i);
      }
    }
    if (axes.count == 0) return;
    term.tensor = sum(term.tensor, axes, {}, site_);
    term.letters = kept;
  }
  // Without axes of extent 1 that the other one has longer: those broadcast.
  constexpr void drop_ones(Lettered& term, const Lettered& other) {
    Text kept;
    Shape shape;
    for (const char letter : term.letters.view()) {
      if (term.dim(letter).extent == 1 && other.has(letter) && other.dim(letter).extent != 1) continue;
      kept << letter;
      shape.push_back(term.dim(letter));
    }
    if (kept.size() == term.letters.size()) return;
    term.tensor = reshape(term.tensor, shape, site_);
    term.letters = kept;
  }

  constexpr Tensor ordered(const Lettered& term, std::string_view order) {
    IntList axes;
    bool same = true;
    for (size_t i = 0; i < order.size(); ++i) {
      axes.push_back(term.axis_of(order[i]));
      same = same && axes[static_cast<int>(i)] == static_cast<int64_t>(i);
    }
    return same ? term.tensor : transpose(term.tensor, axes, site_);
  }
  // Axes of one kind become one; a single run-time extent stays one.
  static constexpr void add_joined(Shape& shape, const Lettered& term, std::string_view letters) {
    if (letters.size() == 1) return shape.push_back(term.dim(letters[0]));
    int64_t count = 1;
    for (const char letter : letters) count *= term.dim(letter).extent;
    shape.push_back(count);
  }

  // One product of two: batch axes are in both and wanted later, k in both only, m and n in one.
  constexpr Lettered multiply(Lettered a, Lettered b, size_t next) {
    drop_ones(a, b), drop_ones(b, a);
    reduce(a, &b, next), reduce(b, &a, next);
    Text batch, m, n, k;
    for (const char letter : a.letters.view()) {
      if (!b.has(letter)) {
        m << letter;
      } else if (wanted_later(letter, next)) {
        batch << letter;
      } else {
        k << letter;
      }
    }
    for (const char letter : b.letters.view()) {
      if (!a.has(letter)) n << letter;
    }
    Text order_a, order_b;
    order_a << batch << m << k, order_b << batch << k << n;
    Shape shape_a, shape_b, shape;
    for (const char letter : batch.view()) {
      shape_a.push_back(a.dim(letter)), shape_b.push_back(b.dim(letter)), shape.push_back(a.dim(letter));
    }
    for (const char letter : m.view()) shape.push_back(a.dim(letter));
    for (const char letter : n.view()) shape.push_back(b.dim(letter));
    add_joined(shape_a, a, m.view()), add_joined(shape_a, a, k.view());
    add_joined(shape_b, b, k.view()), add_joined(shape_b, b, n.view());
    Lettered made;
    made.letters << batch << m << n;
    const Tensor left = reshape(ordered(a, order_a.view()), shape_a, site_);
    const Tensor right = reshape(ordered(b, order_b.view()), shape_b, site_);
    if (k.size() == 0) {  // nothing is summed: (..., m, 1) * (..., 1, n)
      made.tensor = reshape(left * Rhs(right, site_), shape, site_);
    } else {
      made.tensor = reshape(matmul(left, right, site_), shape, site_);
    }
    return made;
  }

  constexpr void run() {
    Lettered so_far = terms_[0];
    for (size_t i = 1; i < terms_.size() && builder_.ok(); ++i) so_far = multiply(so_far, terms_[i], i + 1);
    if (!builder_.ok()) {
      ok_ = false;
      return;
    }
    reduce(so_far, nullptr, terms_.size());
    result_ = ordered(so_far, out_.view());
  }

  std::string_view equation_;
  Site site_;
  Builder& builder_;
  Vec<Lettered> terms_;
  Text out_;  // letters of the result
  int most_dots_ = 0;
  bool ok_ = true;
  Tensor result_;
};

}  // namespace internal

// One operand at least.
constexpr Tensor einsum(std::string_view equation, std::span<const Tensor> operands,
                        Site site = std::source_location::current()) {
  return internal::Einsum(equation, operands, site).result();
}
constexpr Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands,
                        Site site = std::source_location::current()) {
  return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()), site);
}

// The axes of both operands that are summed, and those that are a batch, in pairs. The result has the batch axes, then
// the other axes of a, then those of b.
struct DotGeneral {
  IntList contract_a, contract_b, batch_a = {}, batch_b = {};
};
constexpr Tensor dot_general(Tensor a, Tensor b, const DotGeneral& dims, Site site = std::source_location::current()) {
  if (!a.valid() || !b.valid()) return a.valid() ? b : a;
  const int ra = a.shape().rank(), rb = b.shape().rank();
  bool right = dims.contract_a.size() == dims.contract_b.size() && dims.batch_a.size() == dims.batch_b.size();
  char letters_a[kMaxRank] = {}, letters_b[kMaxRank] = {};
  Text batch;
  char next = 'a';
  const auto pair = [&](const IntList& of_a, const IntList& of_b, bool is_batch) {
    for (int i = 0; i < of_a.size() && right; ++i, ++next) {
      const int64_t at_a = of_a[i], at_b = of_b[i];
      right = at_a >= 0 && at_a < ra && at_b >= 0 && at_b < rb && letters_a[at_a] == 0 && letters_b[at_b] == 0;
      if (!right) return;
      letters_a[at_a] = letters_b[at_b] = next;
      if (is_batch) batch << next;
    }
  };
  pair(dims.batch_a, dims.batch_b, true);
  pair(dims.contract_a, dims.contract_b, false);
  if (!right) {
    a.builder().fail(site, "dot_general(", a.shape(), ", ", b.shape(), "): axes must come in pairs, each once");
    return {&a.builder(), -1};
  }
  Text left_term, right_term, kept;
  for (int axis = 0; axis < ra; ++axis) {
    if (letters_a[axis] == 0) kept << (letters_a[axis] = next++);
    left_term << letters_a[axis];
  }
  for (int axis = 0; axis < rb; ++axis) {
    if (letters_b[axis] == 0) kept << (letters_b[axis] = next++);
    right_term << letters_b[axis];
  }
  Text equation;
  equation << left_term << ',' << right_term << "->" << batch << kept;
  return einsum(equation.view(), {a, b}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::DotGeneral, core::diagonal, core::dot_general, core::einsum;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MATMUL_EINSUM_H_

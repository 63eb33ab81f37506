// Builder records a graph as ordinary code runs; Tensor is a value in it.
//
//   struct Mlp {
//     static constexpr void build(Builder& g) {
//       Tensor x = g.input("x", f32, {32, 64});
//       Tensor w = g.param("w", f32, {64, 16});
//       g.output("y", relu(matmul(x, w)));
//     }
//   };
//
// The same code runs inside the compiler (Executable<Mlp>) and at run time (DynamicGraph). Errors are
// values: the first one is kept in the graph with the user's file and line, and every later call does
// nothing. A Tensor must not outlive its Builder.
#ifndef RLXGPU_GRAPH_BUILDER_H_
#define RLXGPU_GRAPH_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>

#include "rlxgpu/base/hash_index.h"
#include "rlxgpu/base/span.h"
#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/element.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

class Builder;

namespace internal {
// Stands for the builder that Tensor() does not have, so that ops on it do nothing. Its error is always set.
Builder& no_builder();
}  // namespace internal

class Tensor {
 public:
  constexpr Tensor() = default;
  constexpr Tensor(Builder* builder, int32_t id) : builder_(builder), id_(id) {}

  constexpr Builder& builder() const { return builder_ != nullptr ? *builder_ : internal::no_builder(); }
  constexpr int32_t id() const { return id_; }
  constexpr bool valid() const { return id_ >= 0; }  // false after an error
  constexpr bool given() const { return builder_ != nullptr; }  // false for Tensor(): an operand that is left out
  constexpr Shape shape() const;        // of a valid tensor; an empty shape otherwise. A copy: nodes move as graphs grow
  constexpr DType dtype() const;

 private:
  friend class Builder;
  Builder* builder_ = nullptr;
  int32_t id_ = -1;
};

// The right operand of an operator: a tensor or a number, and the line it was written on.
struct Rhs {
  Tensor tensor;
  double number = 0;
  bool is_number = false;
  Site site;

  constexpr Rhs(Tensor value, Site at = std::source_location::current()) : tensor(value), site(at) {}
  constexpr Rhs(double value, Site at = std::source_location::current()) : number(value), is_number(true), site(at) {}
  constexpr Rhs(float value, Site at = std::source_location::current()) : number(value), is_number(true), site(at) {}
  constexpr Rhs(int value, Site at = std::source_location::current()) : number(value), is_number(true), site(at) {}
};

// What a shape rule sees and says. Exactly one of result() (once per result) or fail() must be called.
class Infer {
 public:
  constexpr Infer(Builder& builder, const Call& call, Site site) : builder_(builder), call_(call), site_(site) {}

  constexpr const Call& call() const { return call_; }
  constexpr int count() const { return call_.operand_count; }
  constexpr const Shape& shape(int k) const { return call_.operand(k).shape; }
  constexpr DType dtype(int k) const { return call_.operand(k).dtype; }
  constexpr int64_t attr(int i) const { return call_.attr(i); }
  constexpr void result(DType dtype, const Shape& shape);

  // fail("inner dimensions differ (", 768, " vs ", 512, ")")
  template <typename... Parts>
  constexpr void fail(const Parts&... parts);

  constexpr int result_count() const { return results_; }

 private:
  Builder& builder_;
  const Call& call_;
  Site site_;
  int results_ = 0;
};

class Builder {
 public:
  constexpr Builder() = default;
  Builder(const Builder&) = delete;  // tensors point here
  Builder& operator=(const Builder&) = delete;

  // Keeps the first error only. (Before its users: clang instantiates a template at once only when it has seen its body.)
  template <typename... Parts>
  constexpr void fail(Site site, const Parts&... parts) {
    if (!graph_.ok()) return;
    graph_.error << site.file << ':' << site.line << ": ";
    ((graph_.error << parts), ...);
  }

  // A tensor given before every run.
  constexpr Tensor input(std::string_view name, DType dtype, const Shape& shape, Site site = std::source_location::current()) {
    return source(NodeKind::input, name, dtype, shape, site);
  }
  // A weight, given once and kept on the device.
  constexpr Tensor param(std::string_view name, DType dtype, const Shape& shape, Site site = std::source_location::current()) {
    return source(NodeKind::param, name, dtype, shape, site);
  }
  // A tensor kept on the device from run to run, zero at first; ops that work in place change it.
  constexpr Tensor state(std::string_view name, DType dtype, const Shape& shape, Site site = std::source_location::current()) {
    return source(NodeKind::state, name, dtype, shape, site);
  }
  // A number given with every run (a position, a length, a seed): f32, i32 or u32.
  constexpr Tensor scalar(std::string_view name, DType dtype, Site site = std::source_location::current()) {
    if (dtype != f32 && dtype != i32 && dtype != u32) {
      fail(site, "scalar \"", name, "\": ", name_of(dtype), " is not one of f32, i32, u32");
      return {this, -1};
    }
    return source(NodeKind::scalar, name, dtype, Shape(), site);
  }
  // An extent given with every run, between 0 and `most`.
  constexpr Dim extent(std::string_view name, int64_t most, Site site = std::source_location::current()) {
    if (next_ < known_) return Dim(most, graph_.producer(known().id()).scalar);
    const Tensor number = source(NodeKind::scalar, name, u32, Shape(), site);
    if (number.valid() && graph_.scalars.size() > static_cast<size_t>(kMaxSymbols)) {
      fail(site, "extent \"", name, "\": a graph has at most ", kMaxSymbols, " run-time numbers when it has run-time extents");
    }
    if (!number.valid() || !ok()) return Dim(most);
    graph_.attrs.push_back(most);
    Node& node = graph_.nodes.back();
    node.attrs = {static_cast<int32_t>(graph_.attrs.size() - 1), 1};
    return Dim(most, node.scalar);
  }
  // The run-time number behind an extent, as a tensor of rank 0.
  constexpr Tensor extent_value(Dim dim) {
    if (!graph_.ok() || dim.symbol < 0) return literal(dim.extent, u32);
    return {this, graph_.node(graph_.scalars[static_cast<size_t>(dim.symbol)]).results.first};
  }

  // One number of rank 0.
  constexpr Tensor literal(double value, DType dtype);
  // A tensor whose words (in storage layout) are part of the graph.
  constexpr Tensor constant(DType dtype, const Shape& shape, std::span<const uint32_t> words,
                            Site site = std::source_location::current());

  // The same from numbers: constant({3}, {0.299f, 0.587f, 0.114f}) is f32, constant({2}, {1, 2}) is i32,
  // constant(f16, {2}, {0.5, 1.5}) is what it says.
  template <typename T>
  constexpr Tensor constant(const Shape& shape, std::initializer_list<T> elements,
                            Site site = std::source_location::current()) {
    static_assert(kHasDType<T>, "not an element type: write 0.5f, or constant(f32, shape, {0.5})");
    return numbers(dtype_of<T>, shape, elements.begin(), elements.size(), site);
  }
  template <typename T>
  constexpr Tensor constant(DType dtype, const Shape& shape, std::initializer_list<T> elements,
                            Site site = std::source_location::current()) {
    return numbers(dtype, shape, elements.begin(), elements.size(), site);
  }

  constexpr void output(std::string_view name, Tensor value, Site site = std::source_location::current());

  // What is recorded so far; inside a compiler it may hold nodes that follow (resume), so build() must not ask for it.
  constexpr const Graph& graph() const { return graph_; }
  constexpr Graph& graph() { return graph_; }
  constexpr bool ok() const { return graph_.ok(); }

  // For compilers, which limit the steps of one constant evaluation: a large graph is traced by several. Each runs the same
  // code from its beginning; what `known` holds is not recorded again, and nothing is recorded beyond `limit` nodes.
  constexpr void resume(Graph&& known, size_t limit);
  constexpr bool stopped() const { return stopped_; }  // there is more than `limit`
  // Whether the next node is looked at: if not, what is in it need not be computed.
  constexpr bool recording() const { return next_ >= known_ && graph_.ok(); }

  // Appends a node; returns its first result (the others follow it), or -1.
  constexpr int32_t append(const OpDef& op, std::span<const Tensor> operands, Span<int64_t> attrs, Site site) {
    return append(op, operands.data(), operands.size(), attrs, site);
  }
  constexpr int32_t append(const OpDef& op, const Tensor* operands, size_t count, Span<int64_t> attrs, Site site);

 private:
  friend class Infer;
  // [n<=8,12]
  constexpr void append_named(Text& out, const Shape& shape) const {
    out << '[';
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis > 0) out << ',';
      if (const int symbol = shape.symbol(axis); symbol >= 0) {
        out << graph_.name(graph_.node(graph_.scalars[static_cast<size_t>(symbol)]).name) << "<=";
      }
      out << shape[axis];
    }
    out << ']';
  }
  constexpr void refuse_operand(const OpDef& op, const Tensor& operand, size_t k, Site site) {
    if (operand.builder_ != this || !operand.valid()) return fail(site, op.name, ": operand ", k, " belongs to no graph or to another one");
    fail(site, op.name, ": operand ", k, " was changed in place by an op before: use that op's result");
  }
  // Whether nothing can have this shape; says so of what the parts name.
  template <typename... Parts>
  constexpr bool refuse_shape(const Shape& shape, Site site, const Parts&... parts) {
    if (shape.rank() > kMaxRank) {
      fail(site, parts..., ": rank ", shape.rank(), " is above ", kMaxRank);
      return true;
    }
    for (int axis = 0; axis < shape.axes; ++axis) {
      if (shape.extents[axis] < 0) return fail(site, parts..., ": negative extent in ", shape), true;
    }
    if (!is_sized(shape)) return fail(site, parts..., ": ", shape, " has more than 2^31 - 1 elements"), true;
    return false;
  }
  // What an op changes in place is a whole state: a view of one would be a copy, and the state would stay as it is.
  constexpr void check_whole(Infer& infer, int32_t value, int operand) {
    const Node* from = &graph_.producer(value);
    if (from->kind != NodeKind::op || from->op->view == nullptr) return;
    while (from->kind == NodeKind::op && (from->op->view != nullptr || from->op->in_place >= 0)) {
      from = &graph_.producer(graph_.operand(*from, from->op->view != nullptr ? 0 : from->op->in_place));
    }
    if (from->kind == NodeKind::state) {
      infer.fail("operand ", operand, " is a view of state \"", graph_.name(from->name), "\": only a whole state can be changed in place");
    }
  }
  // Whether the next node is to be recorded: not if it is known, nor after an error.
  constexpr bool records() {
    if (!recording()) return false;
    if (graph_.nodes.size() < limit_) return true;
    stopped_ = true;
    graph_.error << "the graph goes on";  // so nothing more is recorded
    return false;
  }
  // The node that need not be recorded, or no tensor.
  constexpr Tensor known() { return {this, next_ < known_ ? graph_.nodes[next_++].results.first : -1}; }
  constexpr Tensor store(DType dtype, const Shape& shape, Span<uint32_t> words, Site site);
  constexpr Tensor source(NodeKind kind, std::string_view name, DType dtype, const Shape& shape, Site site);
  template <typename T>
  constexpr Tensor numbers(DType dtype, const Shape& shape, const T* elements, size_t count, Site site) {
    if (!records()) return known();
    if (refuse_shape(shape, site, "constant")) return {this, -1};
    if (dtype == c64 || count != static_cast<size_t>(shape.count())) {
      fail(site, "constant: ", count, " numbers given, ", shape.count(), dtype == c64 ? " complex ones" : "", " needed for ",
           name_of(dtype), shape);
      return {this, -1};
    }
    const auto each = static_cast<size_t>(per_word(dtype));
    Vec<uint32_t> words;
    words.resize((count + each - 1) / each, 0);
    for (size_t i = 0; i < count; ++i) {
      const double number = static_cast<double>(elements[i]);
      words[i / each] |= word_of(number, dtype) << (32 / each * (i % each));
    }
    return store(dtype, shape, {words.data(), words.size()}, site);
  }
  constexpr Range intern(std::string_view name) {
    const auto first = static_cast<int32_t>(graph_.names.size());
    graph_.names << name;
    return {first, static_cast<int32_t>(name.size())};
  }
  constexpr int32_t add_value(DType dtype, const Shape& shape) {
    graph_.values.push_back({{dtype, shape}, static_cast<int32_t>(graph_.nodes.size())});
    return static_cast<int32_t>(graph_.values.size() - 1);
  }

  Graph graph_;
  HashIndex sources_;  // nodes with a name
  size_t known_ = 0, known_outputs_ = 0, next_ = 0;  // nodes and outputs of resume(), and the next of those nodes
  size_t limit_ = SIZE_MAX;
  bool stopped_ = false;
};

namespace internal {
inline Builder& no_builder() {
  static thread_local Builder builder;
  if (builder.ok()) builder.fail(Site(), "a tensor that no graph has made");
  return builder;
}
}  // namespace internal

// Adds one use of `op` to the graph of its operands.
constexpr Tensor apply(const OpDef& op, std::initializer_list<Tensor> operands, Span<int64_t> attrs, Site site) {
  const Tensor* given = operands.begin();
  while (!given->given() && given + 1 != operands.end()) ++given;
  Builder& builder = given->builder();
  return {&builder, builder.append(op, operands.begin(), operands.size(), attrs, site)};
}
constexpr Tensor apply(const OpDef& op, std::initializer_list<Tensor> operands, std::initializer_list<int64_t> attrs, Site site) {
  return apply(op, operands, Span<int64_t>(attrs.begin(), attrs.size()), site);
}
constexpr Tensor apply(const OpDef& op, std::initializer_list<Tensor> operands, Site site) {
  return apply(op, operands, Span<int64_t>(), site);
}
// The tensor meant by a right operand: a number takes the type of the tensor beside it, and must be one that it holds.
constexpr Tensor operand_of(const Rhs& rhs, Tensor beside) {
  if (!rhs.is_number) return rhs.tensor;
  Builder& builder = beside.builder();
  if (beside.valid() && is_integer(beside.dtype())) {
    const DType dtype = beside.dtype();
    const double low = dtype == i32 ? -2147483648.0 : dtype == i8 ? -128.0 : 0.0;
    const double high = dtype == i32 ? 2147483647.0 : dtype == u32 ? 4294967295.0 : dtype == i8 ? 127.0 : 255.0;
    const bool inside = rhs.number >= low && rhs.number <= high;
    if (!inside || static_cast<double>(static_cast<int64_t>(rhs.number)) != rhs.number) {
      builder.fail(rhs.site, "a number beside ", name_of(dtype), beside.shape(), " must be a whole number in its range");
      return {&builder, -1};
    }
  }
  return builder.literal(rhs.number, beside.dtype());
}
// Result k of an op with several results.
constexpr Tensor result_of(Tensor first, int k) {
  return {&first.builder(), first.valid() ? first.id() + k : -1};
}

// ---------------------------------------------------------------------------------------------------

constexpr Shape Tensor::shape() const { return valid() ? builder_->graph().value(id_).shape : Shape(); }
constexpr DType Tensor::dtype() const { return valid() ? builder_->graph().value(id_).dtype : f32; }

constexpr void Infer::result(DType dtype, const Shape& shape) {
  if (results_ == kMaxResults) return fail("an op has at most ", kMaxResults, " results");
  if (shape.axes > kMaxRank || !is_sized(shape)) {
    return fail(shape.axes > kMaxRank ? "the result's rank is above 8" : "the result has more than 2^31 - 1 elements");
  }
  builder_.add_value(dtype, shape);
  ++results_;
}

template <typename... Parts>
constexpr void Infer::fail(const Parts&... parts) {
  if (!builder_.ok()) return;
  Text shapes;
  for (int k = 0; k < count(); ++k) {
    if (k) shapes << ", ";
    if (dtype(k) != f32) shapes << name_of(dtype(k));
    builder_.append_named(shapes, shape(k));
  }
  builder_.fail(site_, *site_.called ? std::string_view(site_.called) : call_.op->name, '(', shapes, "): ", parts...);
}

constexpr Tensor Builder::literal(double value, DType dtype) {
  if (!records()) return known();
  const uint32_t words[2] = {word_of(value, dtype), 0};
  return store(dtype, Shape(), {words, dtype == c64 ? size_t{2} : size_t{1}}, std::source_location::current());
}

constexpr Tensor Builder::constant(DType dtype, const Shape& shape, std::span<const uint32_t> words, Site site) {
  if (!records()) return known();
  if (refuse_shape(shape, site, "constant")) return {this, -1};
  if (words.size() * 4 != storage_bytes(dtype, shape.count())) {
    fail(site, "constant: ", words.size(), " words given, ", storage_bytes(dtype, shape.count()) / 4, " needed for ",
         name_of(dtype), shape);
    return {this, -1};
  }
  return store(dtype, shape, words, site);
}

constexpr Tensor Builder::store(DType dtype, const Shape& shape, Span<uint32_t> words, Site site) {
  const int32_t id = add_value(dtype, shape);
  const Range stored = {static_cast<int32_t>(graph_.words.size()), static_cast<int32_t>(words.size())};
  graph_.words.append(words.data(), words.size());
  graph_.nodes.push_back({.kind = NodeKind::constant, .results = {id, 1}, .words = stored, .site = site});
  return {this, id};
}

constexpr Tensor Builder::source(NodeKind kind, std::string_view name, DType dtype, const Shape& shape, Site site) {
  if (!records()) return known();
  const char* const what = kind == NodeKind::input ? "input" : kind == NodeKind::param ? "param" : kind == NodeKind::state ? "state" : "scalar";
  if (refuse_shape(shape, site, what, " \"", name, "\"")) return {this, -1};
  const uint64_t hash = (Hash() << name).value();
  for (int32_t n = sources_.first(hash); n >= 0; n = sources_.next()) {
    if (graph_.name(graph_.node(n).name) != name) continue;
    fail(site, what, " \"", name, "\": the name is taken");
    return {this, -1};
  }
  sources_.insert(hash, static_cast<int32_t>(graph_.nodes.size()));
  const int32_t id = add_value(dtype, shape);
  graph_.nodes.push_back({.kind = kind, .results = {id, 1}, .name = intern(name), .site = site});
  if (kind == NodeKind::scalar) {
    graph_.nodes.back().scalar = static_cast<int32_t>(graph_.scalars.size());
    graph_.scalars.push_back(static_cast<int32_t>(graph_.nodes.size() - 1));
  }
  return {this, id};
}

constexpr void Builder::resume(Graph&& known, size_t limit) {
  graph_ = static_cast<Graph&&>(known);
  known_ = graph_.nodes.size(), known_outputs_ = graph_.outputs.size(), limit_ = limit;
  for (size_t n = 0; n < known_; ++n) {
    const Node& node = graph_.nodes[n];
    if (node.kind == NodeKind::op || node.kind == NodeKind::constant) continue;
    sources_.insert((Hash() << graph_.name(node.name)).value(), static_cast<int32_t>(n));
  }
}

constexpr void Builder::output(std::string_view name, Tensor value, Site site) {
  if (known_outputs_ > 0) return static_cast<void>(--known_outputs_);
  if (!graph_.ok()) return;
  if (!value.valid() || value.builder_ != this) {
    return fail(site, "output \"", name, "\": the tensor belongs to ", value.valid() ? "another graph" : "no graph");
  }
  if (graph_.value(value.id()).changed) return fail(site, "output \"", name, "\": the tensor was changed in place by an op: use that op's result");
  for (const Output& output : graph_.outputs) {
    if (graph_.name(output.name) == name) return fail(site, "output \"", name, "\": the name is taken");
  }
  for (int32_t n = sources_.first((Hash() << name).value()); n >= 0; n = sources_.next()) {
    if (graph_.name(graph_.node(n).name) == name) return fail(site, "output \"", name, "\": the name is taken by an input");
  }
  graph_.outputs.push_back({intern(name), value.id()});
}

constexpr int32_t Builder::append(const OpDef& op, const Tensor* operands, size_t count, Span<int64_t> attrs, Site site) {
  if (!records()) return known().id();
  if (count > static_cast<size_t>(kMaxOperands)) {
    fail(site, op.name, ": ", count, " operands, at most ", kMaxOperands, " are possible");
    return -1;
  }
  graph_.values.make_room(kMaxResults);  // the shape rule adds results while it looks at operands
  Value* const values = graph_.values.data();
  int32_t ids[kMaxOperands];
  Call call = {.op = &op, .operand_count = static_cast<int>(count), .attrs = attrs};
  for (size_t k = 0; k < count; ++k) {
    ids[k] = operands[k].id_;
    if (operands[k].builder_ != this || ids[k] < 0 || values[ids[k]].changed) return refuse_operand(op, operands[k], k, site), -1;
    call.operand_types[k] = &values[ids[k]];
  }
  const auto first = static_cast<int32_t>(graph_.values.size());
  Infer infer(*this, call, site);
  op.infer(infer);
  if (op.in_place >= 0) check_whole(infer, ids[op.in_place], op.in_place);
  if (infer.result_count() == 0) infer.fail("its shape rule gave neither a result nor an error");
  if (!graph_.ok()) return -1;
  graph_.nodes.push_back({.op = &op,
                          .operands = {static_cast<int32_t>(graph_.operands.size()), call.operand_count},
                          .attrs = {static_cast<int32_t>(graph_.attrs.size()), static_cast<int32_t>(attrs.size())},
                          .results = {first, infer.result_count()},
                          .site = site});
  graph_.operands.append(ids, count);
  if (!attrs.empty()) graph_.attrs.append(attrs.data(), attrs.size());
  if (op.in_place >= 0) values[ids[op.in_place]].changed = true;
  return first;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Builder, core::Rhs, core::Tensor;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_BUILDER_H_

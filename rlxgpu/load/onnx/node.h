// Node: what the importer of an op sees: one node of an ONNX graph, its operands and attributes, and a place for
// results.
//
//   void import_leaky_relu(Node& n) { n.result(0, leaky_relu(n.tensor(0), n.number("alpha", 0.01f))); }
//
//   constexpr OpImporter kOps[] = {{"LeakyRelu", import_leaky_relu}, ...};
//   std::span<const OpImporter> activation_importers() { return kOps; }       // listed in importers.cc
//
// An importer is a plain function that calls the ordinary ops. It asks for the attributes that it knows: one that
// nobody asked for is an error, so a new attribute of a new opset is never overlooked. What it cannot do it refuses
// with unsupported(); what no model may ask for with invalid(). Both throw, and so does every getter that finds
// nothing: the machine catches it, adds the node's name, and goes on with nodes that do not need this one's results, to
// report all that is missing at once. Errors of ops (Builder) are collected in the same way after the importer returns.
//
// Tensors have carrier types (host_tensor.h); type(k) is the type that the model means.
#ifndef RLXGPU_LOAD_ONNX_NODE_H_
#define RLXGPU_LOAD_ONNX_NODE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/load/onnx/model_def.h"
#include "rlxgpu/load/onnx/value.h"

namespace rlxgpu::core::onnx {

class Importer;
class Scope;

// Why a node cannot be imported.
struct Refusal {
  bool unsupported = false;  // a valid model that asks for more than rlxgpu does
  std::string why;
};

// A string that the number 0 is not: has(0) asks for an operand, has("axis") for an attribute.
struct AttributeName {
  std::string_view text;
  template <size_t kSize>
  AttributeName(const char (&literal)[kSize]) : text(literal) {}
  AttributeName(std::string_view name) : text(name) {}
};

// Why a bounded value is not read.
inline constexpr std::string_view kDataDependent = "reads a tensor whose extents are known only when the model runs";

class Node {
 public:
  Node(Importer& importer, Scope& scope, const NodeDef& def, int64_t opset, std::vector<Value> operands);

  Builder& g() const;
  int64_t opset() const { return opset_; }  // of the op's domain
  const NodeDef& def() const { return def_; }

  // Operands. An optional one may be left out: ask has(k) first.
  int count() const { return static_cast<int>(operands_.size()); }
  bool has(int k) const { return k < count() && operands_[static_cast<size_t>(k)].given(); }
  const Value& value(int k) const;
  ElementType type(int k) const { return value(k).type(); }
  Shape shape(int k) const { return value(k).shape(); }
  int rank(int k) const { return shape(k).rank(); }
  int64_t extent(int k, int axis) const;  // refuses axes that are not there
  Tensor tensor(int k);                   // in the graph; a known value is put there
  Tensor tensor_or_none(int k) { return has(k) ? tensor(k) : Tensor(); }
  Tensor place(const Value& value) const;  // of any value that is a tensor
  bool known(int k) const { return has(k) && value(k).is_known(); }

  // Elements that must be known when the model is loaded: axes, shapes, paddings. Integers are at most 2^40 either way,
  // here and in attributes: further than any extent, and sums of them fit 64 bits.
  const HostTensor& elements(int k);
  std::vector<int64_t> integers(int k);
  std::vector<double> numbers(int k) { return elements(k).numbers(); }
  int64_t integer(int k);  // of one element
  double number(int k);
  bool flag(int k) { return integer(k) != 0; }
  // Whether the elements could be known if the caller of load had given an input: then they are, after a second try.
  bool can_be_known(int k);
  // Says what would have to be given, and why it is needed.
  [[noreturn]] void refuse_unknown(int k, std::string_view why = "") const;

  // Attributes. With a default: the default where the node has none.
  bool has(AttributeName name);
  int64_t integer(AttributeName name);
  int64_t integer(AttributeName name, int64_t otherwise) { return has(name) ? integer(name) : otherwise; }
  bool flag(AttributeName name, bool otherwise = false) { return integer(name, otherwise ? 1 : 0) != 0; }
  float number(AttributeName name);
  float number(AttributeName name, float otherwise) { return has(name) ? number(name) : otherwise; }
  std::string text(AttributeName name);
  std::string text(AttributeName name, std::string_view otherwise) {
    return has(name) ? text(name) : std::string(otherwise);
  }
  std::vector<int64_t> integers(AttributeName name);  // empty where the node has none
  // The same, none beyond 2^30 either way: products of two fit 64 bits.
  std::vector<int64_t> small_integers(AttributeName name);
  int64_t small_integer(AttributeName name, int64_t otherwise);
  // For data: as large as they are.
  int64_t exact_integer(AttributeName name);
  std::vector<int64_t> exact_integers(AttributeName name);
  std::vector<float> numbers(AttributeName name);
  std::vector<std::string> texts(AttributeName name);
  const HostTensor& elements(AttributeName name);
  const GraphDef& graph(AttributeName name);
  ElementType element_type(AttributeName name);                 // an attribute such as Cast's `to`
  void ignore(std::initializer_list<std::string_view> names) {  // attributes that change nothing for us
    for (const std::string_view name : names) has(name);
  }

  // Imports a graph that is an attribute (a branch, a loop's body), with these values for its inputs; its outputs.
  std::vector<Value> run(const GraphDef& graph, std::span<const Value> inputs);

  // All results by the function that ONNX gives as the op's meaning: for cases that no op of ours covers.
  void expand_standard_function();

  // Results. The type is that of operand 0 unless given.
  int result_count() const { return static_cast<int>(def_.outputs.size()); }
  bool wants(int k) const { return k < result_count() && !def_.outputs[static_cast<size_t>(k)].empty(); }
  void result(int k, Tensor tensor) { result(k, tensor, type(0)); }
  void result(int k, Tensor tensor, ElementType type);
  // As long as it can be, where only the data say how long it is.
  void result(int k, Tensor tensor, ElementType type, const Bound& bound);
  void result(int k, Value value);
  void result(int k, HostTensor elements) { result(k, Value::known(std::move(elements))); }
  std::vector<Value>& results() { return results_; }

  // The storage type of a model's type; refuses those that have none.
  DType carrier(ElementType type) const;
  // Integers of 16 bits live in 32: after an op that may leave their range, what is left of them.
  Tensor wrapped(Tensor x, ElementType type) const;
  // -1 counts from the end.
  int axis(int64_t given, int rank) const;
  // Extents that come from the model, checked.
  Shape checked_shape(std::span<const int64_t> extents) const;
  // Throws what Builder has found wrong so far.
  void check() const;

  template <typename... Parts>
  [[noreturn]] void unsupported(const Parts&... parts) const {
    refuse(true, parts...);
  }
  template <typename... Parts>
  [[noreturn]] void invalid(const Parts&... parts) const {
    refuse(false, parts...);
  }

  // The first attribute that nobody asked for, or "".
  std::string_view unread_attribute() const;

 private:
  void check_result(int k, Tensor tensor, ElementType type) const;
  template <typename... Parts>
  [[noreturn]] void refuse(bool unsupported, const Parts&... parts) const {
    Text text;
    ((text << parts), ...);
    throw Refusal{unsupported, std::string(text.view())};
  }
  const Attribute& attribute(AttributeName name, Attribute::Kind kind);

  Importer& importer_;
  Scope& scope_;
  const NodeDef& def_;
  int64_t opset_;
  std::vector<Value> operands_, results_;
  std::vector<bool> read_;
};

struct OpImporter {
  std::string_view op;
  void (*import)(Node&);
  std::string_view domain = "";
};

// The importer of an op, or null. Every family's list is named in importers.cc.
const OpImporter* find_importer(std::string_view domain, std::string_view op);

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_NODE_H_

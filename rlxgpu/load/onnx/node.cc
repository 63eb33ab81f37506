#include "rlxgpu/load/onnx/node.h"

#include <algorithm>
#include <utility>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/load/onnx/importer.h"

namespace rlxgpu::core::onnx {
namespace {

int64_t within_reach(int64_t v) { return std::clamp<int64_t>(v, -(int64_t{1} << 40), int64_t{1} << 40); }
std::vector<int64_t> within_reach(std::vector<int64_t> all) {
  for (int64_t& one : all) one = within_reach(one);
  return all;
}

}  // namespace

Node::Node(Importer& importer, Scope& scope, const NodeDef& def, int64_t opset, std::vector<Value> operands)
    : importer_(importer),
      scope_(scope),
      def_(def),
      opset_(opset),
      operands_(std::move(operands)),
      results_(def.outputs.size()),
      read_(def.attributes.size()) {}

Builder& Node::g() const { return importer_.builder(); }

const Value& Node::value(int k) const {
  if (!has(k)) invalid("operand ", k, " is missing");
  return operands_[static_cast<size_t>(k)];
}

int64_t Node::extent(int k, int axis) const {
  const Shape all = shape(k);
  if (axis < 0 || axis >= all.rank()) invalid("operand ", k, " has ", all.rank(), " axes, so none is axis ", axis);
  return all[axis];
}

Tensor Node::tensor(int k) {
  if (value(k).kind() == Value::Kind::sequence) invalid("operand ", k, " is a sequence, not a tensor");
  return place(value(k));
}

Tensor Node::place(const Value& value) const {
  if (value.bound() != nullptr) unsupported(kDataDependent);
  carrier(value.type());
  return importer_.place(value);
}

bool Node::can_be_known(int k) {
  if (!has(k) || known(k)) return known(k);
  const std::vector<int>& inputs = value(k).inputs();
  bool all_given = !inputs.empty();
  for (const int input : inputs) all_given = all_given && importer_.is_given(input);
  if (!all_given) return false;
  importer_.want(inputs);
  throw Refusal{true, "an input must be known"};  // the load begins again
}

const HostTensor& Node::elements(int k) {
  const Value& operand = value(k);
  if (operand.is_known()) return operand.elements();
  if (can_be_known(k)) return operand.elements();
  refuse_unknown(k);
}

void Node::refuse_unknown(int k, std::string_view why) const {
  const Value& operand = value(k);
  const std::string name = static_cast<size_t>(k) < def_.inputs.size() ? def_.inputs[static_cast<size_t>(k)] : "";
  const std::string because = why.empty() ? "" : " (" + std::string(why) + ")";
  if (operand.inputs().empty())
    unsupported("operand ", k, " (\"", name, "\") must be known when the model is loaded", because,
                ", but is computed from data");
  Text inputs;
  for (const int input : operand.inputs())
    inputs << (inputs.empty() ? "\"" : ", \"") << importer_.input_name(input) << '"';
  unsupported("operand ", k, " (\"", name, "\") must be known when the model is loaded", because,
              ": give the elements of input ", inputs, " to load()");
}

int64_t Node::integer(int k) {
  const HostTensor& one = elements(k);
  if (one.count() != 1) invalid("operand ", k, " has ", one.count(), " elements, not one");
  return within_reach(one.integer(0));
}
std::vector<int64_t> Node::integers(int k) { return within_reach(elements(k).integers()); }

double Node::number(int k) {
  const HostTensor& one = elements(k);
  if (one.count() != 1) invalid("operand ", k, " has ", one.count(), " elements, not one");
  return one.number(0);
}

bool Node::has(AttributeName name) {
  for (size_t i = 0; i < def_.attributes.size(); ++i) {
    if (def_.attributes[i].name != name.text) continue;
    read_[i] = true;
    return true;
  }
  return false;
}

const Attribute& Node::attribute(AttributeName name, Attribute::Kind kind) {
  for (size_t i = 0; i < def_.attributes.size(); ++i) {
    const Attribute& a = def_.attributes[i];
    if (a.name != name.text) continue;
    read_[i] = true;
    if (a.kind != kind) invalid("attribute \"", name.text, "\" is of another type than it should be");
    return a;
  }
  invalid("attribute \"", name.text, "\" is missing");
}

int64_t Node::exact_integer(AttributeName name) { return attribute(name, Attribute::Kind::integer).integer; }
int64_t Node::integer(AttributeName name) { return within_reach(exact_integer(name)); }
float Node::number(AttributeName name) { return attribute(name, Attribute::Kind::number).number; }
std::string Node::text(AttributeName name) { return attribute(name, Attribute::Kind::text).text; }
std::vector<int64_t> Node::integers(AttributeName name) { return within_reach(exact_integers(name)); }
std::vector<int64_t> Node::exact_integers(AttributeName name) {
  return has(name) ? attribute(name, Attribute::Kind::integers).integers : std::vector<int64_t>();
}
std::vector<int64_t> Node::small_integers(AttributeName name) {
  std::vector<int64_t> all = integers(name);
  for (const int64_t one : all) {
    if (one < -(1 << 30) || one > (1 << 30)) invalid("attribute \"", name.text, "\" holds ", one);
  }
  return all;
}
int64_t Node::small_integer(AttributeName name, int64_t otherwise) {
  const int64_t one = integer(name, otherwise);
  if (one < -(1 << 30) || one > (1 << 30)) invalid("attribute \"", name.text, "\" is ", one);
  return one;
}
std::vector<float> Node::numbers(AttributeName name) {
  return has(name) ? attribute(name, Attribute::Kind::numbers).numbers : std::vector<float>();
}
std::vector<std::string> Node::texts(AttributeName name) {
  return has(name) ? attribute(name, Attribute::Kind::texts).texts : std::vector<std::string>();
}
const HostTensor& Node::elements(AttributeName name) { return attribute(name, Attribute::Kind::tensor).tensor; }
const GraphDef& Node::graph(AttributeName name) { return *attribute(name, Attribute::Kind::graph).graph; }

ElementType Node::element_type(AttributeName name) {
  const int64_t number = integer(name);
  if (number <= 0 || number >= kElementTypes)
    invalid("attribute \"", name.text, "\" is ", number, ", which is no element type");
  return static_cast<ElementType>(number);
}

std::vector<Value> Node::run(const GraphDef& graph, std::span<const Value> inputs) {
  return importer_.run(graph, inputs, scope_);
}

void Node::expand_standard_function() {
  results_ = importer_.call_standard(def_, opset_, operands_);
  results_.resize(def_.outputs.size());
  read_.assign(read_.size(), true);
}

void Node::check_result(int k, Tensor tensor, ElementType type) const {
  check();
  if (!tensor.valid() || tensor.dtype() != carrier(type)) {
    invalid("result ", k, " is ", rlxgpu::core::name_of(tensor.dtype()), ", which does not stand for ", name_of(type));
  }
}

void Node::result(int k, Tensor tensor, ElementType type) {
  check_result(k, tensor, type);
  result(k, Value::computed(tensor, type));
}

void Node::result(int k, Tensor tensor, ElementType type, const Bound& bound) {
  check_result(k, tensor, type);
  result(k, Value::bounded(tensor, type, bound));
}

void Node::result(int k, Value value) {
  if (wants(k)) results_[static_cast<size_t>(k)] = std::move(value);
}

DType Node::carrier(ElementType type) const {
  const std::optional<DType> carrier = carrier_of(type);
  if (!carrier) unsupported(name_of(type), " tensors are not supported");
  return *carrier;
}

Tensor Node::wrapped(Tensor x, ElementType type) const {
  if (type == ElementType::i16) return shift_right(shift_left(x, 16), 16);
  if (type == ElementType::u16) return bit_and(x, 0xffff);
  return x;
}

int Node::axis(int64_t given, int rank) const {
  const int axis = normalise_axis(given, rank);
  if (axis < 0) invalid("axis ", given, " does not exist in a tensor of rank ", rank);
  return axis;
}

Shape Node::checked_shape(std::span<const int64_t> extents) const {
  if (extents.size() > static_cast<size_t>(kMaxRank)) unsupported("rank ", extents.size(), " is above ", kMaxRank);
  int64_t count = 1;
  for (const int64_t extent : extents) {
    if (extent < 0 || extent > INT32_MAX) invalid("an extent is ", extent);
    count *= extent;
    if (count > INT32_MAX) invalid("a tensor has more than 2^31 - 1 elements");
  }
  return shape_of(extents);
}

void Node::check() const {
  if (g().ok()) return;
  std::string error(g().graph().error.view());
  const size_t place = error.find(": ");  // the line is one of ours: it tells the user nothing
  throw Refusal{false, place == std::string::npos ? error : error.substr(place + 2)};
}

std::string_view Node::unread_attribute() const {
  for (size_t i = 0; i < read_.size(); ++i) {
    if (!read_[i]) return def_.attributes[i].name;
  }
  return "";
}

}  // namespace rlxgpu::core::onnx

#include "rlxgpu/load/onnx/importer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rlxgpu/load/onnx/fold.h"

namespace rlxgpu::core::onnx {
namespace {

constexpr int64_t kMostNodes = 200'000;  // with unrolled loops: more is a mistake or malice
constexpr int kDeepest = 24;             // functions that call functions, branches in branches
constexpr size_t kMostErrors = 64;

std::string title(const NodeDef& node) { return absl::StrCat(node.domain.empty() ? "" : node.domain + ".", node.op); }

std::string label(const NodeDef& node) {
  if (!node.name.empty()) return absl::StrCat("node \"", node.name, "\"");
  for (const std::string& output : node.outputs) {
    if (!output.empty()) return absl::StrCat("the node that computes \"", output, "\"");
  }
  return "a node without a name";
}

// Why an op that has no importer has none.
std::string_view why_not(const NodeDef& node) {
  if (node.domain == "ai.onnx.preview.training") return "training is not supported";
  for (const std::string_view op :
       {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}) {
    if (node.op == op) return "random numbers that no model input decides are not supported";
  }
  for (const std::string_view op :
       {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"}) {
    if (node.op == op) return "text is not supported";
  }
  if (node.op == "ImageDecoder") return "compressed images are not decoded";
  return "the op is not supported";
}

}  // namespace

const Attribute* Scope::attribute(std::string_view name) const {
  if (function_ == nullptr) return around_ != nullptr ? around_->attribute(name) : nullptr;
  for (const Attribute& a : attributes_) {
    if (a.name == name) return &a;
  }
  for (const Attribute& a : function_->defaults) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

void Importer::fail(const NodeDef& node, int64_t opset, Refusal refusal) {
  builder_.graph().error = Text();  // it is ours now, and the next node may try
  if (errors_.size() < kMostErrors)
    errors_.push_back({label(node), absl::StrCat(title(node), ", opset ", opset), std::move(refusal)});
}

std::string Importer::unique(std::string_view name) {
  std::string fresh(name);
  for (int k = 2; !names_.insert(fresh).second; ++k) fresh = absl::StrCat(name, "#", k);
  return fresh;
}

// A weight is named after its initialiser; other constants after what they hold, so that loads of a model that share
// weights mean the same by a name.
std::string Importer::weight_name(const Value& value) {
  if (!value.name().empty() && names_.insert(options_.weight_prefix + value.name()).second)
    return options_.weight_prefix + value.name();
  const HostTensor& elements = value.elements();
  uint64_t hash = 1469598103934665603u + static_cast<uint64_t>(elements.type());
  const auto add = [&](uint64_t word) { hash = (hash ^ word) * 1099511628211u; };
  for (const int64_t extent : elements.shape()) add(static_cast<uint64_t>(extent));
  for (const std::byte byte : elements.bytes()) add(std::to_integer<uint64_t>(byte));
  return absl::StrCat("constant:", absl::Hex(hash));
}

Tensor Importer::place(const Value& value) {
  if (!value.is_known()) return value.tensor();
  Tensor& placed = value.placed();
  if (placed.given() && placed.valid()) return placed;
  const HostTensor& elements = value.elements();
  const DType dtype = *carrier_of(elements.type());
  // One number is worth a literal in the kernel; small results of shape arithmetic need no name.
  const bool constant = elements.count() <= 1 || (value.name().empty() && elements.count() <= 64);
  if (!constant) {
    const std::string name = weight_name(value);
    Tensor& shared = weights_[name];  // equal constants are one
    if (!shared.given()) {
      if (Status status = check_range(elements); !status.ok()) throw Refusal{true, std::string(status.message())};
      shared = builder_.param(name, dtype, value.shape());
      parameters.push_back({name, elements});
    }
    return placed = shared;
  }
  Result<std::vector<std::byte>> bytes = to_device_bytes(elements);
  if (!bytes.ok()) throw Refusal{true, std::string(bytes.status().message())};
  std::vector<uint32_t> words(bytes->size() / 4);
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<std::byte*>(words.data()));
  placed = builder_.constant(dtype, value.shape(), words);
  return placed;
}

// Attributes that stand for those of the function around them get their values, or go where there are none.
NodeDef Importer::resolve(const NodeDef& node, const Scope& scope) {
  NodeDef resolved = node;
  std::erase_if(resolved.attributes, [&](Attribute& a) {
    if (a.refers_to.empty()) return false;
    const Attribute* meant = scope.attribute(a.refers_to);
    if (meant == nullptr) return true;
    std::string name = a.name;
    a = *meant;
    a.name = std::move(name);
    a.refers_to.clear();
    return false;
  });
  return resolved;
}

// Ops from `first` on belong to this node, unless a node inside it has taken them.
void Importer::name_ops(size_t first, std::string name) {
  static constexpr char kOurs[] = "onnx";
  Graph& graph = builder_.graph();
  if (first == graph.nodes.size()) return;
  nodes.push_back(std::move(name));
  for (size_t k = first; k < graph.nodes.size(); ++k) {
    Site& site = graph.nodes[k].site;
    if (site.file == kOurs) continue;
    site.file = kOurs;
    site.line = static_cast<uint32_t>(nodes.size());
  }
}

void Importer::import_nodes(std::span<const NodeDef> nodes, Scope& scope) {
  for (const NodeDef& node : nodes) import_node(node, scope);
}

void Importer::import_node(const NodeDef& node, Scope& scope) {
  const auto found = scope.opsets().find(node.domain);
  const int64_t opset = found == scope.opsets().end() ? 0 : found->second;
  const auto first = static_cast<size_t>(builder_.graph().nodes.size());
  std::vector<Value> results;
  std::vector<int> inputs;
  bool broken = false;
  try {
    if (++imported_ > kMostNodes)
      throw Refusal{true, absl::StrCat("more than ", kMostNodes, " nodes, with those of unrolled loops")};
    std::vector<Value> operands;
    for (const std::string& name : node.inputs) {
      const Value* value = name.empty() ? nullptr : scope.find(name);
      if (!name.empty() && value == nullptr)
        throw Refusal{false, absl::StrCat("reads \"", name, "\", which nothing before it computes")};
      operands.push_back(value != nullptr ? *value : Value());
      if (value == nullptr) continue;
      broken = broken || value->kind() == Value::Kind::broken;
      if (value->bound() != nullptr) throw Refusal{true, std::string(kDataDependent)};
      inputs.insert(inputs.end(), value->inputs().begin(), value->inputs().end());
    }
    if (!broken) {
      if (found == scope.opsets().end())
        throw Refusal{false, absl::StrCat("the model names no opset for domain \"", node.domain, "\"")};
      results = import_op(node, resolve(node, scope), opset, std::move(operands), scope);
    }
  } catch (Refusal& refusal) {
    fail(node, opset, std::move(refusal));
    broken = true;
  } catch (const std::exception& error) {
    fail(node, opset, {false, error.what()});
    broken = true;
  }
  if (!scope.in_function()) name_ops(first, label(node));
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    Value value = broken || k >= results.size() ? Value::broken() : results[k];
    if (!broken && !value.given()) {
      fail(node, opset, {false, absl::StrCat("the op has no result ", k)});
      value = Value::broken();
    }
    if (!value.is_known() && value.inputs().empty()) value.inputs() = inputs;
    scope.set(node.outputs[k], std::move(value));
  }
}

std::vector<Value> Importer::import_op(const NodeDef& node, const NodeDef& resolved, int64_t opset,
                                       std::vector<Value> operands, Scope& scope) {
  for (const FunctionDef& function : model_.functions) {
    if (function.name == node.op && function.domain == node.domain) return call(function, resolved, operands);
  }
  if (node.domain.empty() && opset < kFirstOpset && !unchanged_since(node.op, opset)) {
    throw Refusal{true, absl::StrCat("opset ", opset, " defines the op in another way than opset ", kFirstOpset,
                                     ", the first that is supported")};
  }
  const OpImporter* importer = find_importer(node.domain, node.op);
  if (importer == nullptr) return call_standard(resolved, opset, operands);
  Node n(*this, scope, resolved, opset, std::move(operands));
  if (!fold(n)) importer->import(n);
  n.check();
  if (const std::string_view unread = n.unread_attribute(); !unread.empty()) {
    throw Refusal{true, absl::StrCat("attribute \"", unread, "\" is not supported")};
  }
  return std::move(n.results());
}

std::vector<Value> Importer::call_standard(const NodeDef& node, int64_t opset, std::span<const Value> operands) {
  std::vector<ElementType> types;
  for (const Value& operand : operands) types.push_back(operand.type());
  Result<std::shared_ptr<const FunctionDef>> function = standard_function(node, opset, types);
  if (!function.ok()) throw Refusal{false, std::string(function.status().message())};
  if (*function == nullptr) throw Refusal{true, std::string(why_not(node))};
  return call(**function, node, operands);
}

std::vector<Value> Importer::call(const FunctionDef& function, const NodeDef& node, std::span<const Value> operands) {
  if (++depth_ > kDeepest) {
    --depth_;
    throw Refusal{false,
                  absl::StrCat("functions and graphs are nested deeper than ", kDeepest, ", or call themselves")};
  }
  Scope scope(function.opsets, nullptr, node.attributes, &function);
  for (size_t k = 0; k < function.inputs.size(); ++k)
    scope.set(function.inputs[k], k < operands.size() ? operands[k] : Value());
  import_nodes(function.nodes, scope);
  --depth_;
  std::vector<Value> results;
  for (size_t k = 0; k < function.outputs.size() && k < node.outputs.size(); ++k) {
    const Value* value = scope.find(function.outputs[k]);
    if (node.outputs[k].empty()) {
      results.emplace_back();
      continue;
    }
    if (value == nullptr)
      throw Refusal{false,
                    absl::StrCat("function \"", function.name, "\" does not compute \"", function.outputs[k], "\"")};
    results.push_back(*value);
  }
  return results;
}

std::vector<Value> Importer::run(const GraphDef& graph, std::span<const Value> inputs, Scope& around) {
  if (inputs.size() != graph.inputs.size()) {
    throw Refusal{false, absl::StrCat("its graph takes ", graph.inputs.size(), " inputs, not ", inputs.size())};
  }
  if (++depth_ > kDeepest) {
    --depth_;
    throw Refusal{false, absl::StrCat("functions and graphs are nested deeper than ", kDeepest)};
  }
  Scope scope(around.opsets(), &around);
  for (const auto& [name, elements] : graph.constants) scope.set(name, Value::known(elements, name));
  for (size_t k = 0; k < inputs.size(); ++k) scope.set(graph.inputs[k].name, inputs[k]);
  import_nodes(graph.nodes, scope);
  --depth_;
  std::vector<Value> results;
  for (const PortDef& output : graph.outputs) {
    const Value* value = scope.find(output.name);
    if (value == nullptr) throw Refusal{false, absl::StrCat("its graph does not compute \"", output.name, "\"")};
    results.push_back(*value);
  }
  return results;
}

const std::vector<int64_t>* Importer::given_shape(const std::string& input) const {
  if (const auto given = options_.given.find(input); given != options_.given.end()) return &given->second.shape();
  const auto shape = options_.shapes.find(input);
  return shape == options_.shapes.end() ? nullptr : &shape->second;
}

void Importer::import_inputs(Scope& scope, const std::set<int>& bound) {
  const GraphDef& graph = model_.graph;
  std::set<std::string> constants;
  for (const auto& [name, elements] : graph.constants) {
    constants.insert(name);
    scope.set(name, Value::known(elements, name));
  }
  extents_ = options_.extents;
  for (const PortDef& port : graph.inputs) {  // shapes of given inputs first: another input may come before
    const std::vector<int64_t>* shape = given_shape(port.name);
    if (shape == nullptr || shape->size() != port.shape.size()) continue;
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      if (!port.shape[axis].symbol.empty()) extents_.emplace(port.shape[axis].symbol, (*shape)[axis]);
    }
  }
  for (size_t k = 0; k < graph.inputs.size(); ++k) {
    const PortDef& def = graph.inputs[k];
    if (constants.contains(def.name)) continue;  // an initialiser that could be overridden
    const auto refuse = [&](bool unsupported, std::string why) {
      errors_.push_back({absl::StrCat("input \"", def.name, "\""),
                         def.other_type.empty() ? std::string(name_of(def.type)) : def.other_type,
                         {unsupported, std::move(why)}});
      scope.set(def.name, Value::broken());
    };
    if (!def.other_type.empty()) {
      refuse(true, absl::StrCat(def.other_type, " inputs are not supported"));
      continue;
    }
    if (!carrier_of(def.type)) {
      refuse(true, absl::StrCat(name_of(def.type), " tensors are not supported"));
      continue;
    }
    const auto given = options_.given.find(def.name);
    const bool is_given = given != options_.given.end();
    if (is_given && given->second.type() != def.type) {
      refuse(false, absl::StrCat("is given as ", name_of(given->second.type())));
      continue;
    }
    Port port{.name = def.name,
              .type = def.type,
              .shape = {},
              .graph_name = {},
              .bound = bound.contains(static_cast<int>(k)),
              .elements = {}};
    std::string wrong;
    const std::vector<int64_t>* shape = given_shape(def.name);
    if (shape != nullptr && (!def.has_shape || shape->size() == def.shape.size())) {
      port.shape = *shape;
    } else if (!def.has_shape) {
      wrong = "its rank is not in the model: give its elements to load()";
    }
    for (size_t axis = 0; axis < def.shape.size(); ++axis) {
      const PortDef::Extent& extent = def.shape[axis];
      const auto size = extents_.find(extent.symbol);
      const int64_t fixed = extent.size >= 0                                   ? extent.size
                            : !extent.symbol.empty() && size != extents_.end() ? size->second
                                                                               : -1;
      if (port.shape.size() <= axis) {
        if (fixed < 0)
          wrong =
              absl::StrCat("axis ", axis, " (\"", extent.symbol, "\") has no size: give one in LoadOptions::extents");
        port.shape.push_back(fixed);
      } else if (fixed >= 0 && fixed != port.shape[axis]) {
        wrong = absl::StrCat("is given with ", port.shape[axis], " elements along axis ", axis,
                             ", where the model has ", fixed);
      }
    }
    int64_t elements = 1;
    for (const int64_t extent : port.shape) {
      elements = extent < 0 || extent > INT32_MAX ? INT64_MAX : elements * extent;
      if (elements > INT32_MAX) break;
    }
    if (wrong.empty() && (elements > INT32_MAX || port.shape.size() > static_cast<size_t>(kMaxRank)))
      wrong = "is too large or of too many axes";
    if (!wrong.empty()) {
      refuse(false, wrong);
      continue;
    }
    Value value;
    if (port.bound) {
      value = Value::known(given->second);
      port.elements = given->second;
    } else {
      port.graph_name = unique(def.name);
      value = Value::computed(builder_.input(port.graph_name, *carrier_of(def.type), shape_of(port.shape)), def.type);
      if (elements <= kMostKnown) value.inputs() = {static_cast<int>(k)};
    }
    inputs.push_back(std::move(port));
    scope.set(def.name, std::move(value));
  }
}

void Importer::import_outputs(Scope& scope) {
  for (const PortDef& def : model_.graph.outputs) {
    const NodeDef node{.name = "", .op = "output", .domain = "", .inputs = {}, .outputs = {def.name}, .attributes = {}};
    const Value* value = scope.find(def.name);
    if (value == nullptr) {
      fail(node, 0, {false, "nothing computes this output"});
      continue;
    }
    if (value->kind() == Value::Kind::broken) continue;  // reported where it broke
    try {
      if (value->kind() != Value::Kind::tensor) throw Refusal{true, "sequence outputs are not supported"};
      if (!carrier_of(value->type()))
        throw Refusal{true, absl::StrCat(name_of(value->type()), " tensors are not supported")};
      Port port{
          .name = def.name, .type = value->type(), .shape = extents_of(value->shape()), .graph_name = unique(def.name)};
      builder_.output(port.graph_name, place(*value));
      if (const Bound* bound = value->bound(); bound != nullptr) {
        port.count_name = unique(absl::StrCat(def.name, ":count"));
        port.count_axis = bound->axis;
        builder_.output(port.count_name, bound->count);
      }
      outputs.push_back(std::move(port));
    } catch (Refusal& refusal) {
      fail(node, 0, std::move(refusal));
    }
  }
}

void Importer::import_model(const std::set<int>& bound) {
  Scope scope(model_.opsets, nullptr);
  import_inputs(scope, bound);
  import_nodes(model_.graph.nodes, scope);
  import_outputs(scope);
  if (!builder_.ok()) errors_.push_back({"the model", "graph", {false, std::string(builder_.graph().error.view())}});
}

}  // namespace rlxgpu::core::onnx

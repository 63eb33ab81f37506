// Importer: walks the nodes of an ONNX graph in order and adds what they compute to a Builder's graph. Internal.
//
// What it knows besides: names (in scopes, since branches see the names around them), functions, which inputs would
// have to be known, and all that went wrong.
#ifndef RLXGPU_LOAD_ONNX_IMPORTER_H_
#define RLXGPU_LOAD_ONNX_IMPORTER_H_

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/load/onnx/model_def.h"
#include "rlxgpu/load/onnx/node.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/load/onnx/value.h"

namespace rlxgpu::core::onnx {

// The names that a graph sees: its own, and those of the graph around it.
class Scope {
 public:
  Scope(const Opsets& opsets, Scope* around, std::span<const Attribute> attributes = {},
        const FunctionDef* function = nullptr)
      : opsets_(opsets), around_(around), attributes_(attributes), function_(function) {}

  const Value* find(const std::string& name) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return &found->second;
    return around_ != nullptr ? around_->find(name) : nullptr;
  }
  void set(const std::string& name, Value value) { values_[name] = std::move(value); }
  const Opsets& opsets() const { return opsets_; }
  bool in_function() const { return function_ != nullptr || (around_ != nullptr && around_->in_function()); }
  // The value of a function's attribute where it is called, or null.
  const Attribute* attribute(std::string_view name) const;

 private:
  const Opsets& opsets_;
  Scope* around_;
  std::span<const Attribute> attributes_;  // of the node that calls the function
  const FunctionDef* function_;
  std::map<std::string, Value> values_;
};

struct NodeError {
  std::string node, op;  // as messages name them
  Refusal refusal;
};

class Importer {
 public:
  Importer(Builder& builder, const ModelDef& model, const LoadOptions& options)
      : builder_(builder), model_(model), options_(options) {}

  // `bound`: inputs whose given elements are used as if they were constants.
  void import_model(const std::set<int>& bound);

  Builder& builder() { return builder_; }
  // The tensor of a value in the graph.
  Tensor place(const Value& value);
  std::vector<Value> run(const GraphDef& graph, std::span<const Value> inputs, Scope& around);

  // By the function that ONNX gives as the op's meaning.
  std::vector<Value> call_standard(const NodeDef& node, int64_t opset, std::span<const Value> operands);

  const std::vector<NodeError>& errors() const { return errors_; }
  const std::set<int>& wanted() const { return wanted_; }  // inputs that have to be known
  void want(std::span<const int> inputs) { wanted_.insert(inputs.begin(), inputs.end()); }
  std::string input_name(int input) const { return model_.graph.inputs[static_cast<size_t>(input)].name; }
  bool is_given(int input) const { return options_.given.contains(input_name(input)); }

  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
  std::vector<std::string> nodes;  // names, by the lines that ops of the graph have

 private:
  const std::vector<int64_t>* given_shape(const std::string& input) const;
  void import_inputs(Scope& scope, const std::set<int>& bound);
  void import_outputs(Scope& scope);
  void import_nodes(std::span<const NodeDef> nodes, Scope& scope);
  void import_node(const NodeDef& node, Scope& scope);
  std::vector<Value> import_op(const NodeDef& node, const NodeDef& resolved, int64_t opset, std::vector<Value> operands,
                               Scope& scope);
  std::vector<Value> call(const FunctionDef& function, const NodeDef& node, std::span<const Value> operands);
  NodeDef resolve(const NodeDef& node, const Scope& scope);
  void fail(const NodeDef& node, int64_t opset, Refusal refusal);
  std::string unique(std::string_view name);
  std::string weight_name(const Value& value);
  void name_ops(size_t first, std::string name);

  Builder& builder_;
  const ModelDef& model_;
  const LoadOptions& options_;
  std::vector<NodeError> errors_;
  std::set<int> wanted_;
  std::set<std::string> names_;  // of inputs and weights
  std::map<std::string, Tensor> weights_;
  std::map<std::string, int64_t> extents_;
  int64_t imported_ = 0;  // nodes so far, with those of functions and loops
  int depth_ = 0;
};

// What load() does after it has read the file. `def` is as read_model gives it.
Result<Model> import_model(const ModelDef& def, const LoadOptions& options);
// A file's model, with batch norms folded (batch_norm.h).
Result<ModelDef> read_model(std::span<const std::byte> bytes, const std::string& folder);
Result<ModelDef> read_model(const std::string& path);

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_IMPORTER_H_

// Model: an ONNX model as a graph of rlxgpu's, with its weights; Session: the model on a device.
//
//   Result<onnx::Model> model = onnx::load("model.onnx", {.extents = {{"batch", 1}}});
//   if (!model.ok()) return model.status();               // all nodes that cannot be imported, each with the reason
//   Result<onnx::Session> session = onnx::Session::create(device, *model);
//   session->set("x", x);   session->run();
//   Result<onnx::HostTensor> y = session->get("y");
//
// Opsets 7 to 25. Shapes are fixed when the model is loaded: symbolic extents get their sizes from options (or from
// each run: runner.h). Shape arithmetic is done then (fold.h), every other op runs on the device. Integers of 64 bits
// are held in 32 there (host_tensor.h). Unimplemented: a valid model that asks for more than rlxgpu does;
// InvalidArgument: not a valid model.
#ifndef RLXGPU_LOAD_ONNX_ONNX_H_
#define RLXGPU_LOAD_ONNX_ONNX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/dynamic.h"
#include "rlxgpu/load/onnx/host_tensor.h"
#include "rlxgpu/load/weight_part.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/weights.h"

namespace rlxgpu::core::onnx {

using HostTensors = std::map<std::string, HostTensor, std::less<>>;

struct LoadOptions {
  std::map<std::string, int64_t> extents = {};  // sizes of symbolic extents
  // Elements of some inputs. Their shapes fix symbolic extents; and where an op has to know an operand before it can
  // have a shape (Reshape's second), they are used as constants: Port::bound says so.
  HostTensors given = {};
  std::map<std::string, std::vector<int64_t>> shapes = {};  // of other inputs: they fix symbolic extents, too
  std::string weight_prefix = {};                           // before the names of weights, where models share a Weights
};

// An input or output of the model.
struct Port {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::string graph_name;    // in the graph, which may not have it: an input that nothing reads
  bool bound = false;        // its elements were used when the model was loaded
  HostTensor elements = {};  // those, if it is bound
  // An output that is as long as the data say: `shape` is the greatest, and this output of the graph says how much of
  // it along which axis there is.
  std::string count_name = {};
  int count_axis = 0;
};

struct Parameter {
  std::string name;  // in the graph
  HostTensor elements;
};

// One of a model's weights.
Status upload(const Parameter& parameter, const Weights& weights);

struct Model {
  DynamicGraph graph;
  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
  std::vector<std::pair<std::string, int>> ops;  // of the file, with how often each is used
  std::map<std::string, int64_t> opsets;
  std::vector<std::string> nodes;  // of the file, as messages name them: StepProfile::line is an index and one

  // The node that a step belongs to, or "".
  std::string_view node_of(uint32_t line) const {
    return line > 0 && line <= nodes.size() ? std::string_view(nodes[line - 1]) : std::string_view();
  }

  const Port* find_input(std::string_view name) const;
  const Port* find_output(std::string_view name) const;
  // Uploads all weights.
  Status upload(const Weights& weights) const;
};

Result<Model> load(const std::string& path, const LoadOptions& options = {});
// Of bytes in memory; `folder` is where external data lies.
Result<Model> load(std::span<const std::byte> bytes, const LoadOptions& options = {}, const std::string& folder = "");

// What runs a model: conversions of types at its interface, and an Executable.
class Session {
 public:
  // Where `options` names weights, the model's must have been uploaded to them (Model::upload); else that is done here.
  // `prepared`: as in prepare_weights.
  static Result<Session> create(const Device& device, const Model& model, const DynamicOptions& options = {},
                                PreparedWeights* prepared = nullptr);

  // Of the input's type and shape. Setting a bound input is an error unless nothing changes.
  Status set(std::string_view name, const HostTensor& elements);
  Run run() { return executable_.run(); }
  Result<HostTensor> get(std::string_view name);
  Executable<DynamicGraph>& executable() { return executable_; }

 private:
  Executable<DynamicGraph> executable_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace rlxgpu::core::onnx

namespace rlxgpu {
namespace onnx = core::onnx;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_ONNX_ONNX_H_

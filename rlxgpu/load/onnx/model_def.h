// ModelDef: what an ONNX file says, as plain data: protobuf ends here.
//
//   Result<ModelDef> model = parse_model(bytes, "folder/of/the/model");
//
// Every tensor's size was checked against the bytes that hold it, and every extent fits 31 bits. Nothing else was
// checked: graphs may use names that nobody defines, or go in circles.
#ifndef RLXGPU_LOAD_ONNX_MODEL_DEF_H_
#define RLXGPU_LOAD_ONNX_MODEL_DEF_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rlxgpu/load/onnx/host_tensor.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::onnx {

struct GraphDef;

struct Attribute {
  enum class Kind : uint8_t { none, number, integer, text, tensor, graph, numbers, integers, texts, other };
  std::string name;
  Kind kind = Kind::none;
  std::string refers_to;  // inside a function: the function's attribute that is meant
  float number = 0;
  int64_t integer = 0;
  std::string text;
  HostTensor tensor;
  std::shared_ptr<const GraphDef> graph;
  std::vector<float> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

struct NodeDef {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;  // "": left out
  std::vector<Attribute> attributes;
};

struct PortDef {
  struct Extent {
    int64_t size = -1;   // -1: not fixed
    std::string symbol;  // its name, if it has one
  };
  std::string name;
  ElementType type = ElementType::undefined;
  std::string other_type;  // "sequence", "optional"...: not a tensor
  bool has_shape = false;
  std::vector<Extent> shape;
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<PortDef> inputs, outputs;
  std::vector<std::pair<std::string, HostTensor>> constants;  // initialisers
};

using Opsets = std::map<std::string, int64_t>;  // domain ("": ONNX's own) to version

struct FunctionDef {
  std::string name, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;  // that it may be given
  std::vector<Attribute> defaults;
  std::vector<NodeDef> nodes;
  Opsets opsets;
};

struct ModelDef {
  Opsets opsets;
  GraphDef graph;
  std::vector<FunctionDef> functions;
  std::string producer;
};

// `folder`: where files of external data are; they must lie in it or below.
Result<ModelDef> parse_model(std::span<const std::byte> bytes, const std::string& folder);
// A single TensorProto, such as the files of ONNX's own tests.
Result<HostTensor> parse_tensor(std::span<const std::byte> bytes);

// Importers know ops as they were defined in these opsets.
inline constexpr int64_t kFirstOpset = 7, kLastOpset = 25;
// Whether an op of ONNX's own was defined before kFirstOpset as it was then.
bool unchanged_since(const std::string& op, int64_t opset);

// The function that ONNX itself gives as the meaning of a node of one of its ops, if it gives one. `types`: of the
// node's inputs, undefined where they are left out.
Result<std::shared_ptr<const FunctionDef>> standard_function(const NodeDef& node, int64_t opset,
                                                             std::span<const ElementType> types);

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_MODEL_DEF_H_

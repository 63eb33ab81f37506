#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "onnx/defs/function.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/onnx/model_def.h"

namespace rlxgpu::core::onnx {
namespace {

constexpr int64_t kMostElements = INT32_MAX;
constexpr int kDeepest = 32;  // graphs inside attributes of graphs

// What is wrong with the file; thrown here and caught in parse_*.
struct Malformed {
  std::string why;
};
template <typename... Parts>
[[noreturn]] void malformed(const Parts&... parts) {
  throw Malformed{absl::StrCat(parts...)};
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

ElementType type_of(int number, std::string_view what) {
  if (number < 0 || number >= kElementTypes) malformed(what, " has element type ", number, ", which is not known");
  return static_cast<ElementType>(number);
}

class Reader {
 public:
  Reader(std::string folder, std::shared_ptr<const void> keep) : folder_(std::move(folder)), keep_(std::move(keep)) {}

  HostTensor tensor(const ::onnx::TensorProto& proto, std::string_view what);
  GraphDef graph(const ::onnx::GraphProto& proto, int depth);
  NodeDef node(const ::onnx::NodeProto& proto, int depth);
  Attribute attribute(const ::onnx::AttributeProto& proto, int depth);
  FunctionDef function(const ::onnx::FunctionProto& proto);

  template <typename List>
  static Opsets opsets(const List& list) {
    Opsets result;
    for (const auto& opset : list) result[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
    return result;
  }

 private:
  std::span<const std::byte> external(const ::onnx::TensorProto& proto, std::string_view what);
  std::vector<std::byte> listed(const ::onnx::TensorProto& proto, ElementType type);

  std::string folder_;
  std::shared_ptr<const void> keep_;  // owns the protobuf message, hence raw_data
  std::map<std::string, MappedFile> files_;
};

// Elements that stand one by one in a list of the message, not as raw bytes.
std::vector<std::byte> Reader::listed(const ::onnx::TensorProto& proto, ElementType type) {
  std::vector<std::byte> bytes;
  const auto append = [&](const auto& list, auto as) {
    bytes.reserve(static_cast<size_t>(list.size()) * sizeof(as));
    for (const auto element : list) {
      const auto value = static_cast<decltype(as)>(element);
      const auto first = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), first, first + sizeof(as));
    }
  };
  switch (type) {
    case ElementType::f32:
    case ElementType::c64:
      append(proto.float_data(), float{});
      break;
    case ElementType::f64:
    case ElementType::c128:
      append(proto.double_data(), double{});
      break;
    case ElementType::i64:
      append(proto.int64_data(), int64_t{});
      break;
    case ElementType::u64:
      append(proto.uint64_data(), uint64_t{});
      break;
    case ElementType::u32:
      append(proto.uint64_data(), uint32_t{});
      break;
    case ElementType::i32:
      append(proto.int32_data(), int32_t{});
      break;
    case ElementType::i16:
    case ElementType::u16:
    case ElementType::f16:
    case ElementType::bf16:
      append(proto.int32_data(), uint16_t{});
      break;
    default:
      append(proto.int32_data(), uint8_t{});
      break;  // packed types: a byte of elements in each
  }
  return bytes;
}

// The bytes of a tensor that is kept in another file.
std::span<const std::byte> Reader::external(const ::onnx::TensorProto& proto, std::string_view what) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      uint64_t number = 0;
      for (const char c : entry.value()) {
        if (c < '0' || c > '9' || number > (uint64_t{1} << 56))
          malformed(what, ": ", entry.key(), " \"", entry.value(), "\" is not a size");
        number = number * 10 + static_cast<uint64_t>(c - '0');
      }
      if (entry.key() == "offset") {
        offset = number;
      } else {
        length = number;
      }
    }
  }
  const std::filesystem::path path = std::filesystem::path(location).lexically_normal();
  if (location.empty() || path.is_absolute() || *path.begin() == "..")
    malformed(what, ": external data in \"", location, "\", which is not below the model's folder");
  if (folder_.empty()) malformed(what, ": external data, but the model is not from a file");
  auto file = files_.find(path.string());
  if (file == files_.end()) {
    Result<MappedFile> opened = MappedFile::open((std::filesystem::path(folder_) / path).string());
    if (!opened.ok()) malformed(what, ": external data: ", opened.status().message());
    file = files_.emplace(path.string(), *std::move(opened)).first;
  }
  const std::span<const std::byte> bytes = file->second.bytes();
  if (offset > bytes.size() || (length && *length > bytes.size() - offset))
    malformed(what, ": \"", location, "\" ends before its data");
  return bytes.subspan(offset, length.value_or(bytes.size() - offset));
}

HostTensor Reader::tensor(const ::onnx::TensorProto& proto, std::string_view what) {
  const ElementType type = type_of(proto.data_type(), what);
  if (proto.has_segment()) malformed(what, " is in segments");
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const int64_t extent : proto.dims()) {
    if (extent < 0 || extent > kMostElements) malformed(what, " has an extent of ", extent);
    shape.push_back(extent);
    count *= extent;
    if (count > kMostElements) malformed(what, " has more than 2^31 - 1 elements");
  }
  if (type == ElementType::string || type == ElementType::undefined)
    return HostTensor(type, std::move(shape), {}, nullptr);  // never read
  HostTensor result;
  const bool elsewhere = proto.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (elsewhere) {
    const std::span<const std::byte> bytes = external(proto, what);
    result =
        HostTensor(type, std::move(shape), bytes, std::make_shared<const std::map<std::string, MappedFile>>(files_));
  } else if (proto.has_raw_data()) {
    result = HostTensor(type, std::move(shape), as_bytes(proto.raw_data()), keep_);
  } else {
    result = HostTensor::of_bytes(type, std::move(shape), listed(proto, type));
  }
  const uint64_t needed = packed_bytes(type, count), present = result.bytes().size();
  if (present < needed || (present != needed && !elsewhere))
    malformed(what, " has ", present, " bytes of data; its shape needs ", needed);
  if (present == needed) return result;
  return HostTensor(type, result.shape(), result.bytes().first(needed), std::make_shared<const HostTensor>(result));
}

Attribute Reader::attribute(const ::onnx::AttributeProto& proto, int depth) {
  using Proto = ::onnx::AttributeProto;
  Attribute a;
  a.name = proto.name();
  a.refers_to = proto.ref_attr_name();
  switch (proto.type()) {
    case Proto::FLOAT:
      a.kind = Attribute::Kind::number;
      a.number = proto.f();
      break;
    case Proto::INT:
      a.kind = Attribute::Kind::integer;
      a.integer = proto.i();
      break;
    case Proto::STRING:
      a.kind = Attribute::Kind::text;
      a.text = proto.s();
      break;
    case Proto::TENSOR:
      a.kind = Attribute::Kind::tensor;
      a.tensor = tensor(proto.t(), absl::StrCat("attribute \"", a.name, "\""));
      break;
    case Proto::GRAPH:
      a.kind = Attribute::Kind::graph;
      a.graph = std::make_shared<const GraphDef>(graph(proto.g(), depth + 1));
      break;
    case Proto::FLOATS:
      a.kind = Attribute::Kind::numbers;
      a.numbers.assign(proto.floats().begin(), proto.floats().end());
      break;
    case Proto::INTS:
      a.kind = Attribute::Kind::integers;
      a.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case Proto::STRINGS:
      a.kind = Attribute::Kind::texts;
      a.texts.assign(proto.strings().begin(), proto.strings().end());
      break;
    default:
      a.kind = Attribute::Kind::other;
      break;
  }
  return a;
}

NodeDef Reader::node(const ::onnx::NodeProto& proto, int depth) {
  NodeDef node;
  node.name = proto.name();
  node.op = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto& a : proto.attribute()) node.attributes.push_back(attribute(a, depth));
  return node;
}

PortDef port(const ::onnx::ValueInfoProto& proto) {
  PortDef port;
  port.name = proto.name();
  if (!proto.type().has_tensor_type()) {
    port.other_type = proto.type().has_sequence_type()        ? "sequence"
                      : proto.type().has_optional_type()      ? "optional"
                      : proto.type().has_map_type()           ? "map"
                      : proto.type().has_sparse_tensor_type() ? "sparse tensor"
                                                              : "unknown";
    return port;
  }
  const auto& type = proto.type().tensor_type();
  port.type = type_of(type.elem_type(), absl::StrCat("\"", port.name, "\""));
  port.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    PortDef::Extent extent;
    if (dim.has_dim_value()) {
      extent.size = dim.dim_value();
      if (extent.size < 0 || extent.size > kMostElements)
        malformed("\"", port.name, "\" has an extent of ", extent.size);
    } else {
      extent.symbol = dim.dim_param();
    }
    port.shape.push_back(std::move(extent));
  }
  return port;
}

GraphDef Reader::graph(const ::onnx::GraphProto& proto, int depth) {
  if (depth > kDeepest) malformed("graphs are nested deeper than ", kDeepest);
  if (proto.sparse_initializer_size() > 0) malformed("sparse initialisers are not supported");
  GraphDef graph;
  for (const auto& n : proto.node()) graph.nodes.push_back(node(n, depth));
  for (const auto& p : proto.input()) graph.inputs.push_back(port(p));
  for (const auto& p : proto.output()) graph.outputs.push_back(port(p));
  for (const auto& t : proto.initializer())
    graph.constants.emplace_back(t.name(), tensor(t, absl::StrCat("initialiser \"", t.name(), "\"")));
  return graph;
}

FunctionDef Reader::function(const ::onnx::FunctionProto& proto) {
  FunctionDef function;
  function.name = proto.name();
  function.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  function.inputs.assign(proto.input().begin(), proto.input().end());
  function.outputs.assign(proto.output().begin(), proto.output().end());
  function.attributes.assign(proto.attribute().begin(), proto.attribute().end());
  for (const auto& a : proto.attribute_proto()) function.defaults.push_back(attribute(a, 0));
  for (const auto& n : proto.node()) function.nodes.push_back(node(n, 0));
  function.opsets = opsets(proto.opset_import());
  return function;
}

// Runs `read`, turning what it throws into a status.
template <typename T, typename Read>
Result<T> caught(std::string_view what, Read read) {
  try {
    return read();
  } catch (const Malformed& error) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", error.why));
  } catch (const std::exception& error) {  // libonnx and protobuf
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", error.what()));
  }
}

// The message, or null. Protobuf's own limit of 100 keeps it from recursing too deep.
template <typename Proto>
std::shared_ptr<const Proto> parsed(std::span<const std::byte> bytes) {
  auto proto = std::make_shared<Proto>();
  if (bytes.size() > INT32_MAX || !proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return nullptr;
  return proto;
}

}  // namespace

Result<ModelDef> parse_model(std::span<const std::byte> bytes, const std::string& folder) {
  return caught<ModelDef>("ONNX model", [&] {
    const auto proto = parsed<::onnx::ModelProto>(bytes);
    if (proto == nullptr) malformed("not an ONNX file, or cut short");
    if (!proto->has_graph()) malformed("has no graph");
    Reader reader(folder, proto);
    ModelDef model;
    model.opsets = Reader::opsets(proto->opset_import());
    model.producer = proto->producer_name();
    model.graph = reader.graph(proto->graph(), 0);
    for (const auto& f : proto->functions()) model.functions.push_back(reader.function(f));
    return model;
  });
}

Result<HostTensor> parse_tensor(std::span<const std::byte> bytes) {
  return caught<HostTensor>("ONNX tensor", [&] {
    const auto proto = parsed<::onnx::TensorProto>(bytes);
    if (proto == nullptr) malformed("not a tensor, or cut short");
    return Reader("", proto).tensor(*proto, "the tensor");
  });
}

namespace {

void write_attribute(const Attribute& a, ::onnx::AttributeProto* proto) {
  using Proto = ::onnx::AttributeProto;
  proto->set_name(a.name);
  switch (a.kind) {
    case Attribute::Kind::number:
      proto->set_type(Proto::FLOAT);
      proto->set_f(a.number);
      break;
    case Attribute::Kind::integer:
      proto->set_type(Proto::INT);
      proto->set_i(a.integer);
      break;
    case Attribute::Kind::text:
      proto->set_type(Proto::STRING);
      proto->set_s(a.text);
      break;
    case Attribute::Kind::numbers:
      proto->set_type(Proto::FLOATS);
      for (const float x : a.numbers) proto->add_floats(x);
      break;
    case Attribute::Kind::integers:
      proto->set_type(Proto::INTS);
      for (const int64_t x : a.integers) proto->add_ints(x);
      break;
    case Attribute::Kind::texts:
      proto->set_type(Proto::STRINGS);
      for (const std::string& x : a.texts) proto->add_strings(x);
      break;
    default:
      malformed("an op with a function has attribute \"", a.name, "\", which is no number or text");
  }
}

}  // namespace

bool unchanged_since(const std::string& op, int64_t opset) {
  const ::onnx::OpSchema* then =
      ::onnx::OpSchemaRegistry::Schema(op, static_cast<int>(std::clamp<int64_t>(opset, 0, kFirstOpset)), "");
  const ::onnx::OpSchema* first = ::onnx::OpSchemaRegistry::Schema(op, static_cast<int>(kFirstOpset), "");
  return then != nullptr && then == first;
}

Result<std::shared_ptr<const FunctionDef>> standard_function(const NodeDef& node, int64_t opset,
                                                             std::span<const ElementType> types) {
  using Function = std::shared_ptr<const FunctionDef>;
  return caught<Function>(node.op, [&]() -> Function {
    const ::onnx::OpSchema* schema = ::onnx::OpSchemaRegistry::Schema(
        node.op, static_cast<int>(std::clamp<int64_t>(opset, 0, INT32_MAX)), node.domain);
    if (schema == nullptr) return nullptr;
    auto function = std::make_shared<::onnx::FunctionProto>();
    if (const ::onnx::FunctionProto* fixed = schema->GetFunction(static_cast<int>(opset))) {
      *function = *fixed;
    } else if (schema->HasContextDependentFunctionWithOpsetVersion(static_cast<int>(opset)) ||
               schema->HasContextDependentFunction()) {
      ::onnx::NodeProto proto;
      proto.set_op_type(node.op);
      proto.set_domain(node.domain);
      for (const std::string& name : node.inputs) proto.add_input(name);
      for (const std::string& name : node.outputs) proto.add_output(name);
      for (const Attribute& a : node.attributes) write_attribute(a, proto.add_attribute());
      std::vector<::onnx::TypeProto> type_protos(types.size());
      for (size_t k = 0; k < types.size(); ++k) {
        if (types[k] != ElementType::undefined)
          type_protos[k].mutable_tensor_type()->set_elem_type(static_cast<int>(types[k]));
      }
      const ::onnx::FunctionBodyBuildContextImpl context(proto, type_protos);
      if (!schema->BuildContextDependentFunction(context, *function, static_cast<int>(opset))) return nullptr;
      if (function->input_size() == 0) schema->BuildFunction(*function);
    } else {
      return nullptr;
    }
    FunctionDef def = Reader("", function).function(*function);
    def.opsets = {{node.domain, opset}, {"", opset}};
    for (const auto& [name, attribute] : schema->attributes()) {
      if (attribute.default_value.type() == ::onnx::AttributeProto::UNDEFINED) continue;
      Attribute value = Reader("", function).attribute(attribute.default_value, 0);
      value.name = name;
      def.defaults.push_back(std::move(value));
    }
    return std::make_shared<const FunctionDef>(std::move(def));
  });
}

}  // namespace rlxgpu::core::onnx

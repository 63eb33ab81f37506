#include "rlxgpu/tools/program_json.h"

#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/check.h"
#include "rlxgpu/graph/targets.h"

namespace rlxgpu::core::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::string_view kRoles[] = {"input", "output", "param", "state", "constant", "scratch"};
constexpr std::string_view kClasses[] = {"unknown", "discrete", "integrated", "software"};
constexpr std::string_view kVendors[] = {"unknown", "amd", "apple", "arm", "intel", "nvidia", "qualcomm"};

// --- writing

std::string text_of(std::string_view view) { return std::string(view); }

Json target_json(const Target& target) {
  Json matrix = Json::array();
  for (uint32_t i = 0; i < target.matrix_count; ++i) {
    const MatrixShape& shape = target.matrix[i];
    matrix.push_back({{"operand", text_of(name_of(shape.operand))},
                      {"result", text_of(name_of(shape.result))},
                      {"m", shape.m},
                      {"n", shape.n},
                      {"k", shape.k}});
  }
  return {{"adapter_class", text_of(kClasses[static_cast<int>(target.adapter_class)])},
          {"vendor", text_of(kVendors[static_cast<int>(target.vendor)])},
          {"architecture", text_of(name_of(target.architecture))},
          {"units", target.units},
          {"dot4", target.dot4},
          {"shader_f16", target.shader_f16},
          {"subgroups", target.subgroups},
          {"subgroup_size_control", target.subgroup_size_control},
          {"subgroup_min", target.subgroup_min},
          {"subgroup_max", target.subgroup_max},
          {"matrix", std::move(matrix)},
          {"max_storage_buffers", target.max_storage_buffers},
          {"max_invocations", target.max_invocations},
          {"max_workgroup_bytes", target.max_workgroup_bytes},
          {"max_groups", target.max_groups},
          {"max_immediate_bytes", target.max_immediate_bytes},
          {"offset_alignment", target.offset_alignment},
          {"max_binding_bytes", target.max_binding_bytes}};
}

Json shape_json(const Shape& shape) {
  Json axes = Json::array();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape.symbol(axis) >= 0) {
      axes.push_back({{"most", shape[axis]}, {"scalar", shape.symbol(axis)}});
    } else {
      axes.push_back(shape[axis]);
    }
  }
  return axes;
}

Json kernel_json(const ProgramView& program, const KernelSpec& kernel, std::string_view wgsl) {
  Json bindings = Json::array(), immediates = Json::array();
  for (const BindingType& type : slice(program.kernels.bindings, kernel.bindings)) {
    bindings.push_back({{"dtype", text_of(name_of(type.dtype))}, {"writes", type.writes}});
    if (type.raw) bindings.back()["raw"] = true;
  }
  for (const DType dtype : slice(program.kernels.immediates, kernel.immediates))
    immediates.push_back(text_of(name_of(dtype)));
  return {{"wgsl", text_of(wgsl)}, {"bindings", std::move(bindings)}, {"immediates", std::move(immediates)}};
}

Json step_json(const ProgramView& program, const Step& step) {
  Json bindings = Json::array();
  for (const StepBinding& binding : slice(program.bindings, step.bindings)) bindings.push_back(binding.tensor);
  const auto immediates = slice(program.step_immediates, step.immediates);
  Json json = {{"label", text_of(program.name(step.label))},
               {"kernel", step.kernel},
               {"grid", step.grid},
               {"bindings", std::move(bindings)},
               {"immediates", std::vector<int32_t>(immediates.begin(), immediates.end())},
               {"flops", step.flops},
               {"bytes", step.bytes}};
  if (step.grid_scalar >= 0) json["grid_scalar"] = step.grid_scalar;
  return json;
}

// --- reading; what is missing or of another type is thrown by Json, what makes no sense by fail()

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

template <size_t kCount>
int index_in(const std::string_view (&names)[kCount], const Json& json, std::string_view what) {
  const std::string& text = json.get_ref<const std::string&>();
  for (size_t i = 0; i < kCount; ++i) {
    if (names[i] == text) return static_cast<int>(i);
  }
  fail(absl::StrCat("\"", text, "\" is no ", what));
}

DType dtype_from(const Json& json) {
  for (const DType dtype : kAllDTypes) {
    if (name_of(dtype) == json.get_ref<const std::string&>()) return dtype;
  }
  fail(absl::StrCat(json.dump(), " is no dtype"));
}

// A whole number of this type: Json would cut off what does not fit.
template <typename Int>
Int integer_from(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    if (std::in_range<Int>(value)) return static_cast<Int>(value);
  } else if (json.is_number_integer()) {
    const auto value = json.get<int64_t>();
    if (std::in_range<Int>(value)) return static_cast<Int>(value);
  }
  fail(absl::StrCat(json.dump(), " is no whole number of ", 8 * sizeof(Int), " bits",
                    std::is_signed_v<Int> ? "" : " without a sign"));
}

int32_t index_from(const Json& json, size_t count, std::string_view list) {
  const auto index = integer_from<int64_t>(json);
  if (index < 0 || index >= static_cast<int64_t>(count)) fail(absl::StrCat("there is no ", list, "[", index, "]"));
  return static_cast<int32_t>(index);
}

Target target_from(const Json& json) {
  Target target;
  target.adapter_class = static_cast<AdapterClass>(index_in(kClasses, json.at("adapter_class"), "adapter class"));
  // Programs written before these were known lack them.
  if (json.contains("vendor")) target.vendor = static_cast<Vendor>(index_in(kVendors, json.at("vendor"), "vendor"));
  target.architecture = architecture_named(json.value("architecture", "unknown"));
  target.units = json.value("units", target.units);
  target.dot4 = json.value("dot4", target.dot4);
  json.at("shader_f16").get_to(target.shader_f16);
  json.at("subgroups").get_to(target.subgroups);
  json.at("subgroup_size_control").get_to(target.subgroup_size_control);
  target.subgroup_min = integer_from<decltype(target.subgroup_min)>(json.at("subgroup_min"));
  target.subgroup_max = integer_from<decltype(target.subgroup_max)>(json.at("subgroup_max"));
  for (const Json& shape : json.at("matrix")) {
    if (target.matrix_count == std::size(target.matrix)) fail("too many matrix shapes");
    target.matrix[target.matrix_count++] = {dtype_from(shape.at("operand")), dtype_from(shape.at("result")),
                                            integer_from<uint8_t>(shape.at("m")), integer_from<uint8_t>(shape.at("n")),
                                            integer_from<uint8_t>(shape.at("k"))};
  }
  target.max_storage_buffers = integer_from<decltype(target.max_storage_buffers)>(json.at("max_storage_buffers"));
  target.max_invocations = integer_from<decltype(target.max_invocations)>(json.at("max_invocations"));
  target.max_workgroup_bytes = integer_from<decltype(target.max_workgroup_bytes)>(json.at("max_workgroup_bytes"));
  target.max_groups = integer_from<decltype(target.max_groups)>(json.at("max_groups"));
  target.max_immediate_bytes = integer_from<decltype(target.max_immediate_bytes)>(json.at("max_immediate_bytes"));
  target.offset_alignment = integer_from<decltype(target.offset_alignment)>(json.at("offset_alignment"));
  target.max_binding_bytes = integer_from<decltype(target.max_binding_bytes)>(json.at("max_binding_bytes"));
  if (target.offset_alignment == 0) fail("offset_alignment is 0");
  return target;
}

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  RenderedProgram read() {
    if (json_.at("rlxgpu") != kVersion) fail(absl::StrCat("version ", json_.at("rlxgpu").dump(), " is not ", kVersion));
    out_.target = target_from(json_.at("target"));
    for (const Json& scalar : json_.at("scalars")) {
      program_.scalars.push_back({name_from(scalar.at("name")), dtype_from(scalar.at("dtype")),
                                  scalar.contains("most") ? integer_from<int64_t>(scalar.at("most")) : -1});
    }
    const Range constants = words_from(json_.at("constants"));
    if (constants.count == 0) program_.words.push_back(0);  // where "constants" would be: other words are not there
    for (const Json& buffer : json_.at("buffers")) {
      BufferDecl decl;
      decl.role = role_from(buffer.at("role"));
      decl.bytes = integer_from<uint64_t>(buffer.at("bytes"));
      if (decl.role == BufferRole::constant)
        decl.words = buffer.contains("words") ? words_from(buffer.at("words")) : constants;
      program_.buffers.push_back(decl);
    }
    for (const Json& tensor : json_.at("tensors")) program_.tensors.push_back(tensor_from(tensor));
    for (const Json& port : json_.at("ports")) {
      program_.ports.push_back({role_from(port.at("role")), name_from(port.at("name")),
                                index_from(port.at("tensor"), program_.tensors.size(), "tensors")});
    }
    for (const Json& kernel : json_.at("kernels")) add_kernel(kernel);
    for (const Json& step : json_.at("steps")) add_step(step);
    return std::move(out_);
  }

 private:
  static BufferRole role_from(const Json& json) { return static_cast<BufferRole>(index_in(kRoles, json, "role")); }

  Range words_from(const Json& json) {
    const auto first = static_cast<int32_t>(program_.words.size());
    for (const Json& word : json) program_.words.push_back(integer_from<uint32_t>(word));
    return {first, static_cast<int32_t>(program_.words.size()) - first};
  }

  Range name_from(const Json& json) {
    const std::string& name = json.get_ref<const std::string&>();
    const Range range = {static_cast<int32_t>(program_.names.size()), static_cast<int32_t>(name.size())};
    program_.names << name;
    return range;
  }

  TensorDecl tensor_from(const Json& json) {
    TensorDecl tensor;
    tensor.dtype = dtype_from(json.at("dtype"));
    for (const Json& axis : json.at("shape")) {
      if (axis.is_object()) {
        tensor.shape.push_back(Dim(integer_from<int32_t>(axis.at("most")),
                                   index_from(axis.at("scalar"), program_.scalars.size(), "scalars")));
      } else {
        tensor.shape.push_back(Dim(integer_from<int32_t>(axis)));
      }
    }
    tensor.buffer = index_from(json.at("buffer"), program_.buffers.size(), "buffers");
    tensor.offset = integer_from<uint64_t>(json.at("offset"));
    tensor.bytes = integer_from<uint64_t>(json.at("bytes"));
    return tensor;
  }

  void add_kernel(const Json& json) {
    SpecPools& pools = program_.kernels;
    KernelSpec spec;
    spec.bindings.first = static_cast<int32_t>(pools.bindings.size());
    spec.immediates.first = static_cast<int32_t>(pools.immediates.size());
    for (const Json& binding : json.at("bindings")) {
      BindingType type;
      type.dtype = dtype_from(binding.at("dtype"));
      type.writes = binding.at("writes").get<bool>();
      type.raw = binding.value("raw", false);
      pools.bindings.push_back(type);
    }
    for (const Json& dtype : json.at("immediates")) pools.immediates.push_back(dtype_from(dtype));
    spec.bindings.count = static_cast<int32_t>(pools.bindings.size()) - spec.bindings.first;
    spec.immediates.count = static_cast<int32_t>(pools.immediates.size()) - spec.immediates.first;
    pools.specs.push_back(spec);
    out_.kernels.push_back(json.at("wgsl").get<std::string>());
  }

  void add_step(const Json& json) {
    Step step;
    step.kernel = index_from(json.at("kernel"), program_.kernels.specs.size(), "kernels");
    const Json& grid = json.at("grid");
    if (!grid.is_array() || grid.size() != std::size(step.grid)) fail("a grid is three numbers");
    for (size_t axis = 0; axis < grid.size(); ++axis) step.grid[axis] = integer_from<uint32_t>(grid[axis]);
    if (json.contains("grid_scalar"))
      step.grid_scalar = index_from(json.at("grid_scalar"), program_.scalars.size(), "scalars");
    step.label = name_from(json.at("label"));
    json.at("flops").get_to(step.flops);
    json.at("bytes").get_to(step.bytes);
    const Range types = program_.kernels.specs[static_cast<size_t>(step.kernel)].bindings;
    const Json& bindings = json.at("bindings");
    if (bindings.size() != static_cast<size_t>(types.count))
      fail("a step binds another number of tensors than its kernel has");
    step.bindings = {static_cast<int32_t>(program_.bindings.size()), types.count};
    for (int32_t i = 0; i < types.count; ++i) {
      program_.bindings.push_back({index_from(bindings[static_cast<size_t>(i)], program_.tensors.size(), "tensors"),
                                   program_.kernels.bindings[static_cast<size_t>(types.first + i)].writes});
    }
    step.immediates.first = static_cast<int32_t>(program_.step_immediates.size());
    for (const Json& scalar : json.at("immediates")) {
      program_.step_immediates.push_back(index_from(scalar, program_.scalars.size(), "scalars"));
      ++step.immediates.count;
    }
    program_.steps.push_back(step);
  }

  const Json& json_;
  RenderedProgram out_;
  Program& program_ = out_.program;
};

std::vector<uint32_t> words_of(const ProgramView& program, const BufferDecl& buffer) {
  const auto words = slice(program.words, buffer.words);
  std::vector<uint32_t> out(words.begin(), words.end());
  if (buffer.table.fill != nullptr) {
    out.resize(buffer.bytes / 4);
    buffer.table.fill(buffer.table.args, out);
  }
  return out;
}

}  // namespace

Json to_json(const ProgramView& program, std::span<const std::string_view> kernels) {
  Json json = {{"rlxgpu", kVersion}, {"target", target_json(program.target)}};
  for (const char* list : {"buffers", "tensors", "ports", "scalars", "kernels", "steps", "constants"})
    json[list] = Json::array();
  for (const BufferDecl& buffer : program.buffers) {
    Json entry = {{"role", text_of(kRoles[static_cast<int>(buffer.role)])}, {"bytes", buffer.bytes}};
    if (buffer.role == BufferRole::constant) {
      std::vector<uint32_t> words = words_of(program, buffer);
      const bool is_table = buffer.table.fill != nullptr || buffer.words.first > 0;
      (is_table ? entry["words"] : json["constants"]) = std::move(words);
    }
    json["buffers"].push_back(std::move(entry));
  }
  for (const TensorDecl& tensor : program.tensors) {
    json["tensors"].push_back({{"dtype", text_of(name_of(tensor.dtype))},
                               {"shape", shape_json(tensor.shape)},
                               {"buffer", tensor.buffer},
                               {"offset", tensor.offset},
                               {"bytes", tensor.bytes}});
  }
  for (const Port& port : program.ports) {
    json["ports"].push_back({{"name", text_of(program.name(port.name))},
                             {"role", text_of(kRoles[static_cast<int>(port.role)])},
                             {"tensor", port.tensor}});
  }
  for (const ScalarDecl& scalar : program.scalars) {
    Json entry = {{"name", text_of(program.name(scalar.name))}, {"dtype", text_of(name_of(scalar.dtype))}};
    if (scalar.most >= 0) entry["most"] = scalar.most;
    json["scalars"].push_back(std::move(entry));
  }
  for (size_t k = 0; k < kernels.size(); ++k)
    json["kernels"].push_back(kernel_json(program, program.kernels.specs[k], kernels[k]));
  for (const Step& step : program.steps) json["steps"].push_back(step_json(program, step));
  return json;
}

absl::StatusOr<RenderedProgram> program_from_json(const Json& json) {
  try {
    RenderedProgram stored = Reader(json).read();
    if (const Text error = check(stored.view()); !error.empty())
      return absl::InvalidArgumentError(absl::StrCat("program: ", error.view()));
    return stored;
  } catch (const std::exception& error) {  // Json's own, and fail()'s
    return absl::InvalidArgumentError(absl::StrCat("program: ", error.what()));
  }
}

}  // namespace rlxgpu::core::tools

#include "rlxgpu/load/onnx/runner.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rlxgpu/load/onnx/importer.h"
#include "rlxgpu/load/onnx/model_def.h"

namespace rlxgpu::core::onnx {
namespace {

constexpr size_t kMostCuts = 1024;  // remembered for a program

std::string text_of(std::span<const int64_t> shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }
std::string text_of(const PortDef& port) {
  return absl::StrCat("[",
                      absl::StrJoin(port.shape, ",",
                                    [](std::string* out, const PortDef::Extent& extent) {
                                      absl::StrAppend(out, extent.size >= 0        ? absl::StrCat(extent.size)
                                                           : extent.symbol.empty() ? "?"
                                                                                   : extent.symbol);
                                    }),
                      "]");
}

bool same(const HostTensor& a, const HostTensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  return (a.bytes().data() == b.bytes().data() && a.bytes().size() == b.bytes().size()) ||
         std::ranges::equal(a.bytes(), b.bytes());
}

// Of the type and rank that the model takes, and with bytes for all elements.
absl::Status check(const PortDef& port, const HostTensor& tensor) {
  const auto wrong = [&](auto... words) {
    return absl::InvalidArgumentError(absl::StrCat("input \"", port.name, "\" ", words...));
  };
  if (tensor.type() != port.type) return wrong("is ", name_of(tensor.type()), ": the model takes ", name_of(port.type));
  if (port.has_shape && tensor.shape().size() != port.shape.size()) {
    return wrong("has ", tensor.shape().size(), " axes ", text_of(tensor.shape()), ": the model takes ",
                 port.shape.size(), " ", text_of(port));
  }
  int64_t count = 1;
  for (size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    const int64_t extent = tensor.shape()[axis];
    if (extent < 0 || extent > INT32_MAX || (count *= extent) > INT32_MAX)
      return wrong("is too large: ", text_of(tensor.shape()));
    if (port.has_shape && port.shape[axis].size >= 0 && port.shape[axis].size != extent) {
      return wrong("has ", extent, " elements along axis ", axis, " of ", text_of(tensor.shape()), ": the model takes ",
                   text_of(port));
    }
  }
  if (tensor.bytes().size() != packed_bytes(tensor.type(), count)) {
    return wrong("has ", tensor.bytes().size(), " bytes: its shape ", text_of(tensor.shape()), " needs ",
                 packed_bytes(tensor.type(), count));
  }
  return absl::OkStatus();
}

}  // namespace

Buckets powers_of_two(int64_t most) {
  Buckets buckets;
  for (int64_t extent = 1; extent <= most && extent <= INT32_MAX; extent *= 2) buckets.push_back(extent);
  return buckets;
}

Result<Runner> Runner::open(const Device& device, const std::string& path, RunnerOptions options) {
  Result<ModelDef> def = read_model(path);
  if (!def.ok()) return def.status();
  return create(device, *std::move(def), std::move(options));
}

Result<Runner> Runner::open(const Device& device, std::span<const std::byte> bytes, RunnerOptions options,
                            const std::string& folder) {
  Result<ModelDef> def = read_model(bytes, folder);
  if (!def.ok()) return def.status();
  return create(device, *std::move(def), std::move(options));
}

Result<Runner> Runner::create(const Device& device, ModelDef def, RunnerOptions options) {
  if (options.most_programs == 0) return absl::InvalidArgumentError("most_programs is 0: a run needs one");
  Runner runner;
  runner.device_ = device;
  runner.def_ = std::make_shared<const ModelDef>(std::move(def));
  runner.options_ = std::move(options);
  runner.weights_ = Weights(device);
  const GraphDef& graph = runner.def_->graph;
  std::set<std::string> constants, symbols;
  for (const auto& [name, elements] : graph.constants) constants.insert(name);
  for (const PortDef& port : graph.inputs) {
    if (constants.contains(port.name)) continue;  // an initialiser that could be overridden
    if (!port.other_type.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("input \"", port.name, "\": ", port.other_type, " inputs are not supported"));
    }
    runner.inputs_.push_back(&port);
    for (const PortDef::Extent& extent : port.shape) {
      if (extent.size < 0 && !extent.symbol.empty()) symbols.insert(extent.symbol);
    }
  }
  for (auto& [name, buckets] : runner.options_.buckets) {
    if (!symbols.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("buckets for \"", name, "\": no input of the model has an extent of this name (",
                       symbols.empty() ? "there are none" : absl::StrJoin(symbols, ", "), ")"));
    }
    std::ranges::sort(buckets);
    if (buckets.empty() || buckets.front() < 1 || buckets.back() > INT32_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("buckets for \"", name, "\": ", text_of(buckets), " are not extents of at least 1"));
    }
  }
  return runner;
}

Result<Runner::Shapes> Runner::padded_shapes(const HostTensors& inputs) const {
  struct First {
    int64_t extent;
    const std::string& input;
  };
  std::map<std::string, First> sizes;
  Shapes shapes;
  for (const auto& [name, tensor] : inputs) {
    if (std::ranges::none_of(inputs_, [&](const PortDef* port) { return port->name == name; }))
      return absl::NotFoundError(absl::StrCat("the model has no input \"", name, "\""));
  }
  for (const PortDef* port : inputs_) {
    const auto given = inputs.find(port->name);
    if (given == inputs.end())
      return absl::InvalidArgumentError(absl::StrCat("input \"", port->name, "\" is not given"));
    if (absl::Status status = check(*port, given->second); !status.ok()) return status;
    std::vector<int64_t>& shape = shapes[port->name] = given->second.shape();
    for (size_t axis = 0; axis < port->shape.size(); ++axis) {
      const std::string& symbol = port->shape[axis].symbol;
      if (port->shape[axis].size >= 0 || symbol.empty()) continue;
      const First& first = sizes.emplace(symbol, First{shape[axis], port->name}).first->second;
      if (first.extent != shape[axis]) {
        return absl::InvalidArgumentError(absl::StrCat("inputs \"", first.input, "\" and \"", port->name,
                                                       "\" differ in extent \"", symbol, "\": ", first.extent, " and ",
                                                       shape[axis]));
      }
      const auto buckets = options_.buckets.find(symbol);
      if (buckets == options_.buckets.end()) continue;
      const auto bucket = std::ranges::lower_bound(buckets->second, shape[axis]);
      if (bucket == buckets->second.end()) {
        return absl::OutOfRangeError(absl::StrCat("input \"", port->name, "\" has ", shape[axis], " as extent \"",
                                                  symbol, "\": the largest bucket is ", buckets->second.back()));
      }
      shape[axis] = *bucket;
    }
    if (shape != given->second.shape() && bits_of(port->type) % 8 != 0) {
      return absl::UnimplementedError(
          absl::StrCat("input \"", port->name, "\" is ", name_of(port->type), ", which cannot be padded"));
    }
  }
  return shapes;
}

// By shapes alone, if that is enough: elements that were used would be part of the program.
Result<Model> Runner::load(const HostTensors& inputs, const std::string& weight_prefix) const {
  LoadOptions options{.weight_prefix = weight_prefix};
  for (const auto& [name, tensor] : inputs) options.shapes.emplace(name, tensor.shape());
  Result<Model> model = import_model(*def_, options);
  if (model.ok()) return model;
  for (const auto& [name, tensor] : inputs) {  // copied: the caller's bytes may go, and programs keep some
    options.given.emplace(
        name, HostTensor::of_bytes(tensor.type(), tensor.shape(), {tensor.bytes().begin(), tensor.bytes().end()}));
  }
  return import_model(*def_, options);
}

// Branches may have weights of the same name.
bool Runner::is_uploaded_otherwise(const Model& model) const {
  return std::ranges::any_of(model.parameters, [&](const Parameter& parameter) {
    const auto found = uploaded_.find(parameter.name);
    return found != uploaded_.end() && !same(found->second, parameter.elements);
  });
}

Result<Runner::Program> Runner::compile(Model model, const HostTensors& padded) {
  for (int k = 1; is_uploaded_otherwise(model); ++k) {  // by the first prefix that fits what is there
    if (k > prefixes_ + 1) return absl::InternalError("two weights of the model have the same name");
    Result<Model> renamed = load(padded, absl::StrCat("names ", k, "/"));
    if (!renamed.ok()) return renamed.status();
    model = *std::move(renamed);
    if (!is_uploaded_otherwise(model)) prefixes_ = std::max(prefixes_, k);
  }
  for (const Parameter& parameter : model.parameters) {
    if (uploaded_.contains(parameter.name)) continue;
    if (Status status = upload(parameter, weights_); !status.ok()) return status;
    uploaded_.emplace(parameter.name, parameter.elements);
    ++uploads_;
  }
  DynamicOptions options = options_.dynamic;
  options.engine.weights = weights_;
  Result<Session> session = Session::create(device_, model, options, &prepared_);
  if (!session.ok()) return session.status();
  ++compiled_;
  if (!first_bytes_) first_bytes_ = constant_bytes();
  return Program{std::move(model.inputs), std::move(model.outputs), *std::move(session)};
}

uint64_t Runner::constant_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, elements] : uploaded_) bytes += elements.bytes().size();
  for (const auto& [name, prepared] : prepared_) bytes += prepared;
  return bytes;
}

void Runner::forget() {
  programs_.clear();
  weights_ = Weights(device_);
  uploaded_.clear();
  prepared_.clear();
  first_bytes_.reset();
  prefixes_ = 0;
}

Result<Runner::Program*> Runner::find_or_compile(const HostTensors& padded) {
  const auto fits = [&](const Program& program) {
    return std::ranges::all_of(program.inputs, [&](const Port& port) {
      const HostTensor& tensor = padded.find(port.name)->second;
      return port.bound ? same(port.elements, tensor) : port.shape == tensor.shape();
    });
  };
  if (const auto found = std::ranges::find_if(programs_, fits); found != programs_.end()) {
    programs_.splice(programs_.begin(), programs_, found);
    return &programs_.front();
  }
  Result<Model> model = load(padded);
  if (!model.ok()) return model.status();
  if (programs_.size() >= options_.most_programs) {  // before the next one takes memory
    programs_.pop_back();
    if (constant_bytes() - *first_bytes_ > options_.most_constant_bytes) forget();
  }
  Result<Program> program = compile(*std::move(model), padded);
  if (!program.ok()) return program.status();
  programs_.push_front(*std::move(program));
  return &programs_.front();
}

// What the results' shapes would be without padding, from the model itself.
Result<const Runner::Shapes*> Runner::cuts_of(Program& program, const HostTensors& inputs) const {
  Shapes key, cuts;
  for (const auto& [name, tensor] : inputs) key.emplace(name, tensor.shape());
  if (const auto found = program.cuts.find(key); found != program.cuts.end()) return &found->second;
  Result<Model> exact = load(inputs);
  if (!exact.ok()) return exact.status();
  for (const Port& port : program.inputs) {
    const bool bound = exact->find_input(port.name)->bound;
    if (port.bound != bound || (bound && port.shape != key.at(port.name))) {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", port.name, "\" decides shapes, which extents with buckets do not allow here"));
    }
  }
  for (const Port& port : program.outputs) {
    const Port* wanted = exact->find_output(port.name);
    const auto uncut = [&] {
      return absl::InvalidArgumentError(
          absl::StrCat("output \"", port.name, "\" is ", wanted == nullptr ? "absent" : text_of(wanted->shape),
                       " and, with inputs padded to buckets, ", text_of(port.shape),
                       ": only an axis as long as an extent that has buckets can be cut"));
    };
    if (wanted == nullptr || wanted->shape.size() != port.shape.size()) return uncut();
    if (wanted->shape == port.shape) continue;
    if (!port.count_name.empty() || bits_of(port.type) % 8 != 0) return uncut();
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      const int64_t from = port.shape[axis], to = wanted->shape[axis];
      // As long as an extent before and after it was padded: no other sum or multiple of it is both.
      const auto is_symbol = [&](const Port& input) {
        for (size_t k = 0; k < input.shape.size(); ++k) {
          if (input.shape[k] == from && key.at(input.name)[k] == to) return true;
        }
        return false;
      };
      if (from != to && std::ranges::none_of(program.inputs, is_symbol)) return uncut();
    }
    cuts.emplace(port.name, wanted->shape);
  }
  if (program.cuts.size() >= kMostCuts) program.cuts.clear();
  return &program.cuts.emplace(std::move(key), std::move(cuts)).first->second;
}

Result<HostTensors> Runner::run(const HostTensors& inputs) {
  Result<Shapes> shapes = padded_shapes(inputs);
  if (!shapes.ok()) return shapes.status();
  HostTensors padded = inputs;
  bool changed = false;
  for (auto& [name, tensor] : padded) {
    if (tensor.shape() == shapes->at(name)) continue;
    tensor = resized(tensor, shapes->at(name));
    changed = true;
  }
  Result<Program*> found = find_or_compile(padded);
  if (!found.ok()) return found.status();
  Program& program = **found;
  const Shapes none, *cuts = &none;
  if (changed) {
    Result<const Shapes*> known = cuts_of(program, inputs);
    if (!known.ok()) return known.status();
    cuts = *known;
  }
  for (const auto& [name, tensor] : padded) {
    if (Status status = program.session.set(name, tensor); !status.ok()) return status;
  }
  if (Status status = program.session.run().wait(); !status.ok()) return status;
  HostTensors results;
  for (const Port& port : program.outputs) {
    Result<HostTensor> result = program.session.get(port.name);
    if (!result.ok()) return result.status();
    const auto cut = cuts->find(port.name);
    results.emplace(port.name, cut == cuts->end() ? *std::move(result) : resized(*result, cut->second));
  }
  return results;
}

}  // namespace rlxgpu::core::onnx

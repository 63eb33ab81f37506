// Engine::create: from a program to pipelines, buffers and bind groups.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/check_indices.h"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/engine_state.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu::core {
namespace {

using internal::EngineState;
using internal::Slice;

// Why a program for `need` cannot run on `have`.
std::string difference(const Target& need, const Target& have) {
  std::string text;
  const auto compare = [&](std::string_view what, uint64_t needed, uint64_t given, bool fine) {
    if (!fine) absl::StrAppend(&text, text.empty() ? "" : ", ", what, " ", needed, " (the device has ", given, ")");
  };
  const auto feature = [&](std::string_view what, bool needed, bool given) {
    if (needed && !given) absl::StrAppend(&text, text.empty() ? "" : ", ", what);
  };
  feature("shader-f16", need.shader_f16, have.shader_f16);
  feature("subgroups", need.subgroups, have.subgroups);
  feature("subgroup-size-control", need.subgroup_size_control, have.subgroup_size_control);
  if (need.subgroups && have.subgroups) {
    compare("subgroups of at least", need.subgroup_min, have.subgroup_min, have.subgroup_min >= need.subgroup_min);
    compare("subgroups of at most", need.subgroup_max, have.subgroup_max, have.subgroup_max <= need.subgroup_max);
  }
  compare("storage buffers", need.max_storage_buffers, have.max_storage_buffers,
          have.max_storage_buffers >= need.max_storage_buffers);
  compare("invocations", need.max_invocations, have.max_invocations, have.max_invocations >= need.max_invocations);
  compare("workgroup bytes", need.max_workgroup_bytes, have.max_workgroup_bytes,
          have.max_workgroup_bytes >= need.max_workgroup_bytes);
  compare("groups", need.max_groups, have.max_groups, have.max_groups >= need.max_groups);
  compare("immediate bytes", need.max_immediate_bytes, have.max_immediate_bytes,
          have.max_immediate_bytes >= need.max_immediate_bytes);
  compare("offset alignment", need.offset_alignment, have.offset_alignment,
          have.offset_alignment <= need.offset_alignment);
  compare("binding bytes", need.max_binding_bytes, have.max_binding_bytes,
          have.max_binding_bytes >= need.max_binding_bytes);
  return text.empty() ? "matrix shapes that the device lacks" : text;
}

// Programs may come from files. The rest is compile/'s checker and Dawn's validation.
absl::Status check_program(const ProgramView& program, size_t kernels) {
  const Text error = check_indices(program, kernels);
  if (error.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("malformed program: ", error.view()));
}

std::string_view name_of(BufferRole role) {
  constexpr std::string_view kNames[] = {"input", "output", "param", "state", "constant", "scratch"};
  return kNames[static_cast<int>(role)];
}

class Creator {
 public:
  Creator(const ProgramView& program, EngineState& engine)
      : program_(program), engine_(engine), device_(*engine.device) {}

  absl::Status create(std::span<const std::string_view> kernels, const EngineOptions& options) {
    absl::Status status = check_program(program_, kernels.size());
    if (status.ok() && options.cancelled && options.cancelled())
      return absl::CancelledError("the creation was cancelled");
    if (status.ok()) status = make_buffers();
    if (status.ok()) status = make_steps();
    if (status.ok()) status = make_pipelines(kernels, options);
    if (status.ok()) status = make_bind_groups();
    if (status.ok() && options.checker != nullptr) show_tensors();
    for (size_t i = 0; status.ok() && !options.zero_inputs && i < engine_.ports->size(); ++i) {
      const internal::EnginePort& port = (*engine_.ports)[i];
      if (port.role == BufferRole::input && port.bytes > 0) engine_.unset_inputs.push_back(static_cast<int>(i));
    }
    return status;
  }

 private:
  // The port that names a whole buffer, or null.
  const Port* port_of(size_t buffer) const {
    for (const Port& port : program_.ports) {
      const TensorDecl& tensor = program_.tensors[static_cast<size_t>(port.tensor)];
      if (port.role == program_.buffers[buffer].role && static_cast<size_t>(tensor.buffer) == buffer &&
          tensor.offset == 0)
        return &port;
    }
    return nullptr;
  }

  absl::StatusOr<Slice> make_buffer(size_t i, uint64_t all_params) {
    const BufferDecl& decl = program_.buffers[i];
    const Port* const port = port_of(i);
    const std::string_view name = port ? program_.name(port->name) : std::string_view();
    if (decl.role == BufferRole::param || decl.role == BufferRole::state) {
      if (port == nullptr)
        return absl::InvalidArgumentError(absl::StrCat("malformed program: buffer ", i, " has no port"));
      const TensorType& type = program_.tensors[static_cast<size_t>(port->tensor)];
      const auto& store = decl.role == BufferRole::param ? engine_.weights.store() : engine_.states.store();
      absl::StatusOr<Slice> slice = store->reserve(name, type, all_params);
      if (!slice.ok()) return slice;
      if (slice->bytes < decl.bytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("malformed program: buffer ", i, " is larger than its ", name_of(decl.role)));
      }
      if (decl.role == BufferRole::param && !store->is_set(name)) engine_.unset.emplace_back(name);
      return slice;
    }
    const std::string label =
        absl::StrCat(engine_.label, "/", name_of(decl.role), name.empty() ? absl::StrCat(i) : absl::StrCat("/", name));
    absl::StatusOr<Slice> made = device_.create_buffer(decl.bytes, label, internal::MemoryKind::scratch);
    if (!made.ok()) return made.status();
    engine_.device_bytes += decl.bytes;
    if (decl.role == BufferRole::constant) {
      std::vector<uint32_t> computed;
      if (decl.table.fill != nullptr) {
        computed.resize(decl.bytes / 4);
        decl.table.fill(decl.table.args, computed);
      }
      const auto words =
          std::as_bytes(computed.empty() ? slice(program_.words, decl.words) : std::span<const uint32_t>(computed));
      if (words.size() > decl.bytes)
        return absl::InvalidArgumentError("malformed program: more constants than their buffer holds");
      if (absl::Status status = device_.write(made->buffer, 0, words); !status.ok()) return status;
    }
    return made;
  }

  // All that the engine will take, before any of it is taken.
  absl::Status check_memory() {
    uint64_t weights = 0, states = 0, scratch = 0;
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const BufferDecl& decl = program_.buffers[i];
      const Port* const port = port_of(i);
      if (decl.role == BufferRole::param && port != nullptr) {
        weights += engine_.weights.store()->missing(program_.name(port->name), tensor_of(*port));
      } else if (decl.role == BufferRole::state && port != nullptr) {
        states += engine_.states.store()->missing(program_.name(port->name), tensor_of(*port));
      } else {
        scratch += internal::round_up(std::max<uint64_t>(decl.bytes, 16), 16);
      }
    }
    weights -= std::min(weights, engine_.weights.store()->room());
    return device_.check_memory(weights + states + scratch,
                                absl::StrCat("the program (weights ", weights, ", states ", states, ", scratch ",
                                             scratch, " bytes that are not there yet)"));
  }
  const TensorDecl& tensor_of(const Port& port) const { return program_.tensors[static_cast<size_t>(port.tensor)]; }

  absl::Status make_buffers() {
    uint64_t all_params = 0;
    for (const BufferDecl& decl : program_.buffers) {
      if (decl.role == BufferRole::param) all_params += internal::round_up(decl.bytes, 256);
    }
    if (absl::Status status = check_memory(); !status.ok()) return status;
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      absl::StatusOr<Slice> slice = make_buffer(i, all_params);
      if (!slice.ok()) return slice.status();
      engine_.buffers.emplace_back().slice = *std::move(slice);
    }
    std::vector<internal::EnginePort> ports;
    for (const Port& port : program_.ports) {
      const TensorDecl& tensor = tensor_of(port);
      engine_.buffers[static_cast<size_t>(tensor.buffer)].port = static_cast<int>(ports.size());
      internal::EnginePort& made = ports.emplace_back();
      made.role = port.role;
      made.name = program_.name(port.name);
      made.type = tensor;
      made.buffer = tensor.buffer;
      made.bytes = tensor.bytes;
      engine_.dynamic = engine_.dynamic || tensor.shape.dynamic();
    }
    engine_.ports = std::make_shared<const std::vector<internal::EnginePort>>(std::move(ports));
    engine_.want_small_outputs();
    for (const ScalarDecl& scalar : program_.scalars) {
      engine_.scalars.push_back({std::string(program_.name(scalar.name)), scalar.most,
                                 scalar.most >= 0 ? static_cast<uint32_t>(scalar.most) : 0});
    }
    return absl::OkStatus();
  }

  absl::Status make_steps() {
    engine_.immediates.assign(program_.step_immediates.begin(), program_.step_immediates.end());
    for (const Step& step : program_.steps) {
      internal::EngineStep& made = engine_.steps.emplace_back();
      made.kernel = step.kernel;
      std::copy(std::begin(step.grid), std::end(step.grid), made.grid);
      made.grid_scalar = step.grid_scalar;
      made.immediates = step.immediates;
      made.label = program_.name(step.label);
      made.line = step.line;
      made.flops = step.flops;
      made.bytes = step.bytes;
      for (int32_t i = 0; i < step.bindings.count; ++i) {
        const StepBinding& binding = program_.bindings[static_cast<size_t>(step.bindings.first + i)];
        const auto kernel = static_cast<size_t>(step.kernel);
        const bool known = kernel < program_.kernels.specs.size() && program_.kernels.specs[kernel].bindings.count > i;
        if (known &&
            !slice(program_.kernels.bindings, program_.kernels.specs[kernel].bindings)[static_cast<size_t>(i)].raw)
          continue;
        made.raw_bytes =
            std::max<uint64_t>(made.raw_bytes, program_.tensors[static_cast<size_t>(binding.tensor)].bytes);
      }
    }
    return absl::OkStatus();
  }

  absl::Status make_pipelines(std::span<const std::string_view> kernels, const EngineOptions& options) {
    std::vector<internal::KernelRequest> requests;  // of the kernels that steps use
    std::vector<int> request_of(kernels.size(), -1);
    engine_.signatures.resize(kernels.size());
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      internal::Signature signature{"", static_cast<uint32_t>(step.immediates.count) * 4};
      for (const StepBinding& binding : slice(program_.bindings, step.bindings))
        signature.writes += binding.writes ? 'w' : 'r';
      const size_t kernel = static_cast<size_t>(step.kernel);
      if (request_of[kernel] < 0) {
        request_of[kernel] = static_cast<int>(requests.size());
        requests.push_back({kernels[kernel], signature, std::string(program_.name(step.label))});
        engine_.signatures[kernel] = std::move(signature);
      } else if (engine_.signatures[kernel] != signature) {
        return absl::InvalidArgumentError(absl::StrCat("malformed program: step ", i, " \"", program_.name(step.label),
                                                       "\" binds kernel ", kernel,
                                                       " in another way than earlier steps"));
      }
    }
    const int total = static_cast<int>(requests.size());
    const auto told = [&](int done, std::string_view label) {
      if (options.progress) options.progress({done, total, label});
    };
    const auto pipelines = device_.pipelines.create(device_, requests, told, options.cancelled);
    if (!pipelines.ok()) return pipelines.status();
    for (internal::EngineStep& step : engine_.steps) {
      step.pipeline = (*pipelines)[static_cast<size_t>(request_of[static_cast<size_t>(step.kernel)])];
    }
    return absl::OkStatus();
  }

  absl::Status make_bind_groups() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      internal::EngineStep& step = engine_.steps[i];
      for (const StepBinding& binding : slice(program_.bindings, program_.steps[i].bindings)) {
        const TensorDecl& tensor = program_.tensors[static_cast<size_t>(binding.tensor)];
        internal::EngineBinding& made = step.bindings.emplace_back();
        made.writes = binding.writes;
        if (tensor.bytes == 0) {  // Dawn binds no empty range, and 16 bytes at its offset may belong to others
          absl::StatusOr<Slice> empty =
              device_.create_buffer(16, absl::StrCat(engine_.label, "/empty"), internal::MemoryKind::scratch);
          if (!empty.ok()) return empty.status();
          made.buffer = static_cast<int>(engine_.buffers.size());
          made.bytes = 16;
          engine_.buffers.emplace_back().slice = *std::move(empty);
          continue;
        }
        internal::EngineBuffer& buffer = engine_.buffers[static_cast<size_t>(tensor.buffer)];
        made.buffer = tensor.buffer;
        made.offset = tensor.offset;
        // Whole vectors of four words, so that kernels may read those: offsets are multiples of 16 at least.
        made.bytes = std::min(internal::round_up(tensor.bytes, 16), buffer.slice.bytes - tensor.offset);
        const Slice bound = {buffer.slice.buffer, buffer.slice.offset + tensor.offset, made.bytes, buffer.slice.lease};
        const size_t at = step.bindings.size() - 1;
        if (program_.buffers[static_cast<size_t>(tensor.buffer)].role == BufferRole::constant)
          step.constants.push_back({static_cast<uint32_t>(at), bound});
        if (binding.writes && switches().reads_steps()) {
          step.writes.push_back({tensor, bound, at});
          step.writes.back().slice.bytes = tensor.bytes;
        }
        if (buffer.port >= 0 && (buffer.steps.empty() || buffer.steps.back() != static_cast<int>(i)))
          buffer.steps.push_back(static_cast<int>(i));
      }
      if (absl::Status status = engine_.make_group(step); !status.ok()) return status;
    }
    return device_.loss_status();
  }

  void show_tensors() {
    for (const TensorDecl& tensor : program_.tensors) {
      const Slice& whole = engine_.buffers[static_cast<size_t>(tensor.buffer)].slice;
      engine_.tensors.push_back({tensor, {whole.buffer, whole.offset + tensor.offset, tensor.bytes, whole.lease}});
    }
  }

  const ProgramView& program_;
  EngineState& engine_;
  internal::DeviceState& device_;
};

}  // namespace

Result<Engine> Engine::create(const Device& device, const ProgramView& program,
                              std::span<const std::string_view> kernels, const EngineOptions& options) {
  if (!device) return device.status();
  if (absl::Status status = device.state()->loss_status(); !status.ok()) return status;
  if (!device.target().covers(program.target)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the program needs ", difference(program.target, device.target()), "; device: ", device.label()));
  }
  if (device.state()->inspect) {
    if (absl::Status status = device.state()->inspect(program, kernels); !status.ok()) return status;
  }
  auto state = std::make_shared<EngineState>();
  state->device = device.state();
  state->label = options.label.empty() ? "engine" : options.label;
  if (switches().listing)
    switches().say(absl::StrCat(state->label, ": ", absl::StripTrailingAsciiWhitespace(listing(program).view())));
  state->weights = options.weights ? options.weights : Weights(device);
  state->states = options.states ? options.states : States(device);
  if (state->weights.store()->device() != device.state() || state->states.store()->device() != device.state()) {
    return absl::InvalidArgumentError("the weights or states given are of another device");
  }
  state->checker = options.checker;
  state->verify_progress = options.verify_progress;
  if (options.verify && options.checker == nullptr) {
    switches().say(absl::StrCat(state->label,
                                ": EngineOptions::verify does nothing for a program without its graph, as the "
                                "compiler's own: Executable<G> and Executable<DynamicGraph> are verified"));
  }
  if (absl::Status status = Creator(program, *state).create(kernels, options); !status.ok()) {
    return options.label.empty() ? status
                                 : absl::Status(status.code(), absl::StrCat(options.label, ": ", status.message()));
  }
  return Engine(std::move(state));
}

}  // namespace rlxgpu::core

// Engine::bind and tensor: ports whose memory is a DeviceTensor, and the bind groups of steps.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/engine_state.h"

namespace rlxgpu::core {
namespace internal {
namespace {

constexpr size_t kGroupsKept = 8;  // of a step: for tensors that are bound in turn

bool overlap(const Slice& a, uint64_t a_offset, uint64_t a_bytes, const Slice& b, uint64_t b_offset, uint64_t b_bytes) {
  return a.offset + a_offset < b.offset + b_offset + b_bytes && b.offset + b_offset < a.offset + a_offset + a_bytes;
}

std::string name_of(const EngineState& engine, int buffer) {
  const int port = engine.buffers[static_cast<size_t>(buffer)].port;
  return port < 0 ? "the engine's own memory"
                  : absl::StrCat("\"", (*engine.ports)[static_cast<size_t>(port)].name, "\"");
}

// What is written must be nobody else's memory: a step may read the one after another has written the other.
absl::Status check_ports(const EngineState& engine) {
  const auto written = [](const EnginePort& port) {
    return port.role == BufferRole::output || port.role == BufferRole::state;
  };
  for (const EnginePort& bound : *engine.ports) {
    if (!engine.buffers[static_cast<size_t>(bound.buffer)].bound) continue;
    const Slice& slice = engine.slice_of(bound);
    for (const EnginePort& other : *engine.ports) {
      const Slice& theirs = engine.slice_of(other);
      if (&other == &bound || other.buffer == bound.buffer || slice.buffer.Get() != theirs.buffer.Get()) continue;
      if ((written(bound) || written(other)) && overlap(slice, 0, bound.bytes, theirs, 0, other.bytes)) {
        return absl::InvalidArgumentError(absl::StrCat(engine.label, ": \"", bound.name, "\" and \"", other.name,
                                                       "\" are bound to the same memory, and a run writes it: bind one "
                                                       "of them to a tensor of its own"));
      }
    }
  }
  return absl::OkStatus();
}

// WebGPU: no buffer is both read and written in one dispatch, whatever the ranges, and no range is written twice.
absl::Status check_step(const EngineState& engine, const EngineStep& step) {
  for (size_t i = 0; i < step.bindings.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const EngineBinding &a = step.bindings[i], &b = step.bindings[k];
      const Slice &ours = engine.buffers[static_cast<size_t>(a.buffer)].slice,
                  &theirs = engine.buffers[static_cast<size_t>(b.buffer)].slice;
      if (a.buffer == b.buffer || ours.buffer.Get() != theirs.buffer.Get() || (!a.writes && !b.writes)) continue;
      if (a.writes && b.writes && !overlap(ours, a.offset, a.bytes, theirs, b.offset, b.bytes)) continue;
      const EngineBinding &writer = a.writes ? a : b, &reader = a.writes ? b : a;
      return absl::InvalidArgumentError(absl::StrCat(
          engine.label, ": ", name_of(engine, reader.buffer), " and ", name_of(engine, writer.buffer),
          " are bound to one buffer, and step \"", step.label, "\" ", reader.writes ? "writes" : "reads",
          " the first and writes the second, which WebGPU forbids: bind one of them to a tensor of its own"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EngineState::make_group(EngineStep& step) {
  EngineStep::Key key;
  for (const EngineBinding& binding : step.bindings) {
    const EngineBuffer& buffer = buffers[static_cast<size_t>(binding.buffer)];
    if (buffer.port >= 0) key.emplace_back(buffer.slice.buffer.Get(), buffer.slice.offset);
  }
  for (WrittenTensor& written : step.writes) {
    const EngineBinding& binding = step.bindings[written.binding];
    const Slice& slice = buffers[static_cast<size_t>(binding.buffer)].slice;
    written.slice = {slice.buffer, slice.offset + binding.offset, written.slice.bytes, slice.lease};
  }
  const auto known =
      std::find_if(step.groups.begin(), step.groups.end(), [&](const auto& group) { return group.first == key; });
  if (known != step.groups.end()) {
    std::rotate(known, known + 1, step.groups.end());
    step.group = step.groups.back().second;
    return absl::OkStatus();
  }
  const auto layout = device->pipelines.layout(*device, signatures[static_cast<size_t>(step.kernel)]);
  if (!layout.ok()) return layout.status();
  std::vector<wgpu::BindGroupEntry> entries;
  for (const EngineBinding& binding : step.bindings) {
    const Slice& slice = buffers[static_cast<size_t>(binding.buffer)].slice;
    wgpu::BindGroupEntry& entry = entries.emplace_back();
    entry.binding = static_cast<uint32_t>(entries.size() - 1);
    entry.buffer = slice.buffer;
    entry.offset = slice.offset + binding.offset;
    entry.size = binding.bytes;
  }
  ErrorCapture errors(*device);
  wgpu::BindGroupDescriptor descriptor{};
  descriptor.label = std::string_view(step.label);
  descriptor.layout = layout->group;
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  const wgpu::BindGroup group = device->device.CreateBindGroup(&descriptor);
  if (absl::Status status = errors.status(absl::StrCat("step \"", step.label, "\"")); !status.ok()) return status;
  ++groups_made;
  step.group = group;
  if (step.groups.size() == kGroupsKept) step.groups.erase(step.groups.begin());
  step.groups.emplace_back(std::move(key), group);
  return absl::OkStatus();
}

absl::Status EngineState::refresh() {
  if (stale.empty()) return absl::OkStatus();
  if (absl::Status status = check_ports(*this); !status.ok()) return status;
  for (const int step : stale) {
    if (absl::Status status = check_step(*this, steps[static_cast<size_t>(step)]); !status.ok()) return status;
  }
  for (const int step : stale) {
    if (absl::Status status = make_group(steps[static_cast<size_t>(step)]); !status.ok()) return status;
  }
  stale.clear();
  return absl::OkStatus();
}

}  // namespace internal

using internal::no_engine;

Status Engine::bind(int port, const DeviceTensor& tensor) {
  if (!state_) return no_engine();
  internal::EngineState& engine = *state_;
  if (port < 0 || static_cast<size_t>(port) >= engine.ports->size())
    return absl::InvalidArgumentError(
        absl::StrCat(engine.label, ": no port ", port, ", there are ", engine.ports->size()));
  const internal::EnginePort& of = (*engine.ports)[static_cast<size_t>(port)];
  const auto wrong = [&](auto... why) {
    return absl::InvalidArgumentError(absl::StrCat(engine.label, ": bind \"", of.name, "\": ", why...));
  };
  if (!tensor) return wrong("an empty DeviceTensor");
  const internal::TensorState& given = *tensor.state();
  if (given.device != engine.device) return wrong("the tensor is of another device");
  if (!internal::same_type(given.type, of.type))
    return wrong("given ", internal::text_of(given.type), ", needed ", internal::text_of(of.type));
  if (const uint32_t step = engine.device->target.offset_alignment; given.slice.offset % step != 0)
    return wrong("the tensor begins at byte ", given.slice.offset, " of its buffer, which is no multiple of ", step);
  if (const uint64_t room = internal::round_up(std::max<uint64_t>(of.bytes, 16), 16); given.slice.bytes < room) {
    return wrong("the tensor has room for ", given.slice.bytes, " bytes; kernels want ", room, ", whole vectors of 16");
  }
  if ((given.slice.buffer.GetUsage() & wgpu::BufferUsage::Storage) == wgpu::BufferUsage::None)
    return wrong("the buffer lacks the usage Storage");
  internal::EngineBuffer& buffer = engine.buffers[static_cast<size_t>(of.buffer)];
  if (of.role == BufferRole::param) std::erase(engine.unset, of.name);
  engine.last_run = nullptr;  // what it copied may be of other memory
  const bool same = buffer.slice.buffer.Get() == given.slice.buffer.Get() && buffer.slice.offset == given.slice.offset;
  if (!buffer.bound && (of.role == BufferRole::input || of.role == BufferRole::output))
    engine.device_bytes -=
        std::min(engine.device_bytes, buffer.slice.bytes);  // its own memory goes, unless it has a handle
  std::erase(engine.unset_inputs, port);
  buffer.slice = given.slice;
  buffer.bound = true;
  if (same) return absl::OkStatus();
  for (const int step : buffer.steps) {
    if (std::find(engine.stale.begin(), engine.stale.end(), step) == engine.stale.end()) engine.stale.push_back(step);
  }
  return absl::OkStatus();
}

Result<DeviceTensor> Engine::tensor(int port) const {
  if (!state_) return no_engine();
  if (port < 0 || static_cast<size_t>(port) >= state_->ports->size())
    return absl::InvalidArgumentError(
        absl::StrCat(state_->label, ": no port ", port, ", there are ", state_->ports->size()));
  std::erase(state_->unset_inputs, port);  // whoever has the handle may write
  const internal::EnginePort& of = (*state_->ports)[static_cast<size_t>(port)];
  TensorType type = of.type;
  for (int axis = 0; axis < type.shape.rank(); ++axis) type.shape.set(axis, Dim(type.shape[axis]));  // at its largest
  return internal::tensor_of(state_->device, type, state_->slice_of(of));
}

bool Engine::is_bound(int port) const {
  return state_ && port >= 0 && static_cast<size_t>(port) < state_->ports->size() &&
         state_->buffers[static_cast<size_t>((*state_->ports)[static_cast<size_t>(port)].buffer)].bound;
}

uint64_t Engine::bind_groups_made() const { return state_ ? state_->groups_made : 0; }

}  // namespace rlxgpu::core

// Engine::profile and Engine::warm_up.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/engine_state.h"

namespace rlxgpu::core {
namespace internal {
namespace {

constexpr size_t kStepsPerSet = 2048;  // a query set holds 4096 timestamps

absl::Status time_some_steps(EngineState& engine, size_t first, size_t count, std::span<uint64_t> stamps) {
  DeviceState& device = *engine.device;
  ErrorCapture errors(device);
  wgpu::QuerySetDescriptor set_descriptor{};
  set_descriptor.type = wgpu::QueryType::Timestamp;
  set_descriptor.count = static_cast<uint32_t>(2 * count);
  const wgpu::QuerySet set = device.device.CreateQuerySet(&set_descriptor);
  wgpu::BufferDescriptor buffer_descriptor{};
  buffer_descriptor.label = "timestamps";
  buffer_descriptor.size = 16 * count;
  buffer_descriptor.usage = wgpu::BufferUsage::QueryResolve | wgpu::BufferUsage::CopySrc;
  const wgpu::Buffer resolved = device.device.CreateBuffer(&buffer_descriptor);
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder();
  for (size_t i = 0; i < count; ++i) {
    wgpu::PassTimestampWrites writes{};
    writes.querySet = set;
    writes.beginningOfPassWriteIndex = static_cast<uint32_t>(2 * i);
    writes.endOfPassWriteIndex = static_cast<uint32_t>(2 * i + 1);
    wgpu::ComputePassDescriptor descriptor{};
    descriptor.timestampWrites = &writes;
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass(&descriptor);
    engine.dispatch(pass, engine.steps[first + i]);
    pass.End();
  }
  encoder.ResolveQuerySet(set, 0, static_cast<uint32_t>(2 * count), resolved, 0);
  const wgpu::CommandBuffer commands = encoder.Finish();
  if (absl::Status status = errors.status(engine.label); !status.ok()) return status;
  device.submit(commands);
  if (absl::Status status = errors.status(engine.label); !status.ok()) return status;
  return device.read(resolved, 0, std::as_writable_bytes(stamps));
}

}  // namespace

absl::Status time_steps(EngineState& engine, size_t first, size_t count, std::vector<uint64_t>& stamps) {
  if (!engine.device->timestamps) {
    return absl::UnimplementedError(absl::StrCat("no timestamps on this adapter: ", engine.device->adapter.label()));
  }
  const size_t known = stamps.size();
  stamps.resize(known + 2 * count);
  for (size_t done = 0; done < count; done += kStepsPerSet) {
    const size_t some = std::min(kStepsPerSet, count - done);
    const std::span<uint64_t> place(stamps.data() + known + 2 * done, 2 * some);
    if (absl::Status status = time_some_steps(engine, first + done, some, place); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace internal

namespace {
using internal::EngineState;
using internal::EngineStep;
}  // namespace

Result<std::vector<StepProfile>> Engine::profile() {
  if (!state_) return absl::FailedPreconditionError("an empty Engine: use Engine::create()");
  EngineState& engine = *state_;
  if (absl::Status status = engine.check(); !status.ok()) return status;
  if (absl::Status status = engine.refresh(); !status.ok()) return status;
  engine.last_run = nullptr;  // outputs are of this run now
  engine.ran = true;
  std::vector<uint64_t> stamps;
  if (absl::Status status = internal::time_steps(engine, 0, engine.steps.size(), stamps); !status.ok()) return status;
  std::vector<StepProfile> profiles;
  for (size_t i = 0; i < engine.steps.size(); ++i) {
    const EngineStep& step = engine.steps[i];
    const uint64_t begin = stamps[2 * i], end = stamps[2 * i + 1];
    profiles.push_back({step.label, end > begin ? 1e-9 * static_cast<double>(end - begin) : 0, step.flops, step.bytes, step.line});
  }
  return profiles;
}

Status Engine::warm_up(const ProgressCallback& progress) {
  if (!state_) return absl::FailedPreconditionError("an empty Engine: use Engine::create()");
  EngineState& engine = *state_;
  internal::DeviceState& device = *engine.device;
  std::vector<const EngineStep*> firsts;  // one step of each kernel
  std::vector<bool> seen(engine.signatures.size());
  size_t most_bindings = 0;
  for (const EngineStep& step : engine.steps) {
    if (seen[static_cast<size_t>(step.kernel)]) continue;
    seen[static_cast<size_t>(step.kernel)] = true;
    firsts.push_back(&step);
    most_bindings = std::max(most_bindings, engine.signatures[static_cast<size_t>(step.kernel)].writes.size());
  }
  // Small buffers of its own, one for each binding: Dawn keeps kernels inside them, whatever they index. Kernels that
  // state their buffers' sizes need larger ones.
  std::vector<wgpu::BindGroupEntry> entries(most_bindings);
  std::vector<internal::Slice> held(most_bindings);
  uint64_t size = 0;
  std::ranges::sort(firsts, {}, &EngineStep::raw_bytes);
  for (size_t i = 0; i < firsts.size(); ++i) {
    const uint64_t needed = std::max<uint64_t>(65536, internal::round_up(firsts[i]->raw_bytes, 16));
    for (size_t k = 0; needed > size && k < most_bindings; ++k) {
      absl::StatusOr<internal::Slice> buffer = device.create_buffer(needed, "warm-up", internal::MemoryKind::scratch);
      if (!buffer.ok()) return buffer.status();
      entries[k].binding = static_cast<uint32_t>(k);
      entries[k].buffer = buffer->buffer;
      held[k] = *std::move(buffer);
    }
    size = std::max(size, needed);
    const internal::Signature& signature = engine.signatures[static_cast<size_t>(firsts[i]->kernel)];
    const auto layout = device.pipelines.layout(device, signature);
    if (!layout.ok()) return layout.status();
    internal::ErrorCapture errors(device);
    wgpu::BindGroupDescriptor descriptor{};
    descriptor.layout = layout->group;
    descriptor.entryCount = signature.writes.size();
    // Constants are bound as they are: a kernel may walk in steps of a size, and a step of 0 never ends.
    std::vector<wgpu::BindGroupEntry> bound = entries;
    for (const auto& [binding, slice] : firsts[i]->constants) {
      bound[binding].buffer = slice.buffer, bound[binding].offset = slice.offset, bound[binding].size = slice.bytes;
    }
    descriptor.entries = bound.data();
    const wgpu::BindGroup group = device.device.CreateBindGroup(&descriptor);
    const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder();
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
    pass.SetPipeline(firsts[i]->pipeline);
    pass.SetBindGroup(0, group);
    const std::vector<uint32_t> zeros(signature.immediate_bytes / 4);
    if (!zeros.empty()) pass.SetImmediates(0, zeros.data(), signature.immediate_bytes);
    pass.DispatchWorkgroups(1);
    pass.End();
    const wgpu::CommandBuffer commands = encoder.Finish();
    device.submit(commands);
    if (absl::Status status = errors.status(absl::StrCat("warm-up of \"", firsts[i]->label, "\"")); !status.ok())
      return status;
    if (absl::Status status = Device(engine.device).wait_idle(); !status.ok()) return status;
    if (progress) progress({static_cast<int>(i + 1), static_cast<int>(firsts.size()), firsts[i]->label});
  }
  return absl::OkStatus();
}

}  // namespace rlxgpu::core

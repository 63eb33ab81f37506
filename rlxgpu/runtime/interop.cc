#include "rlxgpu/runtime/interop.h"

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/runtime/tensor_state.h"
#include "rlxgpu/runtime/tuning_file.h"

namespace rlxgpu::core {

Result<Device> Device::adopt(const wgpu::Device& device, const wgpu::Queue& queue, const DeviceOptions& options) {
  if (!device || !queue) return absl::InvalidArgumentError("adopt: a null device or queue");
  auto state = std::make_shared<internal::DeviceState>();
  state->adopted = true;
  state->device = device;
  state->queue = queue;
  state->instance = device.GetAdapter().GetInstance();
  state->adapter = internal::describe(device);
  state->target = state->adapter.target;
  state->max_buffer_bytes = state->adapter.max_buffer_bytes;
  state->timestamps = state->adapter.timestamps;
  state->synchronised = device.HasFeature(wgpu::FeatureName::ImplicitDeviceSynchronization);
  state->memory = std::make_shared<internal::MemoryLedger>(options.memory_limit);
  state->set_log(options.log);
  state->inspect = options.inspect;
  if (options.tuning && switches().tuning) state->tuning_path = tuning_path(options.cache_dir);
  // An instance does not tell its features: one without TimedWaitAny fails a wait that has a time.
  const wgpu::Future idle =
      queue.OnSubmittedWorkDone(wgpu::CallbackMode::WaitAnyOnly, [](wgpu::QueueWorkDoneStatus, wgpu::StringView) {});
  state->timed_waits = state->instance.WaitAny(idle, UINT64_MAX) != wgpu::WaitStatus::Error;
  if (absl::Status lost = state->loss_status(); !lost.ok()) return lost;
  return Device(std::move(state));
}

Result<DeviceTensor> wrap(const Device& device, const wgpu::Buffer& buffer, DType dtype, const Shape& shape,
                          uint64_t offset) {
  if (!device) return absl::FailedPreconditionError("no device: use open_device() or Device::adopt()");
  if (!buffer) return absl::InvalidArgumentError("wrap: a null buffer");
  if (absl::Status status = internal::check_shape(shape); !status.ok()) return status;
  const TensorType type{dtype, shape};
  const uint64_t bytes = storage_bytes(dtype, shape.count()), size = buffer.GetSize();
  if (offset % 4 != 0)
    return absl::InvalidArgumentError(absl::StrCat("wrap: an offset of ", offset, " bytes, which is no multiple of 4"));
  if (offset > size || bytes > size - offset) {
    return absl::InvalidArgumentError(absl::StrCat("wrap: ", internal::text_of(type), " takes ", bytes,
                                                   " bytes; the buffer has ", size, ", from ", offset, " on"));
  }
  return internal::tensor_of(device.state(), type, {buffer, offset, size - offset, nullptr});
}

BufferRange buffer_of(const DeviceTensor& tensor) {
  if (!tensor) return {};
  const internal::TensorState& state = *tensor.state();
  return {state.slice.buffer, state.slice.offset, storage_bytes(state.type.dtype, state.type.shape.count())};
}

wgpu::Device native_device(const Device& device) { return device ? device.state()->device : nullptr; }
wgpu::Queue native_queue(const Device& device) { return device ? device.state()->queue : nullptr; }
wgpu::Instance native_instance(const Device& device) { return device ? device.state()->instance : nullptr; }

}  // namespace rlxgpu::core

#include "rlxgpu/runtime/device.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"

namespace rlxgpu::core {
namespace internal {

DeviceState::~DeviceState() {
  done_thread->stop();
  pipelines.clear();
  for (const Staging& staging : free_staging) memory->give_back(MemoryKind::staging, staging.bytes);
  free_staging.clear();
  queue = nullptr;
  if (device && !adopted) device.Destroy();
  device = nullptr;
  instance = nullptr;
}

absl::Status DeviceState::loss_status() {
  const auto use = guard();
  if (adopted && !lost && instance.WaitAny(device.GetLostFuture(), 0) == wgpu::WaitStatus::Success) {
    const std::lock_guard lock(mutex);
    loss = absl::UnavailableError("the adopted device is lost");
    lost = true;
  }
  if (!lost) return absl::OkStatus();
  const std::lock_guard lock(mutex);
  return loss;
}

wgpu::WaitStatus DeviceState::wait_any(std::span<wgpu::FutureWaitInfo> waits, uint64_t nanoseconds) {
  const auto lock = guard();
  if (timed_waits) return instance.WaitAny(waits.size(), waits.data(), nanoseconds);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const wgpu::WaitStatus waited = instance.WaitAny(waits.size(), waits.data(), 0);
    const auto passed = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin);
    if (waited != wgpu::WaitStatus::TimedOut || passed.count() >= static_cast<double>(nanoseconds)) return waited;
    device.Tick();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

absl::Status DeviceState::wait(wgpu::Future future, uint64_t nanoseconds) {
  wgpu::FutureWaitInfo wait{future, false};
  const wgpu::WaitStatus waited = wait_any({&wait, 1}, nanoseconds);
  if (waited == wgpu::WaitStatus::Success) return absl::OkStatus();
  if (absl::Status status = loss_status(); !status.ok()) return status;
  if (waited == wgpu::WaitStatus::TimedOut)
    return absl::DeadlineExceededError("the device is not done after the time that was given");
  return absl::InternalError("Dawn's WaitAny failed");
}

void DeviceState::submit(const wgpu::CommandBuffer& commands) {
  ++submits;
  queue.Submit(1, &commands);
}

}  // namespace internal

const AdapterInfo& Device::adapter() const {
  static const AdapterInfo* const none = new AdapterInfo;
  return state_ ? state_->adapter : *none;
}

const Target& Device::target() const { return state_ ? state_->target : kPortable; }

std::string Device::label() const { return state_ ? state_->adapter.label() : "no device"; }

Status Device::status() const {
  if (!state_) return absl::FailedPreconditionError("no device: use open_device()");
  const std::lock_guard lock(state_->mutex);
  return state_->loss.ok() ? state_->unclaimed : state_->loss;
}

Status Device::wait_idle() const {
  if (absl::Status status = this->status(); !status.ok()) return status;
  const absl::Status waited = state_->wait(state_->queue.OnSubmittedWorkDone(
      wgpu::CallbackMode::WaitAnyOnly, [](wgpu::QueueWorkDoneStatus, wgpu::StringView) {}));
  return waited.ok() ? status() : Status(waited);
}

MemoryUse Device::memory() const { return state_ ? state_->memory->use() : MemoryUse(); }

void Device::destroy() const {
  if (state_) state_->device.Destroy();
}

}  // namespace rlxgpu::core

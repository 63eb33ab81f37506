#include "rlxgpu/runtime/submission.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace rlxgpu::core::internal {

Submission::~Submission() {
  if (!staging.buffer) return;
  staging.buffer.Unmap();  // ends a pending map, too; copies already submitted stay in order with later ones
  device->give_back(std::move(staging));
}

void Submission::watch(uint64_t mapped) {
  completion = std::make_shared<Completion>();
  const auto finish = [completion = completion](bool ok, std::string_view text) {
    completion->finish(ok ? absl::OkStatus() : absl::AbortedError(text));
  };
  // AllowProcessEvents, so that work that nobody waits for is forgotten by Dawn as well.
  constexpr auto kMode = wgpu::CallbackMode::AllowProcessEvents;
  if (staging.buffer) {
    future = staging.buffer.MapAsync(wgpu::MapMode::Read, 0, round_up(mapped, 8), kMode,
                                     [finish](wgpu::MapAsyncStatus status, wgpu::StringView text) {
                                       finish(status == wgpu::MapAsyncStatus::Success, text);
                                     });
  } else {
    future =
        device->queue.OnSubmittedWorkDone(kMode, [finish](wgpu::QueueWorkDoneStatus status, wgpu::StringView text) {
          finish(status == wgpu::QueueWorkDoneStatus::Success, text);
        });
  }
}

bool Submission::ready() {
  if (!submitted.ok() || !completion) return true;
  if (!completion->done()) {
    const auto lock = device->guard();
    device->instance.ProcessEvents();
  }
  return completion->done();
}

absl::Status Submission::wait(uint64_t nanoseconds) {
  if (!submitted.ok() || !completion) return submitted;
  if (!completion->done()) {
    if (absl::Status status = device->wait(future, nanoseconds); !status.ok()) return status;
  }
  const absl::Status status = completion->status();
  if (status.ok()) return status;
  const absl::Status lost = device->loss_status();
  return lost.ok() ? status : lost;
}

absl::Status Submission::copy_out(uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return absl::OkStatus();
  const void* const memory = staging.buffer.GetConstMappedRange(offset, round_up(out.size(), 4));
  if (memory == nullptr) {
    const absl::Status lost = device->loss_status();
    return lost.ok() ? absl::InternalError("the staging buffer is not mapped") : lost;
  }
  std::memcpy(out.data(), memory, out.size());
  return absl::OkStatus();
}

uint64_t nanoseconds_of(double seconds) {
  if (!(seconds > 0)) return 0;
  return seconds >= 1e9 ? UINT64_MAX : static_cast<uint64_t>(seconds * 1e9);
}

}  // namespace rlxgpu::core::internal

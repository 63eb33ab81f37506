#include "rlxgpu/runtime/creation.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "rlxgpu/runtime/device_state.h"

namespace rlxgpu::core::internal {

struct Background::State {
  std::atomic<bool> cancelled = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;          // guarded by mutex
  Status status;              // guarded by mutex
  CreationProgress progress;  // guarded by mutex
  std::thread thread;
};

Background::Background(const Device& device, EngineOptions options, std::function<Status(const EngineOptions&)> work)
    : state_(std::make_shared<State>()) {
  if (device && !device.state()->synchronised) {
    state_->done = true;
    state_->status = absl::FailedPreconditionError(
        "create_async uses another thread, for which the adopted device needs the feature "
        "implicit-device-synchronization");
    return;
  }
  options.progress = [state = state_.get(), told = std::move(options.progress)](const Progress& progress) {
    {
      const std::lock_guard lock(state->mutex);
      state->progress = {progress.done, progress.total, std::string(progress.label)};
    }
    if (told) told(progress);
  };
  options.cancelled = [state = state_.get(), asked = std::move(options.cancelled)] {
    return state->cancelled || (asked && asked());
  };
  state_->thread = std::thread([state = state_.get(), options = std::move(options), work = std::move(work)] {
    Status status = work(options);
    const std::lock_guard lock(state->mutex);
    state->status = std::move(status);
    state->done = true;
    state->changed.notify_all();
  });
}

Background::~Background() {
  cancel();
  if (state_->thread.joinable()) state_->thread.join();
}

Status Background::wait(double seconds) {
  std::unique_lock lock(state_->mutex);
  const auto done = [this] { return state_->done; };
  if (seconds < 0) {
    state_->changed.wait(lock, done);
  } else if (!state_->changed.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 1e9)), done)) {
    return absl::DeadlineExceededError("the creation is not done after the time that was given");
  }
  return state_->status;
}

bool Background::ready() {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

void Background::cancel() { state_->cancelled = true; }

CreationProgress Background::progress() {
  const std::lock_guard lock(state_->mutex);
  return state_->progress;
}

Status no_creation() { return absl::FailedPreconditionError("an empty Creation: use Executable::create_async()"); }
Status creation_was_taken() { return absl::FailedPreconditionError("what this Creation made was taken already"); }

}  // namespace rlxgpu::core::internal

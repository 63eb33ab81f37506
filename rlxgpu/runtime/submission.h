// Submission: work that the device has been given, and perhaps memory into which it copies results for the host.
// What Run and Transfer are handles of. Internal to runtime/.
//
//   auto submission = std::make_shared<Submission>(device);
//   submission->staging = *device->take_staging(bytes);       // only when something is to be read
//   ... encode, copy to staging, submit ...
//   submission->watch(bytes);
//   submission->wait();   submission->copy_out(0, out);
#ifndef RLXGPU_RUNTIME_SUBMISSION_H_
#define RLXGPU_RUNTIME_SUBMISSION_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "rlxgpu/runtime/device_state.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core::internal {

// Shared with a callback of Dawn, which may come when the submission is long forgotten.
class Completion {
 public:
  void finish(absl::Status status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    done_ = true;
    changed_.notify_all();
  }
  bool done() const { return done_; }
  // After Dawn said that the future is complete: another thread may still be inside the callback.
  absl::Status status() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::seconds(10), [this] { return done(); })) return status_;
    return absl::InternalError("Dawn completed a run without calling back");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> done_ = false;
  absl::Status status_;
};

struct Submission {
  explicit Submission(std::shared_ptr<DeviceState> of) : device(std::move(of)) {}
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // After the submit: completes when all that was submitted so far is done. `mapped`: bytes of staging to map.
  void watch(uint64_t mapped);
  bool ready();
  // Why it failed, if it did; DeadlineExceeded after so many nanoseconds.
  absl::Status wait(uint64_t nanoseconds = UINT64_MAX);
  // Copies what was mapped; only after wait().
  absl::Status copy_out(uint64_t offset, std::span<std::byte> out) const;

  std::shared_ptr<DeviceState> device;  // first: outlives every Dawn object below; null when there never was one
  absl::Status submitted;               // why it never came to a submit
  wgpu::Future future;
  std::shared_ptr<Completion> completion;  // null before watch()
  Staging staging;
};

// Nanoseconds of a number of seconds that may be anything.
uint64_t nanoseconds_of(double seconds);

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_SUBMISSION_H_

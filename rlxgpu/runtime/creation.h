// Creation<T>: a T, such as an Executable, that is being made on a thread of its own.
//
//   Creation<Executable<Mlp>> creation = Executable<Mlp>::create_async(device);
//   while (!creation.wait_for(0.1).ok()) show(creation.progress().done, creation.progress().total);
//   Result<Executable<Mlp>> mlp = creation.get();
//
// The slow part is Dawn's compilation of kernels. cancel() ends it before the next kernel; get() is then Cancelled. A
// Creation that is dropped is cancelled and waited for. Move-only; thread-compatible, but cancel() may be called from
// any thread while the Creation lives.
#ifndef RLXGPU_RUNTIME_CREATION_H_
#define RLXGPU_RUNTIME_CREATION_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

struct CreationProgress {
  int done = 0, total = 0;  // kernels; 0 of 0 while the program is being planned
  std::string label;        // of the last one
};

namespace internal {

// The part that does not know the type.
class Background {
 public:
  // Runs `work` on a new thread with these options, whose progress and cancelled also tell and ask this object.
  Background(const Device& device, EngineOptions options, std::function<Status(const EngineOptions&)> work);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  Status wait(double seconds);  // of the work; DeadlineExceeded when it is not done by then. Below 0: for ever
  bool ready();
  void cancel();
  CreationProgress progress();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

Status no_creation();
Status creation_was_taken();

}  // namespace internal

template <typename T>
class Creation {
 public:
  Creation() = default;  // none
  // `make` is called on another thread, once.
  Creation(const Device& device, EngineOptions options, std::function<Result<T>(const EngineOptions&)> make)
      : made_(std::make_shared<std::unique_ptr<T>>()),
        background_(std::make_unique<internal::Background>(
            device, std::move(options), [made = made_, make = std::move(make)](const EngineOptions& with) -> Status {
              Result<T> result = make(with);
              if (!result.ok()) return result.status();
              *made = std::make_unique<T>(*std::move(result));
              return {};
            })) {}

  bool ready() const { return !background_ || background_->ready(); }
  Status wait() const { return background_ ? background_->wait(-1) : internal::no_creation(); }
  Status wait_for(double seconds) const {
    return background_ ? background_->wait(seconds < 0 ? 0 : seconds) : internal::no_creation();
  }
  CreationProgress progress() const { return background_ ? background_->progress() : CreationProgress(); }
  void cancel() const {
    if (background_) background_->cancel();
  }
  // Waits; what was made, once, or why it was not.
  Result<T> get() {
    if (Status status = wait(); !status.ok()) return status;
    if (*made_ == nullptr) return internal::creation_was_taken();
    const std::unique_ptr<T> made = std::move(*made_);
    return std::move(*made);
  }

 private:
  std::shared_ptr<std::unique_ptr<T>> made_;
  std::unique_ptr<internal::Background> background_;  // last: its thread writes what is above
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Creation, core::CreationProgress;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_CREATION_H_

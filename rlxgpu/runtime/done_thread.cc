#include "rlxgpu/runtime/done_thread.h"

#include <utility>

#include "rlxgpu/runtime/submission.h"

namespace rlxgpu::core::internal {

void DoneThread::add(std::shared_ptr<Submission> submission, std::function<void(const Status&)> on_done) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  waiting_.push_back({std::move(submission), std::move(on_done)});
  if (!thread_.joinable()) thread_ = std::thread([self = shared_from_this()] { self->work(); });
  changed_.notify_all();
}

void DoneThread::work() {
  for (;;) {
    Waiting next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const Status status = next.submission->wait();
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    next.on_done(status);
  }  // what `next` held may be the last of the device, which stops this thread from within
}

void DoneThread::stop() {
  std::deque<Waiting> dropped;  // destroyed without the lock: they may hold the last of other things
  std::thread ended;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
    ended = std::move(thread_);
    changed_.notify_all();
  }
  if (!ended.joinable()) return;
  if (ended.get_id() == std::this_thread::get_id()) {
    ended.detach();
  } else {
    ended.join();
  }
}

}  // namespace rlxgpu::core::internal

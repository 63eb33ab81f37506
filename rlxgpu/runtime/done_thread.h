// DoneThread: the thread of a device that calls RunOptions::on_done. Internal to runtime/.
//
// It starts with the first run that asks for it, and calls one after the other, in the order of submissions. A
// submission that waits here keeps its device, so that the device goes only when all have been called.
#ifndef RLXGPU_RUNTIME_DONE_THREAD_H_
#define RLXGPU_RUNTIME_DONE_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::internal {

struct Submission;

class DoneThread : public std::enable_shared_from_this<DoneThread> {
 public:
  void add(std::shared_ptr<Submission> submission, std::function<void(const Status&)> on_done);
  // Calls no more, and returns when the thread has ended; from the thread itself, it ends afterwards.
  void stop();

 private:
  struct Waiting {
    std::shared_ptr<Submission> submission;
    std::function<void(const Status&)> on_done;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_DONE_THREAD_H_

// EngineState and RunState: what Engine and Run are handles of. Internal to runtime/.
#ifndef RLXGPU_RUNTIME_ENGINE_STATE_H_
#define RLXGPU_RUNTIME_ENGINE_STATE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/tensor_store.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::internal {

// Shared with a callback of Dawn, which may come when the run is long forgotten.
class Completion {
 public:
  void finish(absl::Status status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    done_ = true;
    changed_.notify_all();
  }
  bool done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  // After Dawn said that the future is complete: another thread may still be inside the callback.
  absl::Status status() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::seconds(10), [this] { return done_; })) return status_;
    return absl::InternalError("Dawn completed a run without calling back");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  absl::Status status_;
};

// A tensor that a step writes, for switches that look at it.
struct WrittenTensor {
  TensorType type;
  Slice slice;
};

struct EngineStep {
  int kernel = -1;
  wgpu::ComputePipeline pipeline;
  wgpu::BindGroup group;
  uint32_t grid[3] = {1, 1, 1};
  int grid_scalar = -1;
  Range immediates;  // of EngineState::immediates
  std::string label;
  uint32_t line = 0;
  double flops = 0, bytes = 0;
  uint64_t raw_bytes = 0;  // of the largest buffer that the kernel declares itself, perhaps with its size
  std::vector<std::pair<uint32_t, Slice>> constants;  // by binding
  std::vector<WrittenTensor> writes;  // empty unless Switches::reads_steps()
};

struct EngineState;

// Looks at a run's steps, one by one, and says in the end what was wrong. See verify.h.
class StepChecker {
 public:
  virtual ~StepChecker() = default;
  virtual void begin_run(EngineState& engine) = 0;
  virtual absl::Status before_step(EngineState& engine, size_t step) = 0;
  virtual absl::Status after_step(EngineState& engine, size_t step) = 0;
  virtual absl::Status end_run(EngineState& engine) = 0;  // DataLoss: the first step that is wrong
  virtual const std::vector<StepVerdict>& verdicts() const = 0;
};

struct EnginePort {
  BufferRole role = BufferRole::input;
  std::string name;
  TensorType type;
  Slice slice;               // of the tensor: bytes is what its elements take
  uint64_t read_offset = 0;  // outputs: where RunOptions::read puts it in the staging buffer
};

struct EngineScalar {
  std::string name;
  int64_t most = -1;
  uint32_t word = 0;
};

struct EngineState {
  std::shared_ptr<DeviceState> device;  // first: outlives every Dawn object below
  std::string label;
  Weights weights;
  States states;
  std::vector<std::string> unset;  // params that may still have no data

  std::vector<EngineStep> steps;
  std::vector<EnginePort> ports;
  std::vector<EngineScalar> scalars;
  std::vector<int32_t> immediates;    // scalar indices
  std::vector<Signature> signatures;  // of kernels
  uint64_t device_bytes = 0;
  std::shared_ptr<StepChecker> checker;  // null: runs are not verified
  std::vector<WrittenTensor> tensors;    // of the program, for the checker
  ProgressCallback verify_progress;

  absl::Status last;  // of run(): why the last one was not submitted
  struct InFlight {
    wgpu::Future future;
    std::shared_ptr<Completion> completion;
  };
  std::deque<InFlight> in_flight;

  // Staging buffers for RunOptions::read, all of one size; returned by runs that may end on any thread.
  uint64_t read_bytes = 0;
  std::mutex staging_mutex;
  std::vector<wgpu::Buffer> free_staging;

  // Ok, or why a run cannot start.
  absl::Status check();
  uint32_t groups_x(const EngineStep& step) const;
  void dispatch(const wgpu::ComputePassEncoder& pass, const EngineStep& step) const;
};

// Runs steps [first, first + count), each in a pass of its own, and waits. Appends two times for each, in nanoseconds.
absl::Status time_steps(EngineState& engine, size_t first, size_t count, std::vector<uint64_t>& stamps);

// Runs all steps as the switches say: one by one, timed, looked at. Waits.
absl::Status run_apart(EngineState& engine);

struct RunState {
  std::shared_ptr<EngineState> engine;  // null when the run never started
  absl::Status submitted;
  wgpu::Future future;
  std::shared_ptr<Completion> completion;
  wgpu::Buffer staging;  // of runs with RunOptions::read

  ~RunState();
  absl::Status wait();
};

}  // namespace rlxgpu::internal

#endif  // RLXGPU_RUNTIME_ENGINE_STATE_H_

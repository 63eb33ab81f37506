// EngineState and RunState: what Engine and Run are handles of. Internal to runtime/.
#ifndef RLXGPU_RUNTIME_ENGINE_STATE_H_
#define RLXGPU_RUNTIME_ENGINE_STATE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/submission.h"
#include "rlxgpu/runtime/tensor_store.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core::internal {

// A tensor that a step writes, for switches that look at it.
struct WrittenTensor {
  TensorType type;
  Slice slice;
  size_t binding = 0;  // of the step
};

// A range of one of the engine's buffers. With the buffer, it may move when another tensor is bound.
struct EngineBinding {
  int buffer = -1;
  uint64_t offset = 0, bytes = 0;
  bool writes = false;
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
  std::vector<EngineBinding> bindings;
  std::vector<std::pair<uint32_t, Slice>> constants;  // by binding
  std::vector<WrittenTensor> writes;                  // empty unless Switches::reads_steps()

  // Bind groups for what was bound lately, the last used one last, by the ports' buffers and offsets.
  using Key = std::vector<std::pair<WGPUBuffer, uint64_t>>;
  std::vector<std::pair<Key, wgpu::BindGroup>> groups;
};

struct EngineBuffer {
  Slice slice;
  int port = -1;           // whose memory it is
  bool bound = false;      // by Engine::bind
  std::vector<int> steps;  // of ports: those that use it
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
  int buffer = -1;
  uint64_t bytes = 0;  // what its elements take
};

// Where a run's outputs lie in its staging buffer.
struct ReadLayout {
  std::vector<int64_t> offsets;  // by port; -1: not copied
  uint64_t bytes = 0;
};

struct EngineScalar {
  std::string name;
  int64_t most = -1;
  uint32_t word = 0;
};

struct RunState : Submission {
  using Submission::Submission;
  std::shared_ptr<const std::vector<EnginePort>> ports;
  std::shared_ptr<const ReadLayout> layout;  // null: nothing was copied
  std::vector<uint32_t> extents;             // scalars' words, of programs with run-time extents
  std::vector<bool> read;                    // by port: get_output has asked for it

  absl::Status get(size_t port, std::span<std::byte> out);  // waits; all elements of an output
};

struct EngineState {
  std::shared_ptr<DeviceState> device;  // first: outlives every Dawn object below
  std::string label;
  Weights weights;
  States states;
  std::vector<std::string> unset;  // params that may still have no data
  std::vector<int> unset_inputs;   // ports that were never set or bound, nor their memory given away

  std::vector<EngineStep> steps;
  std::vector<EngineBuffer> buffers;
  std::shared_ptr<const std::vector<EnginePort>> ports;
  std::vector<EngineScalar> scalars;
  std::vector<int32_t> immediates;    // scalar indices
  std::vector<Signature> signatures;  // of kernels
  std::vector<int> stale;             // steps whose bind group is of what was bound before
  uint64_t device_bytes = 0, groups_made = 0;
  bool dynamic = false;  // some port has a run-time extent
  std::shared_ptr<StepChecker> checker;  // null: runs are not verified
  std::vector<WrittenTensor> tensors;    // of the program, for the checker
  ProgressCallback verify_progress;

  bool ran = false;                    // or was recorded: outputs mean something
  absl::Status last;                   // of run(): why the last one was not submitted
  std::shared_ptr<RunState> last_run;  // what get_output reads, if it was copied
  std::deque<std::shared_ptr<RunState>> in_flight;

  // Which outputs the next run copies aside unasked. An output is wanted when it is small or was read after a run,
  // until a few runs in a row go unread.
  std::vector<uint8_t> wanted;  // by port: so many more runs
  std::shared_ptr<const ReadLayout> wanted_layout, whole_layout;

  const Slice& slice_of(const EnginePort& port) const { return buffers[static_cast<size_t>(port.buffer)].slice; }
  // Ok, or why a run cannot start.
  absl::Status check();
  absl::Status check_inputs() const;
  // Makes bind groups for what has been bound since the last time.
  absl::Status refresh();
  absl::Status make_group(EngineStep& step);
  std::shared_ptr<const ReadLayout> layout_of(bool all) const;
  void want(size_t port);
  void want_small_outputs();
  uint32_t groups_x(const EngineStep& step) const;
  void dispatch(const wgpu::ComputePassEncoder& pass, const EngineStep& step) const;
};

inline absl::Status no_engine() { return absl::FailedPreconditionError("an empty Engine: use Engine::create()"); }

// Runs steps [first, first + count), each in a pass of its own, and waits. Appends two times for each, in nanoseconds.
absl::Status time_steps(EngineState& engine, size_t first, size_t count, std::vector<uint64_t>& stamps);

// Runs all steps as the switches say: one by one, timed, looked at. Waits.
absl::Status run_by_step(EngineState& engine);

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_ENGINE_STATE_H_

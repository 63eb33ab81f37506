// Engine: a program on a device, with its pipelines, buffers and bind groups made once. Runs it again and again.
//
//   Result<Engine> engine = Engine::create(device, program, kernel_texts, {.weights = weights});
//   engine->set_input(x, bytes);   engine->run();   engine->get_output(y, out);
//
// create() is the slow part: Dawn compiles every kernel, all at once. run() encodes and submits (about 1 us
// for a step) and does not wait. Inputs and scalars are taken when run() is called, so the next ones may be
// set while earlier runs are in flight. Ports and scalars are indices into the program's. The program and
// the texts may go after create(). Move-only; thread-compatible; engines of one device may run in
// different threads. See device.h for lifetimes: there is nothing to get wrong.
#ifndef RLXGPU_RUNTIME_ENGINE_H_
#define RLXGPU_RUNTIME_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/program.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/run.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/weights.h"

namespace wgpu {
class CommandEncoder;
}

namespace rlxgpu::core {

namespace internal {
struct EngineState;
class StepChecker;
}  // namespace internal

struct Progress {
  int done = 0, total = 0;  // kernels
  std::string_view label;   // of the last one
};
using ProgressCallback = std::function<void(const Progress&)>;  // called on the thread that waits

struct EngineOptions {
  std::string label = {};  // in Dawn's messages
  Weights weights = {};    // shared with other engines; when none, the engine makes its own
  States states = {};      // likewise
  ProgressCallback progress = {};
  bool as_written = false;   // where a graph is planned: its ops as they are, no layers recognised (kernels/recognised.h)
  bool zero_inputs = false;  // inputs that were never set are zero; else they are an error of the run
  bool verify = false;       // compare every step of every run with what it stands for: slow (verify.h, RLXGPU_VERIFY)
  ProgressCallback verify_progress = {};                // steps, while a run is verified
  std::shared_ptr<internal::StepChecker> checker = {};  // what does it: made with the program, where there is a graph
  std::function<bool()> cancelled = {};  // asked before every kernel: true ends the creation with Cancelled
};

struct RunOptions {
  bool read = false;  // copy all outputs aside, in the same submit, for Run::get
  // Called when the run is done, or failed, on a thread of the device's own, for one run after the other. A run that
  // could not be submitted calls before run() returns.
  std::function<void(const Status&)> on_done = {};
};

namespace internal {
// A run that never came to a submit; options.on_done is called at once.
Run failed_run(const Status& why, const RunOptions& options);
}  // namespace internal

struct StepProfile {
  std::string label;
  double seconds = 0;           // on the device
  double flops = 0, bytes = 0;  // what the algorithm needs
  uint32_t line = 0;            // where the user wrote it; of a model from a file, its node
};

// What a verified run found about the steps that one group of ops became.
struct StepVerdict {
  enum class Kind : uint8_t { right, wrong, unverified };
  Kind kind = Kind::right;
  int step = 0;          // the first of them
  std::string label;     // of the kernel that computes it
  std::string call;      // "matmul f32[8,64] f32[64,16] -> f32[8,16] +add"
  std::string against;   // what it was compared with: "matmul/plain", "the reference"
  std::string findings;  // of a wrong one: how many elements, the first of them; of an unverified one: why
  std::string way_out;   // of a wrong one: the switch that avoids it, or ""
  int64_t unsure = 0;    // elements that a rounding may turn into something else
  uint32_t line = 0;     // as in StepProfile
  std::string file;      // of that line; "": a model's
  std::string text() const;
};

class Engine {
 public:
  Engine() = default;  // no engine: every use of it is a FailedPrecondition
  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = default;

  // `kernels[k]` is the WGSL of kernel k. Fails when the device does not cover the program's target, when a weight
  // has another type than the program needs, or when Dawn rejects a kernel: the message has all of Dawn's.
  static Result<Engine> create(const Device& device, const ProgramView& program,
                               std::span<const std::string_view> kernels, const EngineOptions& options = {});

  // All elements of the input, or fewer when its shape has a run-time extent. Copied at once.
  Status set_input(int port, std::span<const std::byte> data);
  // The scalar's 32 bits. At first run-time extents are at their largest and other scalars are 0.
  Status set_scalar(int scalar, uint32_t word);

  // Submits one run. Never blocks, except that at most 128 runs are in flight. What goes wrong is in the Run, and in
  // the next get_output().
  Run run(const RunOptions& options = {});
  // A run that is not submitted, for this reason: what a run after a failed set is. get_output() says so, too, until
  // the next run.
  Run fail(const Status& why, const RunOptions& options = {});

  // An output (or any other port) as the last run left it; waits. Runs copy small outputs, and those that were read
  // after earlier runs, aside in their own submit; another one is read by a submit of its own. Before any run an
  // output that is not bound is a FailedPrecondition.
  Status get_output(int port, std::span<std::byte> out);

  // From now on the port is this memory; nothing is copied. The tensor has the port's type and shape (run-time extents
  // at their largest) and is kept while it is bound. Of an input or output, memory of the engine's own is freed; of a
  // weight or state, only this engine leaves the shared one. Tensors may be bound in turn: bind groups are kept for
  // some of them. One buffer that a step would both read and write is an error of the next run.
  Status bind(int port, const DeviceTensor& tensor);
  bool is_bound(int port) const;
  uint64_t bind_groups_made() const;  // so far
  // A handle to the memory that the port has now.
  Result<DeviceTensor> tensor(int port) const;

  // Records one run into an encoder of the caller's (interop.h), who submits it to the device's queue. Scalars are
  // taken now; inputs are what their memory holds when the commands are executed. The engine, and what is bound to it,
  // stay as they are until the submit.
  Status encode(const wgpu::CommandEncoder& encoder);

  // Runs once with a timestamp around every step, and waits. A run like any other: states change. Inputs that were
  // never set are zero. Unimplemented when the device has no timestamps.
  Result<std::vector<StepProfile>> profile();

  // Dispatches every kernel once on memory of its own, since software drivers compile at the first dispatch.
  Status warm_up(const ProgressCallback& progress = {});

  // Of the last run, in the order of steps; empty unless EngineOptions::verify or RLXGPU_VERIFY.
  std::vector<StepVerdict> verdicts() const;

  Weights weights() const;
  States states() const;
  Device device() const;
  uint64_t device_bytes() const;  // of the engine's own buffers, without weights and states

  explicit Engine(std::shared_ptr<internal::EngineState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<internal::EngineState> state_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Engine, core::EngineOptions, core::Progress, core::ProgressCallback, core::RunOptions, core::StepProfile,
    core::StepVerdict;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_ENGINE_H_

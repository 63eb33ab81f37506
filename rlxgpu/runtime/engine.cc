#include "rlxgpu/runtime/engine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/engine_state.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu {
namespace internal {
namespace {

constexpr size_t kMostInFlight = 64;  // then run() waits for the oldest: a loop that never waits stays bounded

void forget_completed(EngineState& engine) {
  while (!engine.in_flight.empty() && engine.in_flight.front().completion->done()) engine.in_flight.pop_front();
}

absl::StatusOr<wgpu::Buffer> take_staging(EngineState& engine) {
  {
    const std::lock_guard lock(engine.staging_mutex);
    if (!engine.free_staging.empty()) {
      wgpu::Buffer buffer = std::move(engine.free_staging.back());
      engine.free_staging.pop_back();
      return buffer;
    }
  }
  if (engine.read_bytes > engine.device->max_buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the outputs take ", engine.read_bytes,
                                                     " bytes, this device allows ", engine.device->max_buffer_bytes,
                                                     " in one buffer: use Engine::get_output"));
  }
  ErrorCapture errors;
  wgpu::BufferDescriptor descriptor{};
  descriptor.label = "staging";
  descriptor.size = engine.read_bytes;
  descriptor.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst;
  wgpu::Buffer buffer = engine.device->device.CreateBuffer(&descriptor);
  if (absl::Status status = errors.status("staging buffer"); !status.ok()) return status;
  return buffer;
}

void report_dispatches(const EngineState& engine) {
  int dispatches = 0;
  uint64_t groups = 0;
  for (const EngineStep& step : engine.steps) {
    const uint64_t x = engine.groups_x(step);
    dispatches += x > 0;
    groups += x * step.grid[1] * step.grid[2];
  }
  switches().say(absl::StrCat("run of ", engine.label, ": ", dispatches, " dispatches, ", groups, " workgroups"));
}

absl::Status submit(EngineState& engine, const RunOptions& options, RunState& run) {
  if (absl::Status status = engine.check(); !status.ok()) return status;
  DeviceState& device = *engine.device;
  const bool apart = switches().runs_apart() || engine.checker != nullptr;
  if (apart) {
    if (absl::Status status = run_apart(engine); !status.ok()) return status;
  }
  if (switches().dispatches) report_dispatches(engine);
  if (options.read && engine.read_bytes > 0 && !switches().no_read_back) {
    absl::StatusOr<wgpu::Buffer> staging = take_staging(engine);
    if (!staging.ok()) return staging.status();
    run.staging = *std::move(staging);
  }

  ErrorCapture errors;
  wgpu::CommandEncoderDescriptor descriptor{};
  descriptor.label = std::string_view(engine.label);
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder(&descriptor);
  if (!apart) {
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
    for (const EngineStep& step : engine.steps) engine.dispatch(pass, step);
    pass.End();
  }
  if (run.staging) {
    for (const EnginePort& port : engine.ports) {
      if (port.role != BufferRole::output || port.slice.bytes == 0) continue;
      encoder.CopyBufferToBuffer(port.slice.buffer, port.slice.offset, run.staging, port.read_offset,
                                 round_up(port.slice.bytes, 4));
    }
  }
  const wgpu::CommandBuffer commands = encoder.Finish();
  if (absl::Status status = errors.status(engine.label); !status.ok()) return status;
  device.queue.Submit(1, &commands);
  if (absl::Status status = errors.status(engine.label); !status.ok()) return status;

  // AllowProcessEvents, so that a run that nobody waits for is forgotten by Dawn as well.
  run.completion = std::make_shared<Completion>();
  const auto finish = [completion = run.completion](bool ok, absl::StatusCode code, std::string_view text) {
    completion->finish(ok ? absl::OkStatus() : absl::Status(code, text));
  };
  if (run.staging) {
    run.future =
        run.staging.MapAsync(wgpu::MapMode::Read, 0, engine.read_bytes, wgpu::CallbackMode::AllowProcessEvents,
                             [finish](wgpu::MapAsyncStatus status, wgpu::StringView text) {
                               finish(status == wgpu::MapAsyncStatus::Success, absl::StatusCode::kAborted, text);
                             });
  } else {
    run.future = device.queue.OnSubmittedWorkDone(
        wgpu::CallbackMode::AllowProcessEvents, [finish](wgpu::QueueWorkDoneStatus status, wgpu::StringView text) {
          finish(status == wgpu::QueueWorkDoneStatus::Success, absl::StatusCode::kAborted, text);
        });
  }
  engine.in_flight.push_back({run.future, run.completion});
  forget_completed(engine);
  if (engine.in_flight.size() > 4) {
    device.instance.ProcessEvents();
    forget_completed(engine);
  }
  if (engine.in_flight.size() > kMostInFlight) return device.wait(engine.in_flight.front().future);
  return absl::OkStatus();
}

}  // namespace

absl::Status EngineState::check() {
  if (absl::Status status = device->loss_status(); !status.ok()) return status;
  while (!unset.empty() && weights.store()->is_set(unset.back())) unset.pop_back();
  if (unset.empty()) return absl::OkStatus();
  std::erase_if(unset, [&](const std::string& name) { return weights.store()->is_set(name); });
  return absl::FailedPreconditionError(
      absl::StrCat(label, ": param \"", unset.front(), "\" was never set",
                   unset.size() > 1 ? absl::StrCat(", nor were ", unset.size() - 1, " others") : std::string()));
}

uint32_t EngineState::groups_x(const EngineStep& step) const {
  if (step.grid_scalar < 0) return step.grid[0];
  const EngineScalar& scalar = scalars[static_cast<size_t>(step.grid_scalar)];
  if (scalar.most <= 0) return step.grid[0];
  const uint64_t most = static_cast<uint64_t>(scalar.most);
  return static_cast<uint32_t>((uint64_t{step.grid[0]} * scalar.word + most - 1) / most);
}

void EngineState::dispatch(const wgpu::ComputePassEncoder& pass, const EngineStep& step) const {
  const uint32_t x = groups_x(step);
  if (x == 0) return;
  pass.SetPipeline(step.pipeline);
  pass.SetBindGroup(0, step.group);
  if (step.immediates.count > 0) {
    uint32_t words[64];  // far above WebGPU's limit of 64 bytes
    const size_t count = std::min<size_t>(static_cast<size_t>(step.immediates.count), std::size(words));
    for (size_t i = 0; i < count; ++i) {
      words[i] = scalars[static_cast<size_t>(immediates[static_cast<size_t>(step.immediates.first) + i])].word;
    }
    pass.SetImmediates(0, words, 4 * count);
  }
  pass.DispatchWorkgroups(x, step.grid[1], step.grid[2]);
}

}  // namespace internal

namespace {

using internal::EngineState;

absl::Status no_engine() { return absl::FailedPreconditionError("an empty Engine: use Engine::create()"); }

absl::StatusOr<const internal::EnginePort*> find_port(const EngineState& engine, int port) {
  if (port < 0 || static_cast<size_t>(port) >= engine.ports.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(engine.label, ": no port ", port, ", there are ", engine.ports.size()));
  }
  return &engine.ports[static_cast<size_t>(port)];
}

}  // namespace

Status Engine::set_input(int port, std::span<const std::byte> data) {
  if (!state_) return no_engine();
  const auto found = find_port(*state_, port);
  if (!found.ok()) return found.status();
  const internal::EnginePort& input = **found;
  if (input.role != BufferRole::input) {
    return absl::InvalidArgumentError(absl::StrCat(state_->label, ": port \"", input.name, "\" is no input"));
  }
  if (!input.type.shape.dynamic() || data.size() > input.slice.bytes) {
    const absl::Status fits =
        internal::check_bytes(absl::StrCat(state_->label, ": input \"", input.name, "\""), input.type, data.size());
    if (!fits.ok()) return fits;
  }
  return state_->device->write(input.slice.buffer, input.slice.offset, data);
}

Status Engine::set_scalar(int scalar, uint32_t word) {
  if (!state_) return no_engine();
  if (scalar < 0 || static_cast<size_t>(scalar) >= state_->scalars.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(state_->label, ": no scalar ", scalar, ", there are ", state_->scalars.size()));
  }
  internal::EngineScalar& found = state_->scalars[static_cast<size_t>(scalar)];
  if (found.most >= 0 && word > found.most) {
    return absl::OutOfRangeError(absl::StrCat(state_->label, ": extent \"", found.name, "\": given ",
                                              static_cast<int32_t>(word), ", built for 0 to ", found.most));
  }
  found.word = word;
  return absl::OkStatus();
}

Run Engine::run(const RunOptions& options) {
  auto run = std::make_shared<internal::RunState>();
  if (!state_) {
    run->submitted = no_engine();
    return Run(std::move(run));
  }
  run->engine = state_;
  run->submitted = internal::submit(*state_, options, *run);
  state_->last = run->submitted;
  return Run(std::move(run));
}

Status Engine::get_output(int port, std::span<std::byte> out) {
  if (!state_) return no_engine();
  if (!state_->last.ok()) return state_->last;
  const auto found = find_port(*state_, port);
  if (!found.ok()) return found.status();
  const internal::EnginePort& output = **found;
  const absl::Status fits =
      internal::check_bytes(absl::StrCat(state_->label, ": port \"", output.name, "\""), output.type, out.size());
  if (!fits.ok()) return fits;
  if (switches().no_read_back) {
    std::fill(out.begin(), out.end(), std::byte{0});
    return Device(state_->device).wait_idle();
  }
  return state_->device->read(output.slice.buffer, output.slice.offset, out);
}

std::string StepVerdict::text() const {
  std::string text = absl::StrCat("step ", step, ", ", label,
                                  kind == Kind::wrong        ? ", is wrong: "
                                  : kind == Kind::unverified ? ", was not verified: "
                                                             : ", is right: ",
                                  call);
  if (!findings.empty()) absl::StrAppend(&text, ": ", findings);
  if (!against.empty()) absl::StrAppend(&text, " (by ", against, ")");
  if (!file.empty()) absl::StrAppend(&text, ", ", file, ":", line);
  if (!way_out.empty()) absl::StrAppend(&text, "; ", way_out, " avoids it");
  return text;
}

std::vector<StepVerdict> Engine::verdicts() const {
  return state_ && state_->checker ? state_->checker->verdicts() : std::vector<StepVerdict>();
}
Weights Engine::weights() const { return state_ ? state_->weights : Weights(); }
States Engine::states() const { return state_ ? state_->states : States(); }
Device Engine::device() const { return state_ ? Device(state_->device) : Device(); }
uint64_t Engine::device_bytes() const { return state_ ? state_->device_bytes : 0; }

}  // namespace rlxgpu

#include "rlxgpu/runtime/engine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/engine_state.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu::core {
namespace internal {
namespace {

constexpr size_t kMostInFlight = 128;  // then run() waits for the oldest: a loop that never waits stays bounded
constexpr size_t kBetweenEvents = 16;  // runs between looks at what is done
// Outputs that are copied before anybody has asked for them, and those that are copied only a few times in vain; larger
// ones than the last are read apart, piece by piece.
constexpr uint64_t kSmall = uint64_t{64} << 10, kLarge = uint64_t{1} << 20, kMostWanted = uint64_t{32} << 20;
constexpr uint8_t kPatience = 8, kPatienceWithLarge = 2;  // runs that copy an output which nobody reads

void forget_completed(EngineState& engine) {
  std::erase_if(engine.in_flight, [](const std::shared_ptr<RunState>& run) { return run->completion->done(); });
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

void record(EngineState& engine, const wgpu::CommandEncoder& encoder) {
  const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
  for (const EngineStep& step : engine.steps) engine.dispatch(pass, step);
  pass.End();
}

// What the last run copied for nobody is copied a few times more.
void count_unread(EngineState& engine) {
  if (!engine.last_run || !engine.last_run->layout) return;
  bool changed = false;
  for (size_t i = 0; i < engine.wanted.size(); ++i) {
    if (engine.wanted[i] == 0 || engine.last_run->read[i] || engine.last_run->layout->offsets[i] < 0) continue;
    changed = --engine.wanted[i] == 0 || changed;
  }
  if (changed) engine.wanted_layout = nullptr;
}

absl::Status submit(EngineState& engine, const RunOptions& options, const std::shared_ptr<RunState>& run) {
  if (absl::Status status = engine.check(); !status.ok()) return status;
  if (absl::Status status = engine.check_inputs(); !status.ok()) return status;
  if (absl::Status status = engine.refresh(); !status.ok()) return status;
  DeviceState& device = *engine.device;
  if (options.on_done && !device.synchronised) {
    return absl::FailedPreconditionError(
        absl::StrCat(engine.label,
                     ": on_done is called on another thread, for which the adopted device needs the feature "
                     "implicit-device-synchronization"));
  }
  const bool apart = switches().runs_by_step() || engine.checker != nullptr;
  if (apart) {
    if (absl::Status status = run_by_step(engine); !status.ok()) return status;
  }
  if (switches().dispatches) report_dispatches(engine);
  forget_completed(engine);  // their staging buffers are used again
  count_unread(engine);
  std::shared_ptr<const ReadLayout>& layout = options.read ? engine.whole_layout : engine.wanted_layout;
  if (layout == nullptr) layout = engine.layout_of(options.read);
  if (layout->bytes > 0 && !switches().no_read_back) {
    absl::StatusOr<Staging> staging = device.take_staging(layout->bytes);
    if (staging.ok()) {
      run->staging = *std::move(staging);
      run->layout = layout;
      run->read.resize(engine.ports->size());
    } else if (options.read) {
      return staging.status();
    }
  }

  ErrorCapture errors(device);
  wgpu::CommandEncoderDescriptor descriptor{};
  descriptor.label = std::string_view(engine.label);
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder(&descriptor);
  if (!apart) record(engine, encoder);
  for (size_t i = 0; run->layout && i < engine.ports->size(); ++i) {
    if (run->layout->offsets[i] < 0) continue;
    const EnginePort& port = (*engine.ports)[i];
    const Slice& slice = engine.slice_of(port);
    encoder.CopyBufferToBuffer(slice.buffer, slice.offset, run->staging.buffer,
                               static_cast<uint64_t>(run->layout->offsets[i]), round_up(port.bytes, 4));
  }
  const wgpu::CommandBuffer commands = encoder.Finish();
  if (absl::Status status = errors.status(engine.label); !status.ok()) return status;
  device.submit(commands);
  if (absl::Status status = errors.status(engine.label); !status.ok()) return status;
  run->watch(run->layout ? run->layout->bytes : 0);

  engine.in_flight.push_back(run);
  // Not with every run, since Dawn looks at all that are in flight, unless much memory may be free again.
  if (engine.in_flight.size() % kBetweenEvents == 0 || (run->layout && run->layout->bytes > kLarge)) {
    const auto lock = device.guard();
    device.instance.ProcessEvents();
    forget_completed(engine);
  }
  if (engine.in_flight.size() > kMostInFlight) return device.wait(engine.in_flight.front()->future);
  return absl::OkStatus();
}

}  // namespace

std::shared_ptr<const ReadLayout> EngineState::layout_of(bool all) const {
  auto layout = std::make_shared<ReadLayout>();
  layout->offsets.assign(ports->size(), -1);
  for (size_t i = 0; i < ports->size(); ++i) {
    const EnginePort& port = (*ports)[i];
    if (port.role != BufferRole::output || port.bytes == 0 || !(all || wanted[i] > 0)) continue;
    if (!all && layout->bytes + port.bytes > kMostWanted) continue;
    layout->offsets[i] = static_cast<int64_t>(layout->bytes);
    layout->bytes += round_up(port.bytes, 8);
  }
  return layout;
}

void EngineState::want(size_t port) {
  if ((*ports)[port].role != BufferRole::output || (*ports)[port].bytes > kMostWanted) return;
  if (wanted[port] == 0) wanted_layout = nullptr;
  wanted[port] = (*ports)[port].bytes > kLarge ? kPatienceWithLarge : kPatience;
}

void EngineState::want_small_outputs() {
  wanted.assign(ports->size(), 0);
  for (size_t i = 0; i < ports->size(); ++i) {
    if ((*ports)[i].bytes <= kSmall) want(i);
  }
}

absl::Status EngineState::check() {
  if (absl::Status status = device->loss_status(); !status.ok()) return status;
  while (!unset.empty() && weights.store()->is_set(unset.back())) unset.pop_back();
  if (unset.empty()) return absl::OkStatus();
  std::erase_if(unset, [&](const std::string& name) { return weights.store()->is_set(name); });
  return absl::FailedPreconditionError(
      absl::StrCat(label, ": param \"", unset.front(), "\" was never set",
                   unset.size() > 1 ? absl::StrCat(", nor were ", unset.size() - 1, " others") : std::string()));
}

absl::Status EngineState::check_inputs() const {
  if (unset_inputs.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      label, ": input \"", (*ports)[static_cast<size_t>(unset_inputs.front())].name, "\" was never set",
      unset_inputs.size() > 1 ? absl::StrCat(", nor were ", unset_inputs.size() - 1, " others") : std::string(),
      "; with EngineOptions::zero_inputs it would be zero"));
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
using internal::no_engine;

absl::StatusOr<const internal::EnginePort*> find_port(const EngineState& engine, int port) {
  if (port < 0 || static_cast<size_t>(port) >= engine.ports->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(engine.label, ": no port ", port, ", there are ", engine.ports->size()));
  }
  return &(*engine.ports)[static_cast<size_t>(port)];
}

}  // namespace

Status Engine::set_input(int port, std::span<const std::byte> data) {
  if (!state_) return no_engine();
  const auto found = find_port(*state_, port);
  if (!found.ok()) return found.status();
  const internal::EnginePort& input = **found;
  if (input.role != BufferRole::input && !is_bound(port)) {
    return absl::InvalidArgumentError(absl::StrCat(state_->label, ": port \"", input.name, "\" is no input"));
  }
  if (!input.type.shape.dynamic() || data.size() > input.bytes) {
    const absl::Status fits =
        internal::check_bytes(absl::StrCat(state_->label, ": input \"", input.name, "\""), input.type, data.size());
    if (!fits.ok()) return fits;
  }
  const internal::Slice& slice = state_->slice_of(input);
  if (absl::Status status = state_->device->write(slice.buffer, slice.offset, data); !status.ok()) return status;
  std::erase(state_->unset_inputs, port);
  return absl::OkStatus();
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

Run internal::failed_run(const Status& why, const RunOptions& options) {
  auto run = std::make_shared<RunState>(nullptr);
  run->submitted = why;
  if (options.on_done) options.on_done(why);
  return Run(std::move(run));
}

Run Engine::fail(const Status& why, const RunOptions& options) {
  if (!state_) return internal::failed_run(no_engine(), options);
  state_->last = why;
  state_->last_run = nullptr;
  return internal::failed_run(why, options);
}

Run Engine::run(const RunOptions& options) {
  if (!state_) return internal::failed_run(no_engine(), options);
  auto run = std::make_shared<internal::RunState>(state_->device);
  run->ports = state_->ports;
  for (const internal::EngineScalar& scalar : state_->scalars) {
    if (state_->dynamic) run->extents.push_back(scalar.word);
  }
  run->submitted = internal::submit(*state_, options, run);
  state_->last = run->submitted;
  state_->last_run = run;
  state_->ran = state_->ran || run->submitted.ok();
  if (options.on_done && run->submitted.ok()) {
    run->device->done_thread->add(run, options.on_done);
  } else if (options.on_done) {
    options.on_done(run->submitted);
  }
  return Run(std::move(run));
}

Status Engine::encode(const wgpu::CommandEncoder& encoder) {
  if (!state_) return no_engine();
  if (absl::Status status = state_->check(); !status.ok()) return status;
  if (absl::Status status = state_->check_inputs(); !status.ok()) return status;
  if (absl::Status status = state_->refresh(); !status.ok()) return status;
  state_->last = absl::OkStatus();
  state_->last_run = nullptr;
  state_->ran = true;
  internal::record(*state_, encoder);
  return absl::OkStatus();
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
  if (output.role == BufferRole::output && !state_->ran && !is_bound(port)) {
    return absl::FailedPreconditionError(
        absl::StrCat(state_->label, ": output \"", output.name, "\" is read before any run"));
  }
  if (switches().no_read_back) {
    std::fill(out.begin(), out.end(), std::byte{0});
    return Device(state_->device).wait_idle();
  }
  const auto i = static_cast<size_t>(port);
  state_->want(i);
  if (state_->last_run && state_->last_run->layout && state_->last_run->layout->offsets[i] >= 0) {
    state_->last_run->read[i] = true;
    return state_->last_run->get(i, out);
  }
  const internal::Slice& slice = state_->slice_of(output);
  return state_->device->read(slice.buffer, slice.offset, out);
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

}  // namespace rlxgpu::core

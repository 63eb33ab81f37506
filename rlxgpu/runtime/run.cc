#include "rlxgpu/runtime/run.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/engine_state.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu {
namespace internal {

RunState::~RunState() {
  if (!staging) return;
  staging.Unmap();  // ends a pending map, too; copies already submitted stay in order with later ones
  if (engine->device->lost) return;
  const std::lock_guard lock(engine->staging_mutex);
  engine->free_staging.push_back(std::move(staging));
}

absl::Status RunState::wait() {
  if (!submitted.ok()) return submitted;
  if (!completion->done()) {
    if (absl::Status status = engine->device->wait(future); !status.ok()) return status;
  }
  const absl::Status status = completion->status();
  if (status.ok()) return status;
  const absl::Status lost = engine->device->loss_status();
  return lost.ok() ? status : lost;
}

}  // namespace internal

namespace {
absl::Status no_run() { return absl::FailedPreconditionError("an empty Run: use Engine::run()"); }
}  // namespace

bool Run::ready() const {
  if (!state_ || !state_->submitted.ok()) return true;
  if (!state_->completion->done()) state_->engine->device->instance.ProcessEvents();
  return state_->completion->done();
}

Status Run::wait() const { return state_ ? state_->wait() : no_run(); }

Status Run::get(int port, std::span<std::byte> out) const {
  if (!state_) return no_run();
  if (absl::Status status = state_->wait(); !status.ok()) return status;
  const internal::EngineState& engine = *state_->engine;
  if (port < 0 || static_cast<size_t>(port) >= engine.ports.size() ||
      engine.ports[static_cast<size_t>(port)].role != BufferRole::output) {
    return absl::InvalidArgumentError(absl::StrCat("port ", port, " is no output"));
  }
  const internal::EnginePort& output = engine.ports[static_cast<size_t>(port)];
  const absl::Status fits =
      internal::check_bytes(absl::StrCat("output \"", output.name, "\""), output.type, out.size());
  if (!fits.ok()) return fits;
  if (out.empty()) return absl::OkStatus();
  if (switches().no_read_back) {
    std::fill(out.begin(), out.end(), std::byte{0});
    return absl::OkStatus();
  }
  if (!state_->staging) {
    return absl::FailedPreconditionError(
        "this run copied no outputs aside: use run({.read = true}), or Engine::get_output");
  }
  const void* const memory = state_->staging.GetConstMappedRange(output.read_offset, internal::round_up(out.size(), 4));
  if (memory == nullptr) {
    const absl::Status lost = engine.device->loss_status();
    return lost.ok() ? absl::InternalError("the staging buffer is not mapped") : lost;
  }
  std::memcpy(out.data(), memory, out.size());
  return absl::OkStatus();
}

}  // namespace rlxgpu

#include "rlxgpu/runtime/run.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/engine_state.h"
#include "rlxgpu/runtime/extents.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu::core {
namespace internal {

absl::Status RunState::get(size_t port, std::span<std::byte> out) {
  if (absl::Status status = wait(); !status.ok()) return status;
  const EnginePort& output = (*ports)[port];
  const absl::Status fits = check_bytes(absl::StrCat("output \"", output.name, "\""), output.type, out.size());
  if (!fits.ok()) return fits;
  if (out.empty()) return absl::OkStatus();
  if (switches().no_read_back) {
    std::fill(out.begin(), out.end(), std::byte{0});
    return absl::OkStatus();
  }
  if (!layout || layout->offsets[port] < 0) {
    return absl::FailedPreconditionError(absl::StrCat("this run did not copy output \"", output.name,
                                                      "\" aside: use run({.read = true}), or get of the executable"));
  }
  return copy_out(static_cast<uint64_t>(layout->offsets[port]), out);
}

}  // namespace internal

namespace {

absl::Status no_run() { return absl::FailedPreconditionError("an empty Run: use Engine::run()"); }

// Index of an output, or -1.
int find(const internal::RunState& run, std::string_view name) {
  for (size_t i = 0; run.ports && i < run.ports->size(); ++i) {
    if ((*run.ports)[i].role == BufferRole::output && (*run.ports)[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// "\"y\", \"z\""
std::string outputs_of(const internal::RunState& run) {
  std::string text;
  for (const internal::EnginePort& port : *run.ports) {
    if (port.role == BufferRole::output) absl::StrAppend(&text, text.empty() ? "" : ", ", "\"", port.name, "\"");
  }
  return text;
}

Shape current_shape(const internal::RunState& run, const Shape& built) {
  return internal::present_shape(built, [&](int symbol) { return run.extents[static_cast<size_t>(symbol)]; });
}

}  // namespace

bool Run::ready() const { return !state_ || state_->ready(); }

Status Run::wait() const { return state_ ? state_->wait() : no_run(); }

Status Run::wait_for(double seconds) const {
  return state_ ? state_->wait(internal::nanoseconds_of(seconds)) : no_run();
}

Status Run::get(int port, std::span<std::byte> out) const {
  if (!state_) return no_run();
  if (absl::Status status = state_->wait(); !status.ok()) return status;
  if (port < 0 || static_cast<size_t>(port) >= state_->ports->size() ||
      (*state_->ports)[static_cast<size_t>(port)].role != BufferRole::output) {
    return absl::InvalidArgumentError(absl::StrCat("port ", port, " is no output"));
  }
  return state_->get(static_cast<size_t>(port), out);
}

int64_t Run::count(std::string_view name) const {
  const int port = state_ ? find(*state_, name) : -1;
  return port < 0 ? -1 : current_shape(*state_, (*state_->ports)[static_cast<size_t>(port)].type.shape).count();
}

Status Run::get_elements(std::string_view name, DType dtype, int64_t count, void* data) const {
  if (!state_) return no_run();
  if (absl::Status status = state_->wait(); !status.ok()) return status;
  const int port = find(*state_, name);
  if (port < 0)
    return absl::NotFoundError(absl::StrCat("the run has no output \"", name, "\"; it has ", outputs_of(*state_)));
  const TensorType& type = (*state_->ports)[static_cast<size_t>(port)].type;
  if (!internal::storable(dtype, type.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" holds ", name_of(type.dtype), ", not ", name_of(dtype)));
  }
  const Shape shape = current_shape(*state_, type.shape);
  if (shape.count() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" has ", shape.count(), " elements; ", count, " given"));
  }
  const auto element = static_cast<size_t>(bytes_of(type.dtype));
  const std::span<std::byte> out(static_cast<std::byte*>(data), static_cast<size_t>(count) * element);
  if (!type.shape.dynamic()) return state_->get(static_cast<size_t>(port), out);
  std::vector<std::byte> built(static_cast<size_t>(type.shape.count()) * element);
  if (absl::Status status = state_->get(static_cast<size_t>(port), built); !status.ok()) return status;
  internal::for_each_run(shape, type.shape, element, [&](size_t dense, size_t spread, size_t n) {
    std::memcpy(out.data() + dense, built.data() + spread, n);
  });
  return absl::OkStatus();
}

}  // namespace rlxgpu::core

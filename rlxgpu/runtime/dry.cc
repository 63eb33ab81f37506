#include "rlxgpu/runtime/dry.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"

namespace rlxgpu::core::internal {

bool is_dry(const Device& device) {
  if (!device || device.adapter().backend == Backend::null) return false;
  DeviceState& state = *device.state();
  const std::array<uint32_t, 4> written = {0x9e3779b9, 0x7f4a7c15, 0xf39cc060, 0x5cedc834};
  std::array<uint32_t, 4> got = written;
  const absl::StatusOr<Slice> slice = state.create_buffer(sizeof written, "dry", MemoryKind::scratch);
  if (!slice.ok()) return false;
  const bool ok = state.write(slice->buffer, slice->offset, std::as_bytes(std::span(written))).ok() &&
                  state.read(slice->buffer, slice->offset, std::as_writable_bytes(std::span(got))).ok();
  // Only zeros: a driver that returns other numbers executes, and is wrong.
  return ok && got == std::array<uint32_t, 4>{};
}

std::string dry_text(const Device& device) {
  return absl::StrCat(device.adapter().label(),
                      " executes nothing (the driver of a GPU that is not here? what is read from it is 0)");
}

}  // namespace rlxgpu::core::internal

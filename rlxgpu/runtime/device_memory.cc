// Memory of a device: buffers in the ledger, staging buffers that are used again, copies in and out.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"

namespace rlxgpu::core::internal {
namespace {

constexpr uint64_t kReadPiece = uint64_t{32} << 20;    // of staging memory for one read, a power of two
constexpr uint64_t kStagingKept = uint64_t{64} << 20;  // bytes of staging buffers kept for later
constexpr size_t kStagingBuffers = 256;                // and their number
constexpr uint64_t kWritePiece = uint64_t{16} << 20;   // between flushes of Dawn's own staging memory

// One buffer in a ledger; with its last slice it goes.
struct Lease {
  Lease(std::shared_ptr<MemoryLedger> of, MemoryKind for_what, uint64_t size)
      : ledger(std::move(of)), kind(for_what), bytes(size) {}
  ~Lease() {
    if (buffer) buffer.Destroy();  // bind groups that are kept for later may still refer to it
    ledger->give_back(kind, bytes);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::shared_ptr<MemoryLedger> ledger;
  const MemoryKind kind;
  const uint64_t bytes;
  wgpu::Buffer buffer;
};

}  // namespace

absl::StatusOr<Slice> DeviceState::create_buffer(uint64_t bytes, std::string_view label, MemoryKind kind) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  bytes = round_up(std::max<uint64_t>(bytes, 16), 16);
  if (bytes > max_buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "buffer \"", label, "\": needs ", bytes, " bytes, this device allows ", max_buffer_bytes, " in one buffer"));
  }
  const std::string what = absl::StrCat("buffer \"", label, "\"");
  if (absl::Status status = check_memory(bytes, what); !status.ok()) return status;
  if (absl::Status status = memory->take(kind, bytes, what); !status.ok()) return status;
  const auto lease = std::make_shared<Lease>(memory, kind, bytes);
  ErrorCapture errors(*this);
  wgpu::BufferDescriptor descriptor{};
  descriptor.label = label;
  descriptor.size = bytes;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  lease->buffer = device.CreateBuffer(&descriptor);
  if (absl::Status status = errors.status(absl::StrCat(what, " of ", bytes, " bytes")); !status.ok()) return status;
  return Slice{lease->buffer, 0, bytes, lease};
}

absl::Status DeviceState::check_memory(uint64_t bytes, std::string_view what) {
  absl::Status status = memory->check(bytes, what);
  if (status.ok()) return status;
  {
    const std::lock_guard lock(staging_mutex);
    for (const Staging& staging : free_staging) memory->give_back(MemoryKind::staging, staging.bytes);
    free_staging.clear();
  }
  return memory->check(bytes, what);
}

absl::StatusOr<Staging> DeviceState::take_staging(uint64_t bytes) {
  const uint64_t size = bytes <= kReadPiece ? std::bit_ceil(std::max<uint64_t>(bytes, 256)) : round_up(bytes, 1 << 20);
  {
    const std::lock_guard lock(staging_mutex);
    for (auto it = free_staging.rbegin(); it != free_staging.rend(); ++it) {
      if (it->bytes != size) continue;
      Staging staging = std::move(*it);
      free_staging.erase(std::next(it).base());
      return staging;
    }
  }
  if (size > max_buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a copy of ", bytes, " bytes for the host: this device allows ",
                                                     max_buffer_bytes, " in one buffer"));
  }
  constexpr std::string_view kWhat = "a staging buffer, through which the host reads,";
  if (absl::Status status = check_memory(size, kWhat); !status.ok()) return status;
  if (absl::Status status = memory->take(MemoryKind::staging, size, kWhat); !status.ok()) return status;
  ErrorCapture errors(*this);
  wgpu::BufferDescriptor descriptor{};
  descriptor.label = "staging";
  descriptor.size = size;
  descriptor.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst;
  Staging staging{device.CreateBuffer(&descriptor), size};
  if (absl::Status status = errors.status("staging buffer"); !status.ok()) {
    memory->give_back(MemoryKind::staging, size);
    return status;
  }
  return staging;
}

void DeviceState::give_back(Staging staging) {
  const std::lock_guard lock(staging_mutex);
  free_staging.push_back(std::move(staging));
  uint64_t kept = 0;
  for (const Staging& other : free_staging) kept += other.bytes;
  while (lost || kept > kStagingKept || free_staging.size() > kStagingBuffers) {
    kept -= free_staging.front().bytes;
    memory->give_back(MemoryKind::staging, free_staging.front().bytes);
    free_staging.erase(free_staging.begin());
    if (free_staging.empty()) break;
  }
}

absl::Status DeviceState::write(const wgpu::Buffer& buffer, uint64_t offset, std::span<const std::byte> data) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  ErrorCapture errors(*this);
  const size_t whole = data.size() / 4 * 4;
  for (size_t at = 0; at < whole; at += kWritePiece) {
    const size_t piece = std::min<size_t>(kWritePiece, whole - at);
    queue.WriteBuffer(buffer, offset + at, data.data() + at, piece);
    if (piece == kWritePiece) queue.Submit(0, nullptr);
  }
  if (whole < data.size()) {
    uint32_t last = 0;
    std::memcpy(&last, data.data() + whole, data.size() - whole);
    queue.WriteBuffer(buffer, offset + whole, &last, 4);
  }
  return errors.status("write");
}

absl::Status DeviceState::read(const wgpu::Buffer& buffer, uint64_t offset, std::span<std::byte> out) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  if (out.empty()) return absl::OkStatus();
  ErrorCapture errors(*this);
  absl::StatusOr<Staging> taken = take_staging(std::min<uint64_t>(round_up(out.size(), 4), kReadPiece));
  if (!taken.ok()) return taken.status();
  struct GiveBack {  // also when something fails
    DeviceState& device;
    Staging& staging;
    ~GiveBack() {
      staging.buffer.Unmap();
      device.give_back(std::move(staging));
    }
  } const give_back{*this, *taken};
  const wgpu::Buffer& staging = taken->buffer;
  for (uint64_t at = 0; at < out.size(); at += kReadPiece) {
    const uint64_t piece = std::min<uint64_t>(kReadPiece, out.size() - at), words = round_up(piece, 4);
    const wgpu::CommandEncoder encoder = device.CreateCommandEncoder();
    encoder.CopyBufferToBuffer(buffer, offset + at, staging, 0, words);
    const wgpu::CommandBuffer commands = encoder.Finish();
    submit(commands);
    if (absl::Status status = errors.status("read"); !status.ok()) return status;
    wgpu::MapAsyncStatus mapped = wgpu::MapAsyncStatus::Error;
    std::string message;
    const absl::Status waited = wait(staging.MapAsync(wgpu::MapMode::Read, 0, words, wgpu::CallbackMode::WaitAnyOnly,
                                                      [&](wgpu::MapAsyncStatus status, wgpu::StringView text) {
                                                        mapped = status;
                                                        message = std::string_view(text);
                                                      }));
    if (!waited.ok()) return waited;
    if (mapped != wgpu::MapAsyncStatus::Success) {
      if (absl::Status status = loss_status(); !status.ok()) return status;
      return absl::InternalError(absl::StrCat("read: ", message));
    }
    const void* const memory = staging.GetConstMappedRange(0, words);
    if (memory == nullptr) return absl::InternalError("read: the staging buffer has no memory");
    std::memcpy(out.data() + at, memory, piece);
    staging.Unmap();
  }
  return absl::OkStatus();
}

}  // namespace rlxgpu::core::internal

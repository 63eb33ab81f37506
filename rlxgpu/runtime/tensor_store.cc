#include "rlxgpu/runtime/tensor_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rlxgpu/base/text.h"

namespace rlxgpu::core::internal {
namespace {

constexpr uint64_t kAlignment = 256;  // the largest that an adapter may ask for
constexpr uint64_t kSmallestChunk = uint64_t{1} << 20, kLargestChunk = uint64_t{64} << 20;

}  // namespace

absl::StatusOr<Slice> TensorStore::allocate(std::string_view name, uint64_t bytes, uint64_t expected_bytes) {
  bytes = round_up(std::max<uint64_t>(bytes, 16), kind_ == Kind::packed ? kAlignment : 16);
  if (kind_ == Kind::packed) {
    for (Chunk& chunk : chunks_) {  // few: their sizes double
      if (chunk.slice.bytes - chunk.used < bytes) continue;
      chunk.used += bytes;
      return Slice{chunk.slice.buffer, chunk.used - bytes, bytes, chunk.slice.lease};
    }
  }
  uint64_t size = bytes;
  if (kind_ == Kind::packed) {
    const uint64_t most = std::min({kLargestChunk, device_->max_buffer_bytes, device_->target.max_binding_bytes});
    const uint64_t wanted = expected_bytes > 0 ? expected_bytes : std::max(kSmallestChunk, bytes_);
    size = std::max(bytes, std::min(wanted, most) / kAlignment * kAlignment);
  }
  const MemoryKind for_what = kind_ == Kind::packed ? MemoryKind::weights : MemoryKind::states;
  absl::StatusOr<Slice> made = device_->create_buffer(size, absl::StrCat(what_, "/", name), for_what);
  if (!made.ok()) return made.status();
  chunks_.push_back({*made, bytes});
  bytes_ += size;
  expected_ -= std::min(expected_, size);
  return Slice{made->buffer, 0, bytes, made->lease};
}

absl::StatusOr<TensorStore::Entry*> TensorStore::find_or_add(std::string_view name, const TensorType& type, bool given,
                                                             uint64_t expected_bytes) {
  if (const auto found = entries_.find(name); found != entries_.end()) {
    if (same_type(found->second.type, type)) return &found->second;
    const TensorType& known = found->second.type;
    return absl::InvalidArgumentError(absl::StrCat(what_, " \"", name, "\": given ", text_of(given ? type : known),
                                                   ", needed ", text_of(given ? known : type)));
  }
  absl::StatusOr<Slice> slice = allocate(name, storage_bytes(type.dtype, type.shape.count()), expected_bytes);
  if (!slice.ok()) return slice.status();
  return &entries_.emplace(std::string(name), Entry{type, *std::move(slice)}).first->second;
}

absl::StatusOr<Slice> TensorStore::reserve(std::string_view name, const TensorType& type, uint64_t expected_bytes) {
  const std::lock_guard lock(mutex_);
  absl::StatusOr<Entry*> entry = find_or_add(name, type, false, expected_bytes);
  if (!entry.ok()) return entry.status();
  return (*entry)->slice;
}

absl::Status TensorStore::set(std::string_view name, const TensorType& type, std::span<const std::byte> data) {
  if (absl::Status status = check_bytes(absl::StrCat(what_, " \"", name, "\""), type, data.size()); !status.ok())
    return status;
  const std::lock_guard lock(mutex_);
  absl::StatusOr<Entry*> entry = find_or_add(name, type, true, expected_);
  if (!entry.ok()) return entry.status();
  if (absl::Status status = device_->write((*entry)->slice.buffer, (*entry)->slice.offset, data); !status.ok())
    return status;
  (*entry)->set = true;
  return absl::OkStatus();
}

absl::Status TensorStore::get(std::string_view name, std::span<std::byte> out) {
  Slice slice;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return absl::NotFoundError(absl::StrCat("no ", what_, " \"", name, "\""));
    const absl::Status status = check_bytes(absl::StrCat(what_, " \"", name, "\""), found->second.type, out.size());
    if (!status.ok()) return status;
    slice = found->second.slice;
  }
  return device_->read(slice.buffer, slice.offset, out);
}

absl::StatusOr<DeviceTensor> TensorStore::tensor(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return absl::NotFoundError(absl::StrCat("no ", what_, " \"", name, "\""));
  return tensor_of(device_, found->second.type, found->second.slice);
}

absl::StatusOr<DeviceTensor> TensorStore::add(std::string_view name, const TensorType& type) {
  const std::lock_guard lock(mutex_);
  absl::StatusOr<Entry*> entry = find_or_add(name, type, true, expected_);
  if (!entry.ok()) return entry.status();
  (*entry)->set = true;
  return tensor_of(device_, (*entry)->type, (*entry)->slice);
}

uint64_t TensorStore::missing(std::string_view name, const TensorType& type) {
  const std::lock_guard lock(mutex_);
  if (entries_.contains(name)) return 0;
  return round_up(std::max<uint64_t>(storage_bytes(type.dtype, type.shape.count()), 16),
                  kind_ == Kind::packed ? kAlignment : 16);
}

uint64_t TensorStore::room() {
  const std::lock_guard lock(mutex_);
  uint64_t room = 0;
  for (const Chunk& chunk : chunks_) room += chunk.slice.bytes - chunk.used;
  return room;
}

absl::Status TensorStore::clear() {
  if (absl::Status status = device_->loss_status(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  ErrorCapture errors(*device_);
  const wgpu::CommandEncoder encoder = device_->device.CreateCommandEncoder();
  for (const Chunk& chunk : chunks_) encoder.ClearBuffer(chunk.slice.buffer);
  const wgpu::CommandBuffer commands = encoder.Finish();
  device_->submit(commands);
  return errors.status(absl::StrCat("clearing every ", what_));
}

void TensorStore::reserve(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  expected_ = bytes;
}

bool TensorStore::is_set(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.set;
}

size_t TensorStore::count() {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

size_t TensorStore::buffer_count() {
  const std::lock_guard lock(mutex_);
  return chunks_.size();
}

uint64_t TensorStore::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace rlxgpu::core::internal

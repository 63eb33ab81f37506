#include "rlxgpu/runtime/memory_ledger.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace rlxgpu::core::internal {

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return absl::StrCat(bytes, " bytes (", text, " ", units[unit], ")");
}

uint64_t& MemoryLedger::of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::weights:
      return use_.weights;
    case MemoryKind::states:
      return use_.states;
    case MemoryKind::scratch:
      return use_.scratch;
    case MemoryKind::tensors:
      return use_.tensors;
    case MemoryKind::staging:
      break;
  }
  return use_.staging;
}

absl::Status MemoryLedger::check_locked(uint64_t bytes, std::string_view what) const {
  const uint64_t total = use_.total();
  if (use_.limit == 0 || (total <= use_.limit && bytes <= use_.limit - total)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " needs ", bytes_text(bytes), ", but of the device's memory limit of ", bytes_text(use_.limit),
                   " only ", bytes_text(use_.limit - std::min(total, use_.limit)), " are left (weights ", use_.weights,
                   ", states ", use_.states, ", scratch ", use_.scratch, ", tensors ", use_.tensors, ", staging ",
                   use_.staging, "): drop what is no longer needed, or raise DeviceOptions::memory_limit"));
}

absl::Status MemoryLedger::take(MemoryKind kind, uint64_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = check_locked(bytes, what); !status.ok()) return status;
  of(kind) += bytes;
  return absl::OkStatus();
}

void MemoryLedger::give_back(MemoryKind kind, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  of(kind) -= bytes;
}

absl::Status MemoryLedger::check(uint64_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  return check_locked(bytes, what);
}

MemoryUse MemoryLedger::use() {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace rlxgpu::core::internal

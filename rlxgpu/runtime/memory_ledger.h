// MemoryLedger: how much memory of a device is in use, and for what. Internal to runtime/.
//
//   if (absl::Status status = ledger->take(MemoryKind::weights, bytes, "param/w"); !status.ok()) return status;
//   ledger->give_back(MemoryKind::weights, bytes);
//
// Every buffer that runtime/ makes is entered before it exists: beyond the limit there is a status and no allocation.
// Thread-safe.
#ifndef RLXGPU_RUNTIME_MEMORY_LEDGER_H_
#define RLXGPU_RUNTIME_MEMORY_LEDGER_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "rlxgpu/runtime/memory_use.h"

namespace rlxgpu::core::internal {

enum class MemoryKind : uint8_t { weights, states, scratch, tensors, staging };

std::string bytes_text(uint64_t bytes);  // "1048576 bytes (1.0 MiB)"

class MemoryLedger {
 public:
  explicit MemoryLedger(uint64_t limit) { use_.limit = limit; }

  absl::Status take(MemoryKind kind, uint64_t bytes, std::string_view what);
  void give_back(MemoryKind kind, uint64_t bytes);
  // Ok when so much more would fit; takes nothing.
  absl::Status check(uint64_t bytes, std::string_view what);
  MemoryUse use();

 private:
  absl::Status check_locked(uint64_t bytes, std::string_view what) const;
  uint64_t& of(MemoryKind kind);

  std::mutex mutex_;
  MemoryUse use_;
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_MEMORY_LEDGER_H_

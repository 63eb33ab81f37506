// BlobCache: compiled kernels kept on disk between processes. Dawn gives keys and blobs, this stores them.
//
//   BlobCache cache(default_cache_dir(""), 256 << 20);
//   cache.store(key, blob);  ...  std::string blob = cache.load(key);   // "" when unknown
//
// Never fails: without a folder, without permission or with a full disk it only forgets. Entries carry
// their key and a checksum, so a damaged one is a miss; they are written aside and renamed, so several
// processes may share a folder. Beyond the size bound the oldest go. Thread-safe.
#ifndef RLXGPU_RUNTIME_BLOB_CACHE_H_
#define RLXGPU_RUNTIME_BLOB_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace rlxgpu::core {

class BlobCache {
 public:
  struct Counts {
    int hits = 0, misses = 0, stores = 0, evictions = 0;
  };

  BlobCache(std::string dir, uint64_t max_bytes);

  std::string load(std::string_view key);
  void store(std::string_view key, std::string_view blob);

  const std::string& dir() const { return dir_; }
  Counts counts();

 private:
  void evict();

  const std::string dir_;
  const uint64_t max_bytes_;
  std::mutex mutex_;
  uint64_t bytes_ = 0;  // in the folder, as far as this process knows
  bool measured_ = false;
  uint64_t serial_ = 0;
  Counts counts_;
};

// `wanted`, else $RLXGPU_CACHE_DIR, else $XDG_CACHE_HOME/rlxgpu, else ~/.cache/rlxgpu; "" when none is known.
// Kernels go into its folder "kernels".
std::string default_cache_dir(std::string_view wanted);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::default_cache_dir;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_BLOB_CACHE_H_

#include "rlxgpu/runtime/blob_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "rlxgpu/runtime/platform.h"

namespace rlxgpu::core {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "rlxgpu1\n";

uint64_t hash(std::string_view bytes, uint64_t seed) {
  uint64_t h = seed;
  for (const char c : bytes) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    h ^= h >> 29;
  }
  return h;
}

std::string hex(uint64_t a, uint64_t b) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return text;
}

fs::path file_of(const std::string& dir, std::string_view key) {
  return fs::path(dir) / (hex(hash(key, 0xcbf29ce484222325u), hash(key, 0x9e3779b97f4a7c15u)) + ".blob");
}

// magic, sizes of key and blob, checksum of both, key, blob
struct Header {
  char magic[8];
  uint64_t key_bytes, blob_bytes, checksum;
};

uint64_t checksum(std::string_view key, std::string_view blob) { return hash(blob, hash(key, 1)); }

struct Entry {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type used;
};

std::vector<Entry> entries_of(const std::string& dir) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // another process may delete while we look
    const uint64_t bytes = it->file_size(gone);
    if (gone) continue;
    const auto used = it->last_write_time(gone);
    if (gone) continue;
    entries.push_back({it->path(), bytes, used});
  }
  return entries;
}

}  // namespace

BlobCache::BlobCache(std::string dir, uint64_t max_bytes) : dir_(std::move(dir)), max_bytes_(max_bytes) {
  std::error_code ignored;
  if (!dir_.empty()) fs::create_directories(dir_, ignored);
}

std::string BlobCache::load(std::string_view key) {
  std::string blob;
  bool hit = false;
  if (!dir_.empty()) {
    const fs::path path = file_of(dir_, key);
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    std::ifstream file;
    if (!error) file.open(path, std::ios::binary);
    Header header;
    std::string stored_key(key.size(), '\0');
    if (file && file.read(reinterpret_cast<char*>(&header), sizeof header) &&
        std::memcmp(header.magic, kMagic.data(), kMagic.size()) == 0 && header.key_bytes == key.size() &&
        size == sizeof header + key.size() + header.blob_bytes &&
        file.read(stored_key.data(), static_cast<std::streamsize>(key.size())) && stored_key == key) {
      blob.resize(header.blob_bytes);
      hit = file.read(blob.data(), static_cast<std::streamsize>(blob.size())) && checksum(key, blob) == header.checksum;
    }
    if (hit) fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // used: evicted later
  }
  const std::lock_guard lock(mutex_);
  ++(hit ? counts_.hits : counts_.misses);
  return hit ? blob : std::string();
}

void BlobCache::store(std::string_view key, std::string_view blob) {
  const uint64_t bytes = sizeof(Header) + key.size() + blob.size();
  if (dir_.empty() || bytes > max_bytes_) return;
  const fs::path path = file_of(dir_, key);
  fs::path aside = path;
  {
    const std::lock_guard lock(mutex_);
    aside += "." + std::to_string(internal::process_id()) + "." + std::to_string(serial_++) + ".tmp";
  }
  Header header = {{}, key.size(), blob.size(), checksum(key, blob)};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  std::error_code error;
  {
    std::ofstream file(aside, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(key.data(), static_cast<std::streamsize>(key.size()));
    file.write(blob.data(), static_cast<std::streamsize>(blob.size()));
    file.close();
    if (!file) {
      fs::remove(aside, error);
      return;
    }
  }
  fs::rename(aside, path, error);
  if (error) {
    fs::remove(aside, error);
    return;
  }
  const std::lock_guard lock(mutex_);
  ++counts_.stores;
  bytes_ += bytes;
  if (!measured_ || bytes_ > max_bytes_) evict();
}

// Deletes the entries unused for longest until three quarters of the bound are left: not at every store.
void BlobCache::evict() {
  std::vector<Entry> entries = entries_of(dir_);
  bytes_ = 0;
  for (const Entry& entry : entries) bytes_ += entry.bytes;
  measured_ = true;
  if (bytes_ <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (bytes_ <= max_bytes_ / 4 * 3) break;
    std::error_code error;
    if (fs::remove(entry.path, error)) ++counts_.evictions;
    bytes_ -= entry.bytes;
  }
}

BlobCache::Counts BlobCache::counts() {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string default_cache_dir(std::string_view wanted) {
  if (!wanted.empty()) return std::string(wanted);
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string dir = variable("RLXGPU_CACHE_DIR"); !dir.empty()) return dir;
  if (const std::string dir = variable("XDG_CACHE_HOME"); !dir.empty()) return dir + "/rlxgpu";
  if (const std::string dir = variable("HOME"); !dir.empty()) return dir + "/.cache/rlxgpu";
  return "";
}

}  // namespace rlxgpu::core

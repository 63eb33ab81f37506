// What C++ has no words for: the process, its environment, locks of files, files that are on disk.
//
// platform.cc and load/mapped_file.cc are the only files of the library that speak POSIX. Elsewhere, or with
// RLXGPU_NO_POSIX, they do the same with the standard library alone.
#ifndef RLXGPU_RUNTIME_PLATFORM_H_
#define RLXGPU_RUNTIME_PLATFORM_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace rlxgpu::core::internal {

// A number that no other living process has; where there is no such number, a random one.
int64_t process_id();

// "NAME=value" each; without POSIX those of the given names alone. They live as long as the process.
std::vector<std::string_view> environment(const std::vector<std::string_view>& names);

// Writes what is buffered, to the disk as far as the system says so.
bool flush_to_disk(std::FILE* file);

// Holds the lock of a path until it goes, or until the process does. Waits while another holds it. Without POSIX the lock
// is a file that exists; one older than a minute was left by a process that was killed.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool ok() const { return locked_; }

 private:
  std::string path_;
  [[maybe_unused]] int file_ = -1;
  bool locked_ = false;
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_PLATFORM_H_

#include "rlxgpu/runtime/platform.h"

#if (defined(__unix__) || defined(__APPLE__)) && !defined(RLXGPU_NO_POSIX)

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

extern char** environ;

namespace rlxgpu::core::internal {

int64_t process_id() { return getpid(); }

std::vector<std::string_view> environment(const std::vector<std::string_view>&) {
  std::vector<std::string_view> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

bool flush_to_disk(std::FILE* file) { return std::fflush(file) == 0 && fsync(fileno(file)) == 0; }

FileLock::FileLock(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  while (file_ >= 0 && !locked_) {
    locked_ = flock(file_, LOCK_EX) == 0;
    if (!locked_ && errno != EINTR) return;  // a file system without locks
  }
}
FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace rlxgpu::core::internal

#else

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <random>
#include <system_error>
#include <thread>

namespace rlxgpu::core::internal {

int64_t process_id() {
  static const int64_t id = static_cast<int64_t>(std::random_device{}());
  return id;
}

std::vector<std::string_view> environment(const std::vector<std::string_view>& names) {
  static auto* const kept = new std::deque<std::string>;
  std::vector<std::string_view> entries;
  for (const std::string_view name : names) {
    const char* const value = std::getenv(std::string(name).c_str());
    if (value != nullptr) entries.push_back(kept->emplace_back(std::string(name) + "=" + value));
  }
  return entries;
}

bool flush_to_disk(std::FILE* file) { return std::fflush(file) == 0; }

FileLock::FileLock(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code error;
  while (!locked_) {
    if (std::FILE* const file = std::fopen(path_.c_str(), "wx")) {
      locked_ = true;
      std::fclose(file);
      return;
    }
    const auto written = fs::last_write_time(path_, error);
    if (error && fs::exists(path_, error)) return;
    if (!fs::exists(fs::path(path_).parent_path(), error)) return;  // it can never be made
    if (!error && fs::file_time_type::clock::now() - written > std::chrono::minutes(1)) fs::remove(path_, error);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}
FileLock::~FileLock() {
  if (locked_) std::remove(path_.c_str());
}

}  // namespace rlxgpu::core::internal

#endif

// The kernel cache never fails: it remembers, or it forgets.
#include "rlxgpu/runtime/blob_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core {
namespace {

namespace fs = std::filesystem;

struct Folder {  // of its own, gone at the end
  Folder() {
    std::string name = (fs::temp_directory_path() / "rlxgpu-blob-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
    return files;
  }
  uint64_t bytes() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(path)) bytes += entry.file_size();
    return bytes;
  }
  fs::path path;
};

TEST_CASE("a blob comes back, in this process and in the next") {
  const Folder folder;
  const std::string key("k\0ey", 4), blob = std::string(100000, 'x') + std::string("\0\n\xff", 3);
  BlobCache cache(folder.path, 1 << 20);
  CHECK(cache.load(key).empty());
  cache.store(key, blob);
  CHECK(cache.load(key) == blob);
  cache.store(key, "another");
  CHECK(BlobCache(folder.path, 1 << 20).load(key) == "another");
  CHECK(cache.load("key").empty());
  CHECK(folder.files().size() == 1);  // nothing left aside
}

TEST_CASE("a damaged entry is a miss, and is replaced") {
  const Folder folder;
  BlobCache cache(folder.path, 1 << 20);
  cache.store("key", "a blob of some bytes");
  const fs::path file = folder.files().at(0);
  const uint64_t size = fs::file_size(file);
  SECTION("shorter") { fs::resize_file(file, size - 1); }
  SECTION("a header only") { fs::resize_file(file, 32); }
  SECTION("empty") { fs::resize_file(file, 0); }
  SECTION("longer") { fs::resize_file(file, size + 1); }
  SECTION("one byte changed") {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(size) - 3);
    stream.put('!');
  }
  SECTION("sizes that do not fit into memory") {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(16);
    stream.write("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  }
  SECTION("a folder in its place") {
    fs::remove(file);
    fs::create_directory(file);
    CHECK(cache.load("key").empty());
    fs::remove(file);
  }
  CHECK(cache.load("key").empty());
  cache.store("key", "again");
  CHECK(cache.load("key") == "again");
}

TEST_CASE("without a folder that can be written it only forgets") {
  for (const std::string dir : {"", "/proc/rlxgpu/kernels", "/dev/null/kernels"}) {
    BlobCache cache(dir, 1 << 20);
    cache.store("key", "blob");
    CHECK(cache.load("key").empty());
    CHECK(cache.counts().stores == 0);
  }
}

TEST_CASE("the oldest go when the bound is reached") {
  const Folder folder;
  BlobCache cache(folder.path, 100000);
  for (int i = 0; i < 100; ++i) {
    cache.store("key" + std::to_string(i), std::string(3000, 'x'));
    cache.load("key0");                                                          // in use: stays
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // file times are coarse
  }
  CHECK(folder.bytes() <= 100000);
  CHECK(folder.bytes() >= 50000);
  CHECK(!cache.load("key0").empty());
  CHECK(!cache.load("key99").empty());
  CHECK(cache.load("key1").empty());
  cache.store("huge", std::string(200000, 'x'));  // larger than the bound: not taken
  CHECK(cache.load("huge").empty());
  CHECK(!cache.load("key99").empty());
  BlobCache(folder.path, 20000).store("one", "more");  // a smaller bound holds from the first store
  CHECK(folder.bytes() <= 20000);
}

TEST_CASE("several processes share a folder") {
  const Folder folder;
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child) {
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      bool right = true;
      BlobCache cache(folder.path, 60000);  // with evictions all the time
      for (int i = 0; i < 300; ++i) {
        const std::string key = "key" + std::to_string(i % 17),
                          blob(static_cast<size_t>(1000 + 500 * (i % 17)), static_cast<char>('a' + i % 17));
        cache.store(key, blob);
        const std::string back = cache.load(key);
        right = right && (back.empty() || back == blob);
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  for (const fs::path& file : folder.files()) CHECK(file.extension() == ".blob");
}

TEST_CASE("the folder is the one wanted, else the environment's") {
  CHECK(default_cache_dir("/x") == "/x");
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  setenv("RLXGPU_CACHE_DIR", "/a", 1);
  CHECK(default_cache_dir("") == "/a");
  unsetenv("RLXGPU_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/b", 1);
  CHECK(default_cache_dir("") == "/b/rlxgpu");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/c", 1);
  CHECK(default_cache_dir("") == "/c/.cache/rlxgpu");
  unsetenv("HOME");
  CHECK(default_cache_dir("").empty());
  setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace rlxgpu::core

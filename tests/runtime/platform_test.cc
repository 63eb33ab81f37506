// Files, locks and the environment, by POSIX and by the standard library alone (-D RLXGPU_NO_POSIX).
#include "rlxgpu/runtime/platform.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/load/mapped_file.h"

namespace rlxgpu::core {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("rlxgpu-platform-" + std::to_string(internal::process_id()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

TEST_CASE("a process keeps its number and sees its environment") {
  CHECK(internal::process_id() == internal::process_id());
  setenv("RLXGPU_LISTING", "of platform_test", 1);
  int found = 0;
  for (const std::string_view entry : internal::environment({"RLXGPU_LISTING", "RLXGPU_NO_SUCH_NAME"})) {
    found += entry == "RLXGPU_LISTING=of platform_test";
  }
  CHECK(found == 1);
}

TEST_CASE("one holds a lock at a time") {
  const Folder folder;
  const std::string path = (folder.path / "lock").string();
  std::atomic<int> inside = 0, most = 0, sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const internal::FileLock lock(path);
        if (!lock.ok()) return;
        if (++inside > most) most = inside.load();
        ++sum;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(sum == 40);
  CHECK_FALSE(internal::FileLock((folder.path / "no" / "such" / "folder").string()).ok());
}

TEST_CASE("a file is seen whole, and what is none is said") {
  const Folder folder;
  const std::string path = (folder.path / "file").string();
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite("bytes", 1, 5, file) == 5);
  CHECK(internal::flush_to_disk(file));
  std::fclose(file);
  const Result<MappedFile> mapped = MappedFile::open(path);
  REQUIRE(mapped.ok());
  REQUIRE(mapped->bytes().size() == 5);
  CHECK(static_cast<char>(mapped->bytes()[4]) == 's');
  std::ofstream(folder.path / "empty").close();
  CHECK(MappedFile::open((folder.path / "empty").string())->bytes().empty());
  CHECK_FALSE(MappedFile::open((folder.path / "missing").string()).ok());
  CHECK_FALSE(MappedFile::open(folder.path.string()).ok());
}

}  // namespace
}  // namespace rlxgpu::core

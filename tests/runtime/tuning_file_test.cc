// The tuner's file: what is written is read back, by people too; damage and rivals do no harm, nor does kill -9.
#include "rlxgpu/runtime/tuning_file.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "rlxgpu-tuning-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string file() const { return (path / "tuning.json").string(); }
  fs::path path;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

const auto kChange = [](TuningData& data) {
  AdapterTuning& adapter = data.adapters["gpu / Vulkan / driver 1"];
  adapter.choices["matmul f32[8,8] f32[8,8] -> f32[8,8]"] = {"tiled", {{"tiled", 12.5}, {"plain", 99}}};
  adapter.calibration.f32_1024_gflops = 33.5;
  adapter.calibration.launch_us = 20;
  adapter.calibration.date = "2026-11-16";
};

TEST_CASE("what is stored is read back", "[tuning]") {
  const Folder folder;
  CHECK(TuningFile(folder.file()).load().adapters.empty());
  REQUIRE(TuningFile(folder.file()).update(kChange).ok());
  REQUIRE(TuningFile(folder.file())
              .update([](TuningData& data) { data.adapters["other"].choices["sum"] = {"rows", {}}; })
              .ok());
  const TuningData data = TuningFile(folder.file()).load();
  REQUIRE(data.adapters.size() == 2);
  const AdapterTuning& adapter = data.adapters.at("gpu / Vulkan / driver 1");
  const TunedChoice& choice = adapter.choices.at("matmul f32[8,8] f32[8,8] -> f32[8,8]");
  CHECK(choice.variant == "tiled");
  CHECK(choice.microseconds.at("tiled") == 12.5);
  CHECK(adapter.calibration.f32_1024_gflops == 33.5);
  CHECK(adapter.calibration.date == "2026-11-16");
  CHECK(data.adapters.at("other").choices.at("sum").variant == "rows");
  CHECK(!data.adapters.at("other").calibration.known());
  CHECK(text_of(folder.file()).find("\"variant\": \"tiled\"") != std::string::npos);  // lines that a person reads
}

TEST_CASE("a damaged file, or one of another version, is ignored with a warning and set aside", "[tuning]") {
  const Folder folder;
  REQUIRE(TuningFile(folder.file()).update(kChange).ok());
  const std::string good = text_of(folder.file());
  std::vector<std::string> bad = {
      "",
      "{",
      "rubbish",
      "[]",
      "null",
      "{\"rlxgpu_tuning\": 1}",
      "{\"rlxgpu_tuning\": 2, \"adapters\": {}}",
      "{\"rlxgpu_tuning\": \"1\", \"adapters\": {}}",
      "{\"rlxgpu_tuning\": 1, \"adapters\": {\"a\": {\"choices\": {\"c\": {\"variant\": 3}}}}}"};
  for (size_t size = 1; size + 2 < good.size(); size += 7) bad.push_back(good.substr(0, size));  // cut off
  for (const std::string& text : bad) {
    CAPTURE(text);
    std::ofstream(folder.file()) << text;
    std::string warning;
    const TuningFile file(folder.file(), [&](std::string_view said) { warning = said; });
    CHECK(file.load().adapters.empty());
    CHECK(warning.starts_with(folder.file() + " is ignored: "));
    REQUIRE(file.update(kChange).ok());
    CHECK(text_of(folder.file()) == good);
    CHECK(text_of(folder.file() + ".old") == text);
  }
}

TEST_CASE("a folder that cannot be written to is a status", "[tuning]") {
  CHECK(!TuningFile("/proc/nowhere/tuning.json").update(kChange).ok());
  const Folder folder;
  std::ofstream(folder.path / "file") << "not a folder";
  CHECK(!TuningFile((folder.path / "file" / "tuning.json").string()).update(kChange).ok());
  fs::create_directory(folder.file());  // in the way
  CHECK(TuningFile(folder.file()).load().adapters.empty());
  CHECK(TuningFile("").update(kChange).ok());  // no folder at all: nothing is kept
}

void add_choices(const std::string& path, const std::string& who, int count) {
  for (int i = 0; i < count; ++i) {
    const Status status = TuningFile(path).update(
        [&](TuningData& data) { data.adapters["gpu"].choices[who + std::to_string(i)] = {"v", {{"v", i}}}; });
    if (!status.ok()) _exit(1);
  }
}

TEST_CASE("writers in several processes lose nothing of each other", "[tuning]") {
  const Folder folder;
  std::vector<pid_t> children;
  for (int writer = 0; writer < 4; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      add_choices(folder.file(), "w" + std::to_string(writer) + "/", 25);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(TuningFile(folder.file()).load().adapters.at("gpu").choices.size() == 100);
}

TEST_CASE("a writer may be killed at any moment", "[tuning]") {
  const Folder folder;
  REQUIRE(TuningFile(folder.file()).update(kChange).ok());
  size_t before = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const pid_t child = fork();
    if (child == 0) {
      add_choices(folder.file(), "round " + std::to_string(round) + "/", 1 << 20);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(500 + 331 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::string warning;
    const TuningFile file(folder.file(), [&](std::string_view said) { warning = said; });
    const TuningData data = file.load();
    CHECK(warning.empty());
    CHECK(data.adapters.count("gpu / Vulkan / driver 1") == 1);
    const size_t now = data.adapters.count("gpu") != 0 ? data.adapters.at("gpu").choices.size() : 0;
    CHECK(now >= before);  // nothing that was there is gone
    before = now;
  }
  CHECK(before > 0);
  CHECK(TuningFile(folder.file()).update(kChange).ok());  // no lock is left behind
  CHECK(!fs::exists(folder.file() + ".old"));
}

}  // namespace
}  // namespace rlxgpu::core

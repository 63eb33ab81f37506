#include "rlxgpu/tools/process.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

extern char** environ;

namespace rlxgpu::core::tools {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Files, not pipes: neither side ever waits for the other.
File temporary(std::string_view contents) {
  File file(std::tmpfile(), std::fclose);
  if (file == nullptr) return file;
  std::fwrite(contents.data(), 1, contents.size(), file.get());
  std::rewind(file.get());
  return file;
}

std::string contents_of(std::FILE* file) {
  std::string text;
  char block[4096];
  std::rewind(file);
  while (const size_t n = std::fread(block, 1, sizeof block, file)) text.append(block, n);
  return text;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, std::string_view input) {
  ProcessResult result;
  const File in = temporary(input), out = temporary({});
  if (in == nullptr || out == nullptr) return {126, std::string("no temporary file: ") + std::strerror(errno)};
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return {127, command[0] + ": " + std::strerror(failure)};

  int status = 0;
  rusage usage = {};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  result.peak_megabytes = static_cast<double>(usage.ru_maxrss) / 1024;  // Linux counts KB
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = contents_of(out.get());
  return result;
}

}  // namespace rlxgpu::core::tools

// Status and Result<T>: that the value of a Result without one ends the program and says why.
#include "rlxgpu/runtime/status.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/status/status.h"
#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core {
namespace {

// What a child process that does this prints to stderr, if it aborts; otherwise "".
template <typename Does>
std::string last_words(const Does& does) {
  int ends[2] = {};
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // not Catch2's
    does();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) said.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? said : "";
}

TEST_CASE("the value of a Result that has none ends the program with the status", "[status]") {
  const std::string expected = "rlxgpu: the value of a Result that has none: NOT_FOUND: no such thing\n";
  CHECK(last_words([] { *Result<std::string>(absl::NotFoundError("no such thing")); }) == expected);
  CHECK(last_words([] { (void)Result<std::string>(absl::NotFoundError("no such thing"))->size(); }) == expected);
  CHECK(last_words([] { (void)Result<std::string>(absl::NotFoundError("no such thing")).value(); }) == expected);
  CHECK(last_words([] {
          Result<std::string> given("x");
          const Result<std::string> taken = std::move(given);
          (void)given->size();
        }) == "rlxgpu: the value of a Result that has none: it was moved away\n");
}

TEST_CASE("the value of a Result that has one", "[status]") {
  Result<std::string> given("x");
  CHECK(*given == "x");
  CHECK(given->size() == 1);
  CHECK(given.value() == "x");
}

}  // namespace
}  // namespace rlxgpu::core

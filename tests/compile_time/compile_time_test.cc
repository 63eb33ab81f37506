// What docs/architecture.md promises of compile times: graphs go through every compiler that is here with its default
// limits, in a bounded time and memory; a limit that is met is one sentence. `./dev bench compile_time` has the
// numbers.
#include <algorithm>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/tools/process.h"

namespace rlxgpu::core {
namespace {

using Options = std::vector<std::string>;

std::string compiler() { return GENERATE(as<std::string>(), "g++", "clang++"); }

tools::ProcessResult compile(const std::string& compiler, const std::string& file, const Options& options) {
  Options command = {compiler, "-std=c++20", "-I", ".", "-o", "/dev/null", "benchmarks/compile_time/" + file};
  command.insert(command.end(), options.begin(), options.end());
  tools::ProcessResult result = tools::run_process(command);
  if (result.exit_code == 127) SKIP("there is no " << compiler << " on this machine");
  return result;
}

// Of two runs the faster: what else the machine does costs processor time, too.
tools::ProcessResult best(const std::string& compiler, const std::string& file, const Options& options) {
  const tools::ProcessResult first = compile(compiler, file, options), second = compile(compiler, file, options);
  return first.cpu_seconds < second.cpu_seconds ? first : second;
}

// The promise is 4 s and 400 MB without optimisation, 8 s with it, where a file that only includes webgpu_cpp.h takes
// g++ 0.66 s and clang 0.9 s: 6 and 4.5 times as long, 12 and 9 times with it. A busy machine slows the longer run down
// more.
TEST_CASE("an encoder of 24 layers takes the compiler a few times what an empty file takes") {
  const std::string name = compiler();
  CAPTURE(name);
  constexpr double kBusy = 1.4;
  const bool gcc = name == "g++";
  const tools::ProcessResult empty = best(name, "baseline.cc", {"-c"});
  const tools::ProcessResult plain = best(name, "encoder.cc", {"-c", "-DLAYERS=24"});
  const tools::ProcessResult optimised = best(name, "encoder.cc", {"-c", "-DLAYERS=24", "-O2"});
  INFO(plain.output << optimised.output);
  REQUIRE(empty.exit_code == 0);
  REQUIRE(plain.exit_code == 0);
  REQUIRE(optimised.exit_code == 0);
  CHECK(plain.peak_megabytes <= 400);
  CHECK(plain.cpu_seconds / empty.cpu_seconds <= kBusy * (gcc ? 6 : 4.5));
  CHECK(optimised.cpu_seconds / empty.cpu_seconds <= kBusy * (gcc ? 12 : 9));
}

TEST_CASE("large graphs compile with the compiler's default limits") {
  const std::string name = compiler();
  struct Case {
    std::string file;
    Options options;
  };
  for (const auto& [file, options] :
       {Case{"encoder.cc", {"-DLAYERS=96"}}, Case{"llama.cc", {"-DLAYERS=24"}},
        Case{"mixed.cc", {"-DROUNDS=180", "-DLOOPS=0"}}, Case{"mixed.cc", {"-DROUNDS=0", "-DLOOPS=250"}}}) {
    CAPTURE(name, file, options);
    Options command = options;
    command.push_back("-fsyntax-only");
    const tools::ProcessResult result = compile(name, file, command);
    INFO(result.output.substr(0, 2000));
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("a limit that is met is one error with the flag and the way out") {
  const std::string name = compiler(), flag = name == "g++" ? "-fconstexpr-ops-limit=" : "-fconstexpr-steps=";
  CAPTURE(name);
  const std::string low = flag + (name == "g++" ? "3000000" : "150000");
  const tools::ProcessResult result = compile(name, "encoder.cc", {"-fsyntax-only", "-DLAYERS=24", low});
  std::vector<std::string> errors;
  for (size_t start = 0; start < result.output.size();) {
    const size_t end = std::min(result.output.find('\n', start), result.output.size());
    const std::string line = result.output.substr(start, end - start);
    if (line.find("error:") != std::string::npos) errors.push_back(line);
    start = end + 1;
  }
  INFO(result.output.substr(0, 4000));
  CHECK(result.exit_code == 1);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].find(flag) != std::string::npos);
  CHECK(errors[0].find("DynamicGraph") != std::string::npos);
}

}  // namespace
}  // namespace rlxgpu::core

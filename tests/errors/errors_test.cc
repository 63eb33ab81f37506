// A wrong program does not compile, and the compiler's first error line says what is wrong, in our words: checked by
// giving wrong programs to every compiler that is here. The same mistakes at run time are statuses with the same text.
#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "catch2/matchers/catch_matchers.hpp"
#include "catch2/matchers/catch_matchers_vector.hpp"
#include "rlxgpu/rlxgpu.h"
#include "rlxgpu/tools/process.h"
#include "tests/errors/inputs.h"

namespace rlxgpu::core::wrong {
namespace {

using Lines = std::vector<std::string>;

struct Mistake {
  std::string text;
  void (*build)(Builder&);
};

std::vector<Mistake> mistakes() {
  std::vector<Mistake> found;
#define WRONG(message, ...)                                                                   \
  found.push_back({"cases.inc:" + std::to_string(__LINE__) + ": " + message, [](Builder& g) { \
                     [[maybe_unused]] const Inputs in(g);                                     \
                     static_cast<void>(__VA_ARGS__);                                          \
                   }});
#include "tests/errors/cases.inc"
  return found;
}

// The path before the file's name depends on who compiles.
std::string from_file_name(std::string_view error, std::string_view file) {
  const size_t at = error.find(file);
  return std::string(at == std::string_view::npos ? error : error.substr(at));
}

// The texts of the errors that a compiler prints, one for each.
Lines errors_of(const std::string& compiler, const std::string& source) {
  std::vector<std::string> command = {compiler, "-std=c++20", "-fsyntax-only", "-I", ".", source};
  if (compiler.starts_with("clang")) command.insert(command.end(), {"-ferror-limit=0", "-fno-caret-diagnostics"});
  const tools::ProcessResult result = tools::run_process(command);
  if (result.exit_code == 127) SKIP("there is no " << compiler << " on this machine");
  CHECK(result.exit_code == 1);
  static const std::regex kNewer("error: static assertion failed(?: due to requirement '[^']*')?: (.*)");
  static const std::regex kOlder("error: .*GraphError<.*\\{\"(.*)\"\\}>");
  Lines errors;
  for (size_t start = 0; start < result.output.size();) {
    const size_t end = std::min(result.output.find('\n', start), result.output.size());
    const std::string line = result.output.substr(start, end - start);
    start = end + 1;
    std::smatch match;
    if (std::regex_search(line, match, kOlder)) {
      errors.push_back(std::regex_replace(match[1].str(), std::regex("\\\\\""), "\""));
    } else if (std::regex_search(line, match, kNewer)) {
      errors.push_back(match[1]);
    } else if (line.find("error:") != std::string::npos) {
      errors.push_back("noise: " + line);
    }
  }
  return errors;
}

std::string compiler() { return GENERATE(as<std::string>(), "g++-12", "g++", "clang++"); }

TEST_CASE("a wrong graph is one error line with the user's file, line and shapes") {
  const std::string name = compiler();
  CAPTURE(name);
  Lines expected, found = errors_of(name, "tests/errors/wrong_graphs.cc");
  for (const Mistake& mistake : mistakes()) expected.push_back(mistake.text);
  for (std::string& line : found) line = from_file_name(line, "cases.inc:");
  for (size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
    CHECK((i < found.size() ? found[i] : "no error") == (i < expected.size() ? expected[i] : "no error"));
  }
}

TEST_CASE("a wrong name, extent or type of an input or output is one error line") {
  const std::string name = compiler();
  CAPTURE(name);
  Lines expected, found = errors_of(name, "tests/errors/wrong_io.cc");
  std::ifstream source("tests/errors/wrong_io.cc");
  for (std::string line; std::getline(source, line);) {
    if (const size_t at = line.find(");  "); at != std::string::npos && line.find("//! ", at) != std::string::npos) {
      expected.push_back(line.substr(line.find("//! ", at) + 4));
    }
  }
  REQUIRE(expected.size() > 5);
  CHECK_THAT(found, Catch::Matchers::UnorderedEquals(expected));
}

TEST_CASE("at run time the same text is the status") {
  for (const Mistake& mistake : mistakes()) {
    DynamicGraph graph;
    mistake.build(*graph);
    const absl::Status status = Executable<DynamicGraph>::create(Device(), graph).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK(from_file_name(status.message(), "cases.inc:") == mistake.text);
  }
}

}  // namespace
}  // namespace rlxgpu::core::wrong

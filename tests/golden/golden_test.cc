// Generated shaders are the texts in this folder, so that a change of what will run is seen in review.
#include <fstream>
#include <iterator>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "tests/golden/shaders.h"

namespace rlxgpu::core::golden {
namespace {

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_CASE("generated shaders are those kept in tests/golden") {
  for (const Shader& shader : kShaders) {
    INFO(shader.file << " differs; when that is meant: ./dev bazel run //tests/golden:update");
    CHECK(text_of(shader) == contents_of("tests/golden/" + std::string(shader.file)));
  }
}

}  // namespace
}  // namespace rlxgpu::core::golden

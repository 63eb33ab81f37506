// Writes the shaders anew: ./dev bazel run //tests/golden:update
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/golden/shaders.h"

int main() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "run me with: ./dev bazel run //tests/golden:update\n";
    return 2;
  }
  for (const rlxgpu::core::golden::Shader& shader : rlxgpu::core::golden::kShaders) {
    const std::string path = std::string(workspace) + "/tests/golden/" + std::string(shader.file);
    std::ofstream file(path);
    file << rlxgpu::core::golden::text_of(shader);
    if (!file.flush()) {
      std::cerr << path << " cannot be written\n";
      return 1;
    }
    std::cout << path << "\n";
  }
}

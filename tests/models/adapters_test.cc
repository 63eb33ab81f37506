// Two adapters in one process: for one seed they draw the same tokens.
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/sample/sample.h"
#include "tests/models/small_llama.h"
#include "tests/models/weights.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

// Lavapipe and SwiftShader: one has subgroups of 8 or more and a compiler of its own, the other subgroups of 4.
const std::array<Device, 2>& two_devices() {
  static const std::array<Device, 2> devices = [] {
    std::string drivers;
    for (const char* variable : {"RLXGPU_LAVAPIPE_ICD", "RLXGPU_SWIFTSHADER_ICD"}) {
      const char* const driver = std::getenv(variable);
      if (driver != nullptr) drivers += (drivers.empty() ? "" : ":") + std::string(driver);
    }
    setenv("VK_DRIVER_FILES", drivers.c_str(), 1);
    const auto open = [](const char* adapter) { return open_validating({.adapter = adapter}); };
    return std::array{open("llvmpipe"), open("swiftshader")};
  }();
  return devices;
}

TEST_CASE("for one seed, two adapters draw the same tokens", "[sample][gpu]") {
  const SampleOptions options =
      GENERATE(SampleOptions{}, SampleOptions{.temperature = 0.5f, .stream = 3}, SampleOptions{.top_k = 40},
               SampleOptions{.top_p = 0.6f}, SampleOptions{.min_p = 0.2f},
               SampleOptions{.temperature = 1.3f, .top_k = 40, .top_p = 0.9f, .min_p = 0.05f});
  CAPTURE(options.temperature, options.top_k, options.top_p, options.min_p);
  constexpr int kRows = 300, kTokens = 67;
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(kRows * kTokens);
  for (float& logit : logits) logit = normal(random);
  const auto drawn_on = [&](const Device& device, uint32_t seed) {
    DynamicGraph graph;
    graph->output("y", sample(graph->input("x", f32, {kRows, kTokens}), graph->scalar("seed", u32), options));
    auto executable = Executable<DynamicGraph>::create(device, graph);
    REQUIRE(executable.status().ToString() == "OK");
    CHECK(executable->set("seed", seed).ok());
    CHECK(executable->set("x", logits).ok());
    executable->run();
    return *executable->template get<int32_t>("y");
  };
  const std::vector<int32_t> first = drawn_on(two_devices()[0], 5);
  CHECK(first == drawn_on(two_devices()[1], 5));
  CHECK(first != drawn_on(two_devices()[1], 6));
}

TEST_CASE("for one seed, Llama says the same on two adapters", "[models][gpu]") {
  using Llama = examples::Llama<kLlamaSampled, 1>;
  const Graph graph = graph_of<Llama>();
  const plain::WeightMap values = random_weights(graph, 2);
  const auto said_on = [&](const Device& device, uint32_t seed) {
    Executable<Llama> decode(device, {.weights = upload(device, graph, values)});
    decode.set<"seed">(seed);
    std::vector<uint32_t> tokens = {17};
    while (tokens.size() < 65) {
      decode.set<"tokens">(std::array{tokens.back()});
      decode.set<"position">(static_cast<uint32_t>(tokens.size() - 1));
      decode.run();
      tokens.push_back(static_cast<uint32_t>(decode.get<"next">()->front()));
    }
    return tokens;
  };
  const std::vector<uint32_t> first = said_on(two_devices()[0], 5);
  CHECK(first == said_on(two_devices()[1], 5));
  CHECK(first != said_on(two_devices()[1], 6));
}

}  // namespace
}  // namespace rlxgpu::core::testing

// The sentence encoder of docs/examples with the weights that npm has, against what their own package computes.
//
// The model is in $RLXGPU_MODELS/sentence_encoder: ./dev test fetches it. Without it these tests fail.
#include "docs/examples/sentence_encoder.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "docs/examples/sentence_pieces.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/executable.h"
#include "rlxgpu/load/safetensors.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Encoder = Executable<examples::SentenceEncoder>;

std::string model_folder() {
  const char* const models = std::getenv("RLXGPU_MODELS");
  const std::string folder =
      (models == nullptr ? std::string("$RLXGPU_MODELS") : std::string(models)) + "/sentence_encoder";
  if (!std::filesystem::exists(folder + "/golden.json")) {
    FAIL("no model in " << folder << ": run third_party/environment/fetch_sentence_encoder.sh " << folder
                        << ", which needs npm and the network");
  }
  return folder;
}
nlohmann::json golden_of(const std::string& folder) {
  std::ifstream file(folder + "/golden.json");
  return nlohmann::json::parse(file);
}

TEST_CASE("sentences are cut as the package cuts them", "[models]") {
  const std::string folder = model_folder();
  const auto pieces = examples::SentencePieces::open(folder + "/vocabulary.json");
  REQUIRE(pieces.status().ToString() == "OK");
  for (const nlohmann::json& one : golden_of(folder)) {
    const auto text = one["text"].get<std::string>();
    CAPTURE(text);
    CHECK(pieces->encode(text) == one["tokens"].get<std::vector<int32_t>>());
  }
  CHECK(pieces->encode("").empty());
}

TEST_CASE("vectors are the package's own", "[models][gpu]") {
  const std::string folder = model_folder();
  const Device device = device_or_skip();
  const auto file = Safetensors::open(folder + "/sentence_encoder.safetensors");
  REQUIRE(file.status().ToString() == "OK");
  const Weights weights(device);
  REQUIRE(load_weights(*file, Encoder::program, weights).ToString() == "OK");
  Encoder encoder(device, {.weights = weights});
  REQUIRE(encoder.status().ToString() == "OK");
  for (const nlohmann::json& one : golden_of(folder)) {
    CAPTURE(one["text"].get<std::string>());
    const auto tokens = one["tokens"].get<std::vector<int32_t>>();
    REQUIRE(tokens.size() <= static_cast<size_t>(examples::SentenceEncoder::kMostTokens));
    encoder.set<"count">(static_cast<uint32_t>(tokens.size()));
    encoder.set<"tokens">(std::span<const int32_t>(tokens));
    encoder.run();
    const auto vector = encoder.get<"vector">();
    REQUIRE(vector.status().ToString() == "OK");
    const auto expected = one["vector"].get<std::vector<double>>();
    REQUIRE(expected.size() == vector->size());
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs((*vector)[i] - expected[i]));
    CHECK(worst < 1e-4);  // entries are about 0.04
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing

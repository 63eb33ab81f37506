// Vit, Mamba and Mixture of docs/examples against plain double-precision programs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "docs/examples/mamba.h"
#include "docs/examples/mixture.h"
#include "docs/examples/vit.h"
#include "rlxgpu/executable.h"
#include "tests/models/plain_others.h"
#include "tests/models/weights.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

constexpr examples::VitSize kVit = {
    .layers = 2, .image = 12, .patch = 4, .channels = 3, .width = 32, .heads = 4, .hidden = 48, .classes = 10};
constexpr examples::VitSize kVitApart = [] {
  examples::VitSize size = kVit;
  size.fused_norms = false;
  return size;
}();
constexpr examples::MambaSize kMamba = {
    .layers = 2, .width = 24, .inner = 40, .state = 6, .rank = 3, .kernel = 4, .vocabulary = 61};
constexpr int kPrompt = 8;
using Vit = examples::Vit<kVit>;
using Prefill = examples::Mamba<kMamba, kPrompt>;
using Decode = examples::Mamba<kMamba, 1>;

std::vector<double> doubles(const std::vector<float>& from) { return {from.begin(), from.end()}; }

TEST_CASE("steps of Vit and Mamba", "[models]") {
  STATIC_REQUIRE(Executable<Vit>::program.steps.size() == 3 + 5 * kVit.layers + 1);
  CHECK(compile(graph_of<examples::Vit<kVitApart>>(), kPortable).steps.size() == 3 + 7 * kVit.layers + 2);
  STATIC_REQUIRE(Executable<Decode>::program.steps.size() == 4 + 10 * kMamba.layers);
}

TEST_CASE("Vit gives what a plain program gives", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Vit>();
  const plain::WeightMap values = random_weights(graph, 1);
  const Weights weights = upload(device, graph, values);
  std::array<float, 3 * 12 * 12> image;
  std::mt19937 random(4);
  for (float& pixel : image) pixel = std::normal_distribution<float>()(random);
  const plain::Row expected = plain::vit(kVit, values, {image.begin(), image.end()});

  Executable<Vit> vit(device, {.weights = weights});
  vit.set<"image">(image);
  vit.run();
  const std::vector<float> y = *vit.get<"logits">();
  CHECK_THAT(doubles(y), CloseTo(expected, model_bound(kVit.layers)));
  vit.run();
  CHECK(*vit.get<"logits">() == y);  // bit for bit

  auto dynamic = at_run_time<examples::Vit<kVitApart>>(device, weights);
  CHECK(dynamic.set("image", image).ok());
  dynamic.run();
  CHECK_THAT(doubles(*dynamic.get<float>("logits")), CloseTo(expected, model_bound(kVit.layers)));
}

TEST_CASE("Mamba says what a plain program says, for 64 tokens", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Prefill>();
  const plain::WeightMap values = random_weights(graph, 2);
  const Weights weights = upload(device, graph, values);
  const States states(device);
  Executable<Prefill> prefill(device, {.weights = weights, .states = states});
  Executable<Decode> decode(device, {.weights = weights, .states = states});

  const std::array<uint32_t, kPrompt> prompt = {3, 60, 14, 15, 9, 26, 5, 35};
  std::vector<uint32_t> tokens(prompt.begin(), prompt.end());
  prefill.set<"tokens">(prompt);
  prefill.run();
  CHECK_THAT(doubles(*prefill.get<"logits">()),
             CloseTo(flat(plain::mamba(kMamba, values, tokens)), model_bound(kMamba.layers)));

  std::vector<uint32_t> said = {static_cast<uint32_t>(prefill.get<"next">()->back())};
  while (said.size() < 64) {
    decode.set<"tokens">(std::array{said.back()});
    decode.run();
    said.push_back(static_cast<uint32_t>(decode.get<"next">()->back()));
  }
  tokens.insert(tokens.end(), said.begin(), said.end());
  const plain::Rows after = plain::mamba(kMamba, values, tokens);
  for (size_t i = 0; i < said.size(); ++i) {
    CAPTURE(i);
    const plain::Row& row = after[kPrompt - 1 + i];
    CHECK(said[i] == static_cast<uint32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  CHECK(std::count(said.begin(), said.end(), said[0]) < 60);  // it does not say one thing for ever
}

// Token by token, at once, and at once by a program made at run time, each with states of its own.
TEST_CASE("a prompt token by token is as all at once, for Mamba", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Prefill>();
  const Weights weights = upload(device, graph, random_weights(graph, 3));
  Executable<Prefill> prefill(device, {.weights = weights});
  Executable<Decode> decode(device, {.weights = weights});
  const States own(device);
  auto dynamic = at_run_time<Prefill>(device, weights, own);
  const std::array<uint32_t, kPrompt> prompt = {7, 7, 1, 50, 22, 0, 13, 2};
  prefill.set<"tokens">(prompt);
  prefill.run();
  const std::vector<double> all = doubles(*prefill.get<"logits">());
  std::vector<double> grown;
  for (const uint32_t token : prompt) {
    decode.set<"tokens">(std::array{token});
    decode.run();
    const std::vector<float> one = *decode.get<"logits">();
    grown.insert(grown.end(), one.begin(), one.end());
  }
  CHECK_THAT(grown, CloseTo(all, model_bound(kMamba.layers)));
  for (int text = 0; text < 2; ++text) {  // the second begins anew
    CHECK(dynamic.set("tokens", prompt).ok());
    dynamic.run();
    CHECK_THAT(doubles(*dynamic.get<float>("logits")), CloseTo(all, model_bound(kMamba.layers)));
    CHECK(own.clear().ok());
  }
  CHECK_THAT(doubles(*decode.get<"1.h">()), CloseTo(doubles(*prefill.get<"1.h">()), model_bound(kMamba.layers)));
  CHECK_THAT(doubles(*decode.get<"1.window">()),
             CloseTo(doubles(*prefill.get<"1.window">()), model_bound(kMamba.layers)));
}

TEST_CASE("a mixture of experts gives what a plain program gives", "[models][gpu]") {
  const Device device = device_or_skip();
  constexpr examples::MixtureSize kSize = {
      .tokens = 7, .width = 20, .hidden = 28, .experts = 12, .groups = 4, .top_groups = 2, .top_k = 3};
  using Mixture = examples::Mixture<kSize>;
  const Graph graph = graph_of<Mixture>();
  const plain::WeightMap values = random_weights(graph, 5);
  const Weights weights = upload(device, graph, values);
  std::array<float, 7 * 20> x;
  std::mt19937 random(6);
  for (float& v : x) v = std::normal_distribution<float>()(random);
  plain::Rows expected;
  for (size_t token = 0; token < 7; ++token) {
    expected.push_back(plain::mixture(kSize, values,
                                      plain::Row(x.begin() + static_cast<std::ptrdiff_t>(token) * 20,
                                                 x.begin() + static_cast<std::ptrdiff_t>(token + 1) * 20)));
  }
  Executable<Mixture> layer(device, {.weights = weights});
  layer.set<"x">(x);
  layer.run();
  CHECK_THAT(doubles(*layer.get<"y">()), CloseTo(flat(expected), model_bound(1)));
  auto dynamic = at_run_time<Mixture>(device, weights);
  CHECK(dynamic.set("x", x).ok());
  dynamic.run();
  CHECK_THAT(doubles(*dynamic.get<float>("y")), CloseTo(flat(expected), model_bound(1)));
}

}  // namespace
}  // namespace rlxgpu::core::testing

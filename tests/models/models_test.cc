// The models of docs/examples against plain double-precision programs.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "docs/examples/bert.h"
#include "docs/examples/llama.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "tests/models/plain.h"
#include "tests/models/weights.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::testing {
namespace {

constexpr examples::BertSize kBert = {
    .layers = 2, .rows = 11, .width = 32, .heads = 4, .hidden = 48, .vocabulary = 40, .positions = 16};
constexpr examples::LlamaSize kLlama = {.layers = 2,
                                        .width = 32,
                                        .heads = 4,
                                        .kv_heads = 2,
                                        .head = 8,
                                        .hidden = 56,
                                        .vocabulary = 61,
                                        .context = 80,
                                        .few_tokens = 4};
constexpr examples::BertSize kBertApart = [] {
  examples::BertSize size = kBert;
  size.fused_norms = false;
  return size;
}();
constexpr int kPrompt = 8;
using Bert = examples::Bert<kBert>;
using Prefill = examples::Llama<kLlama, kPrompt>;
using Decode = examples::Llama<kLlama, 1>;

TEST_CASE("steps of a layer", "[models]") {
  STATIC_REQUIRE(Executable<Bert>::program.steps.size() == 2 + 5 * kBert.layers);
  STATIC_REQUIRE(Executable<Decode>::program.steps.size() == 4 + 6 * kLlama.layers);
  const auto steps = []<typename G>(G) { return compile(graph_of<G>(), kPortable).steps.size(); };
  CHECK(steps(examples::Bert<kBertApart>()) == 1 + 7 * kBert.layers);
  CHECK(steps(Prefill()) == 4 + 9 * kLlama.layers);
}

TEST_CASE("BERT gives what a plain program gives", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Bert>();
  const plain::WeightMap values = random_weights(graph, 1);
  const std::array<uint32_t, 11> tokens = {1, 39, 17, 0, 5, 5, 23, 11, 2, 8, 30},
                                 types = {0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0};
  const std::array<uint8_t, 11> mask = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0};
  const std::vector<double> expected = flat(plain::bert(kBert, values, {tokens.begin(), tokens.end()},
                                                        {types.begin(), types.end()}, {mask.begin(), mask.end()}));

  Executable<Bert> bert(device, {.weights = upload(device, graph, values)});
  bert.set<"tokens">(tokens), bert.set<"types">(types), bert.set<"mask">(mask);
  bert.run();
  const std::vector<float> y = *bert.get<"y">();
  CHECK_THAT(std::vector<double>(y.begin(), y.end()), CloseTo(expected, model_bound(kBert.layers)));
  bert.run();
  CHECK(*bert.get<"y">() == y);  // bit for bit

  const Weights weights = upload(device, graph, values);
  auto dynamic = at_run_time<examples::Bert<kBertApart>>(device, weights);
  CHECK(dynamic.set("tokens", tokens).ok());
  CHECK(dynamic.set("types", types).ok());
  CHECK(dynamic.set("mask", mask).ok());
  dynamic.run();
  const std::vector<float> z = *dynamic.get<float>("y");
  CHECK_THAT(std::vector<double>(z.begin(), z.end()), CloseTo(expected, model_bound(kBert.layers)));
}

TEST_CASE("Llama says what a plain program says, for 64 tokens", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Prefill>();
  const plain::WeightMap values = random_weights(graph, 2);
  const Weights weights = upload(device, graph, values);
  const States cache(device);
  Executable<Prefill> prefill(device, {.weights = weights, .states = cache});
  Executable<Decode> decode(device, {.weights = weights, .states = cache});

  const std::array<uint32_t, kPrompt> prompt = {3, 60, 14, 15, 9, 26, 5, 35};
  std::vector<uint32_t> tokens(prompt.begin(), prompt.end());
  prefill.set<"tokens">(prompt), prefill.set<"position">(0u);
  prefill.run();
  const std::vector<float> logits = *prefill.get<"logits">();
  const plain::Rows expected = plain::llama(kLlama, values, tokens);
  CHECK_THAT(std::vector<double>(logits.begin(), logits.end()), CloseTo(flat(expected), model_bound(kLlama.layers)));

  std::vector<uint32_t> said = {static_cast<uint32_t>(prefill.get<"next">()->back())};
  while (said.size() < 64) {
    decode.set<"tokens">(std::array{said.back()}),
        decode.set<"position">(static_cast<uint32_t>(kPrompt + said.size() - 1));
    decode.run();
    said.push_back(static_cast<uint32_t>(decode.get<"next">()->back()));
  }
  // If each is the likeliest after those before it, the plain program would have said the same.
  tokens.insert(tokens.end(), said.begin(), said.end());
  const plain::Rows after = plain::llama(kLlama, values, tokens);
  for (size_t i = 0; i < said.size(); ++i) {
    CAPTURE(i);
    const plain::Row& row = after[kPrompt - 1 + i];
    CHECK(said[i] == static_cast<uint32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  CHECK(std::count(said.begin(), said.end(), said[0]) < 60);  // it does not say one thing for ever
}

TEST_CASE("a prompt token by token is as all at once", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Prefill>();
  const Weights weights = upload(device, graph, random_weights(graph, 3));
  Executable<Prefill> prefill(device, {.weights = weights});
  Executable<Decode> decode(device, {.weights = weights});  // each has a cache of its own
  const std::array<uint32_t, kPrompt> prompt = {7, 7, 1, 50, 22, 0, 13, 2};
  prefill.set<"tokens">(prompt), prefill.set<"position">(0u);
  prefill.run();
  const std::vector<float> all = *prefill.get<"logits">();
  for (uint32_t i = 0; i < kPrompt; ++i) {
    CAPTURE(i);
    decode.set<"tokens">(std::array{prompt[i]}), decode.set<"position">(i);
    decode.run();
    const std::vector<float> one = *decode.get<"logits">();
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i) * kLlama.vocabulary;
    CHECK_THAT(std::vector<double>(one.begin(), one.end()),
               CloseTo(std::vector<double>(first, first + kLlama.vocabulary), model_bound(kLlama.layers)));
  }
  const std::vector<float> kept = *prefill.get<"0.kv">(), grown = *decode.get<"0.kv">();
  CHECK_THAT(std::vector<double>(grown.begin(), grown.end()),
             CloseTo(std::vector<double>(kept.begin(), kept.end()), model_bound(1)));
}

}  // namespace
}  // namespace rlxgpu::testing

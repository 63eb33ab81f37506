// The models of docs/examples against plain double-precision programs.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "docs/examples/bert.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/load/safetensors.h"
#include "tests/models/plain.h"
#include "tests/models/small_llama.h"
#include "tests/models/weights.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

constexpr examples::BertSize kBert = {
    .layers = 2, .rows = 11, .width = 32, .heads = 4, .hidden = 48, .vocabulary = 40, .positions = 16};
constexpr examples::BertSize kBertApart = [] {
  examples::BertSize size = kBert;
  size.fused_norms = false;
  return size;
}();
constexpr int kPrompt = 8;
using Bert = examples::Bert<kBert>;
using Prefill = examples::Llama<kLlama, kPrompt>;
using Decode = examples::Llama<kLlama, 1>;
using Sampled = examples::Llama<kLlamaSampled, 1>;
constexpr examples::LlamaSize kLlamaFused = [] {
  examples::LlamaSize size = kLlama;
  size.few_tokens = kPrompt;
  return size;
}();
using FusedPrefill = examples::Llama<kLlamaFused, kPrompt>;

TEST_CASE("steps of a layer", "[models]") {
  STATIC_REQUIRE(Executable<Bert>::program.steps.size() == 2 + 5 * kBert.layers);
  STATIC_REQUIRE(Executable<Decode>::program.steps.size() == 4 + 6 * kLlama.layers);
  const auto steps = []<typename G>(G) { return compile(graph_of<G>(), kPortable).steps.size(); };
  CHECK(steps(examples::Bert<kBertApart>()) == 1 + 7 * kBert.layers);
  CHECK(steps(Prefill()) == 4 + 8 * kLlama.layers);
  CHECK(steps(FusedPrefill()) == 4 + 6 * kLlama.layers);
}

// Beside the layers there are: the words' vectors, the last norm, the product with the vocabulary, the likeliest token.
TEST_CASE("a layer of Llama is at most eight dispatches, however many tokens it reads", "[models]") {
  const auto check = []<int kTokens, int kContext>() {
    constexpr examples::LlamaSize kSize = {.layers = 2, .vocabulary = 64, .context = kContext};
    CAPTURE(kTokens, kContext);
    CHECK(compile(graph_of<examples::Llama<kSize, kTokens>>(), kPortable).steps.size() <= 4 + 8 * kSize.layers);
  };
  check.operator()<1, 128>();
  check.operator()<1, 4096>();  // its keys are shared by many workgroups
  check.operator()<8, 512>();
  check.operator()<33, 512>();
  check.operator()<64, 512>();
  check.operator()<128, 4096>();
}

// What a program needs beside weights, inputs and outputs.
uint64_t scratch_of(const Graph& graph, const Target& target) {
  uint64_t bytes = 0;
  for (const BufferDecl& buffer : compile(graph, target).buffers) {
    if (buffer.role == BufferRole::scratch) bytes += buffer.bytes;
  }
  return bytes;
}

TEST_CASE("BERT-base takes less than 6 MB of scratch for 128 tokens", "[models]") {
  constexpr examples::BertSize kBase = {}, kApart = {.fused_norms = false};
  Target software = kPortable;
  software.adapter_class = AdapterClass::software;
  software.subgroups = true, software.subgroup_min = software.subgroup_max = 8;  // as lavapipe
  for (const Target& target : {kPortable, software}) {
    CHECK(scratch_of(graph_of<examples::Bert<kBase>>(), target) <= 6'000'000);
    CHECK(scratch_of(graph_of<examples::Bert<kApart>>(), target) <= 6'000'000);
  }
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
  Executable<Bert, kPortable> portable(device, {.weights = weights});  // as on a GPU: few dispatches
  portable.set<"tokens">(tokens), portable.set<"types">(types), portable.set<"mask">(mask);
  portable.run();
  const std::vector<float> w = *portable.get<"y">();
  CHECK_THAT(std::vector<double>(w.begin(), w.end()), CloseTo(expected, model_bound(kBert.layers)));

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
  Executable<Prefill, kPortable> portable(device, {.weights = weights});  // as on a GPU, with a cache of its own
  portable.set<"tokens">(prompt), portable.set<"position">(0u);
  portable.run();
  const std::vector<float> same = *portable.get<"logits">();
  CHECK_THAT(std::vector<double>(same.begin(), same.end()), CloseTo(flat(expected), model_bound(kLlama.layers)));

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

TEST_CASE("one program reads prompts of every length", "[models][gpu]") {
  const Device device = device_or_skip();
  using Prompt = examples::LlamaPrompt<kLlama, 12>;
  const Graph graph = graph_of<Prefill>();
  const plain::WeightMap values = random_weights(graph, 6);
  const Weights weights = upload(device, graph, values);
  const States cache(device);
  Executable<Prompt> read(device, {.weights = weights, .states = cache});
  auto dynamic = at_run_time<Prompt>(device, weights);
  const std::vector<uint32_t> text = {3, 60, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 3, 2, 38};
  const std::vector<double> expected = flat(plain::llama(kLlama, values, text));
  size_t position = 0;
  for (const size_t count : {5, 0, 1, 9}) {  // each goes on where the last one ended
    CAPTURE(position, count);
    const std::vector<uint32_t> tokens(text.begin() + static_cast<std::ptrdiff_t>(position),
                                       text.begin() + static_cast<std::ptrdiff_t>(position + count));
    read.set<"count">(count), read.set<"position">(position);
    read.set<"tokens">(tokens);
    read.run();
    const std::vector<float> logits = *read.get<"logits">();
    const auto first = expected.begin() + static_cast<std::ptrdiff_t>(position) * kLlama.vocabulary;
    const std::vector<double> wanted(first, first + static_cast<std::ptrdiff_t>(count) * kLlama.vocabulary);
    CHECK_THAT(std::vector<double>(logits.begin(), logits.end()), CloseTo(wanted, model_bound(kLlama.layers)));
    CHECK(dynamic.set("count", static_cast<double>(count)).ok());
    CHECK(dynamic.set("position", static_cast<double>(position)).ok());
    CHECK(dynamic.set("tokens", tokens).ToString() == "OK");
    dynamic.run();
    const std::vector<float> same = *dynamic.get<float>("logits");
    CHECK_THAT(std::vector<double>(same.begin(), same.end()), CloseTo(wanted, model_bound(kLlama.layers)));
    position += count;
  }
}

// The same weights by way of a file, and the same text again: the same bits.
TEST_CASE("Llama with weights from a file says the same, twice", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Prefill>();
  const plain::WeightMap values = random_weights(graph, 2);
  std::vector<StoredTensor> tensors;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::param) continue;
    const Shape& shape = graph.value(node.results.first).shape;
    StoredTensor& tensor = tensors.emplace_back();
    tensor.name = graph.name(node.name);
    for (int axis = 0; axis < shape.rank(); ++axis) tensor.shape.push_back(shape[axis]);
    tensor.data = std::as_bytes(std::span(values.at(tensor.name)));
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rlxgpu_llama_" + std::to_string(std::random_device()()))).string();
  REQUIRE(write_safetensors(path, tensors).ToString() == "OK");
  const Weights from_file(device);
  {
    const Result<Safetensors> file = Safetensors::open(path);
    REQUIRE(file.status().ToString() == "OK");
    REQUIRE(load_weights(*file, Executable<Prefill>::program, from_file).ToString() == "OK");
  }
  std::filesystem::remove(path);

  const std::array<uint32_t, kPrompt> prompt = {3, 60, 14, 15, 9, 26, 5, 35};
  const auto logits_with = [&](const Weights& weights, int runs) {
    const States cache(device);
    Executable<Prefill> prefill(device, {.weights = weights, .states = cache});
    std::vector<float> logits;
    for (int run = 0; run < runs; ++run) {
      CHECK(cache.clear().ok());
      prefill.set<"tokens">(prompt), prefill.set<"position">(0u);
      prefill.run();
      const std::vector<float> all = *prefill.get<"logits">();
      CHECK((run == 0 || all == logits));
      logits = all;
    }
    return logits;
  };
  CHECK(logits_with(from_file, 3) == logits_with(upload(device, graph, values), 1));
}

// Top-k, top-p, Gumbel noise by Threefry: once more in plain C++, on the plain program's logits.
uint32_t drawn(const plain::Row& logits, uint32_t seed) {
  const SampleOptions& options = examples::kLlamaSampling;
  std::vector<uint32_t> order(logits.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
  order.resize(static_cast<size_t>(options.top_k));
  double under = 0, before = 0, best = -HUGE_VAL;
  const auto mass = [&](uint32_t token) { return std::exp((logits[token] - logits[order[0]]) / options.temperature); };
  for (const uint32_t token : order) under += mass(token);
  uint32_t chosen = 0;
  for (const uint32_t token : order) {
    if (before >= options.top_p) break;
    before += mass(token) / under;
    const uint32_t bits = threefry_2x32({seed, 0}, {token, 0})[0];
    const double score = logits[token] / options.temperature - std::log(-std::log(((bits >> 9) + 0.5) * 0x1p-23));
    if (score > best) best = score, chosen = token;
  }
  return chosen;
}

TEST_CASE("Llama draws the tokens that a plain program draws", "[models][gpu]") {
  const Device device = device_or_skip();
  const Graph graph = graph_of<Sampled>();
  const plain::WeightMap values = random_weights(graph, 2);
  const Weights weights = upload(device, graph, values);
  const uint32_t seed = GENERATE(1u, 77u);
  Executable<Sampled> decode(device, {.weights = weights});
  auto dynamic = at_run_time<Sampled>(device, weights);
  decode.set<"seed">(seed);
  CHECK(dynamic.set("seed", seed).ok());
  std::vector<uint32_t> tokens = {17};
  while (tokens.size() < 25) {
    const auto position = static_cast<uint32_t>(tokens.size() - 1);
    decode.set<"tokens">(std::array{tokens.back()}), decode.set<"position">(position);
    decode.run();
    const auto next = static_cast<uint32_t>((*decode.get<"next">())[0]);
    CHECK(dynamic.set("tokens", std::array{tokens.back()}).ok());
    CHECK(dynamic.set("position", position).ok());
    dynamic.run();
    CHECK(static_cast<uint32_t>((*dynamic.get<int32_t>("next"))[0]) == next);
    tokens.push_back(next);
  }
  const plain::Rows logits = plain::llama(kLlamaSampled, values, tokens);
  for (uint32_t i = 0; i + 1 < tokens.size(); ++i) {
    CAPTURE(i);
    CHECK(tokens[i + 1] == drawn(logits[i], seed + i));
  }
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
  Executable<FusedPrefill> fused(device, {.weights = weights});
  fused.set<"tokens">(prompt), fused.set<"position">(0u);
  fused.run();
  const std::vector<float> same = *fused.get<"logits">();
  CHECK_THAT(std::vector<double>(same.begin(), same.end()),
             CloseTo(std::vector<double>(all.begin(), all.end()), model_bound(kLlama.layers)));
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
}  // namespace rlxgpu::core::testing

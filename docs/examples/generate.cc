// generate: a decoder writes tokens. Its weights come from a .safetensors file, its tokens are drawn on the GPU.
//
//   generate --make model.safetensors                 a small model with random weights
//   generate model.safetensors --count 32 --seed 7    the tokens that follow a prompt
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "docs/examples/llama.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/load/safetensors.h"

namespace {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix
using namespace rlxgpu::core;  // NOLINT: it looks into the graph, too

inline constexpr examples::LlamaSize kSize = {.layers = 2,
                                              .width = 64,
                                              .heads = 4,
                                              .kv_heads = 2,
                                              .head = 16,
                                              .hidden = 160,
                                              .vocabulary = 256,
                                              .context = 256,
                                              .sampled = true};
inline constexpr uint32_t kMost = 32;  // tokens that are read at once
using Prefill = examples::LlamaPrompt<kSize, kMost>;
using Decode = examples::Llama<kSize, 1>;

void check(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str()), std::exit(1);
}

// Every weight that the program names, at random.
Status make(const std::string& path) {
  Builder builder;
  Decode::build(builder);
  const Graph& graph = builder.graph();
  std::mt19937 random(1);
  std::vector<std::vector<float>> values;
  std::vector<StoredTensor> tensors;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::param) continue;
    const Shape& shape = graph.value(node.results.first).shape;
    StoredTensor& tensor = tensors.emplace_back();
    tensor.name = graph.name(node.name);
    for (int axis = 0; axis < shape.rank(); ++axis) tensor.shape.push_back(shape[axis]);
    std::vector<float>& elements = values.emplace_back(static_cast<size_t>(shape.count()));
    std::normal_distribution<float> normal(0, tensor.name == "words" ? 1 : 1 / std::sqrt(static_cast<float>(shape[0])));
    for (float& element : elements) element = shape.rank() == 1 ? 1 : normal(random);
  }
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].data = std::as_bytes(std::span(values[i]));
  return write_safetensors(path, tensors);
}

void generate(const std::string& path, std::vector<uint32_t> tokens, size_t count, uint32_t seed) {
  Result<Device> device = open_device();
  check(device.status());
  Result<Safetensors> file = Safetensors::open(path);
  check(file.status());

  const Weights weights(*device);
  const States cache(*device);
  check(load_weights(*file, Executable<Decode>::program, weights));
  Executable<Prefill> prefill(*device, {.weights = weights, .states = cache});
  Executable<Decode> decode(*device, {.weights = weights, .states = cache});
  prefill.set<"seed">(seed), decode.set<"seed">(seed);

  const size_t last = tokens.size() + count;
  uint32_t position = 0;
  int32_t next = 0;  // what comes after the tokens so far
  for (uint32_t read = 0; position < tokens.size(); position += read) {
    read = std::min(kMost, static_cast<uint32_t>(tokens.size()) - position);
    prefill.set<"count">(read);
    prefill.set<"tokens">(std::span(tokens).subspan(position, read));
    prefill.set<"position">(position);
    prefill.run();
    auto drawn = prefill.get<"next">();
    check(drawn.status());
    next = drawn->back();
  }

  const auto start = std::chrono::steady_clock::now();
  for (tokens.push_back(static_cast<uint32_t>(next)); tokens.size() < last; ++position) {
    decode.set<"tokens">(std::array{tokens[position]});
    decode.set<"position">(position);
    decode.run();
    auto drawn = decode.get<"next">();
    check(drawn.status());
    tokens.push_back(static_cast<uint32_t>((*drawn)[0]));
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  for (const uint32_t token : tokens) std::printf("%u ", token);
  std::printf("\n");
  std::fprintf(stderr, "%zu tokens in %.2f s on %s\n", count, passed.count(), device->label().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A decoder writes tokens."};
  std::string path;
  std::vector<uint32_t> prompt = {72, 101, 108, 108, 111, 44, 32, 71, 80, 85};
  size_t count = 32;
  uint32_t seed = 1;
  bool make_one = false;
  app.add_option("weights", path, "a .safetensors file")->required();
  app.add_flag("--make", make_one, "write one with random weights");
  app.add_option("--prompt", prompt, "tokens to begin with");
  app.add_option("--count", count, "tokens to write");
  app.add_option("--seed", seed, "of the draws");
  CLI11_PARSE(app, argc, argv);
  const auto fits = [](uint32_t token) { return token < static_cast<uint32_t>(kSize.vocabulary); };
  if (prompt.empty() || prompt.size() + count > static_cast<size_t>(kSize.context) ||
      !std::all_of(prompt.begin(), prompt.end(), fits)) {
    std::fprintf(stderr, "generate: 1 to %d tokens in all, each below %d\n", kSize.context, kSize.vocabulary);
    return 1;
  }
  if (make_one) {
    check(make(path));
  } else {
    generate(path, std::move(prompt), count, seed);
  }
  return 0;
}

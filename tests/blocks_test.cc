// Packed weights: our codecs in C++ and WGSL against ggml's, and products and embeddings of them.
#include "rlxgpu/kernels/blocks/blocks.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "ggml.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

extern "C" void dequantize_row_q8_K(const void* blocks, float* y, int64_t count);  // of ggml, in no header of it

namespace rlxgpu::core::testing {
namespace {

std::vector<uint32_t> words_of(const std::vector<uint8_t>& bytes) {
  std::vector<uint32_t> words((bytes.size() + 3) / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

// Random numbers as ggml packs them, no element more important than another. (It does not pack into Q8_K here.)
std::vector<uint8_t> packed(Storage storage, int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<uint8_t> bytes(static_cast<size_t>(block_bytes(storage, rows, columns)));
  if (storage == Storage::q8_k) {
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    for (size_t at = 0; at < bytes.size(); at += 292) {
      const float scale = number(random) / 128;
      std::memcpy(bytes.data() + at, &scale, 4);
    }
    return bytes;
  }
  std::vector<float> x(static_cast<size_t>(rows * columns));
  for (float& v : x) v = number(random);
  const std::vector<float> importance(static_cast<size_t>(columns), 1.0f);
  const auto type = static_cast<ggml_type>(codec_of(storage).gguf_type);
  REQUIRE(ggml_quantize_chunk(type, x.data(), bytes.data(), 0, rows, columns, importance.data()) == bytes.size());
  return bytes;
}
// Any bits at all.
std::vector<uint8_t> noise(Storage storage, int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(block_bytes(storage, rows, columns)));
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}
std::vector<float> by_ggml(Storage storage, const std::vector<uint8_t>& bytes) {
  const Codec& codec = codec_of(storage);
  std::vector<float> y(bytes.size() / static_cast<size_t>(codec.bytes) * static_cast<size_t>(codec.elements));
  if (storage == Storage::q8_k) {
    dequantize_row_q8_K(bytes.data(), y.data(), static_cast<int64_t>(y.size()));
  } else {
    ggml_get_type_traits(static_cast<ggml_type>(codec.gguf_type))
        ->to_float(bytes.data(), y.data(), static_cast<int64_t>(y.size()));
  }
  return y;
}
// Bit for bit; a NaN is any NaN. Adapters may flush what is below the least normal number.
size_t differences(const std::vector<float>& got, const std::vector<float>& wanted, bool flushed) {
  size_t count = got.size() == wanted.size() ? 0 : 1;
  for (size_t i = 0; count == 0 && i < got.size(); ++i) {
    const bool nan = std::isnan(got[i]) && std::isnan(wanted[i]);
    const bool small = flushed && std::abs(wanted[i]) < 0x1p-126f && got[i] == 0;
    if (!nan && !small && std::bit_cast<uint32_t>(got[i]) != std::bit_cast<uint32_t>(wanted[i])) {
      UNSCOPED_INFO("element " << i << ": " << got[i] << ", ggml has " << wanted[i]);
      ++count;
    }
  }
  return count;
}
Storage each_storage() {
  return static_cast<Storage>(GENERATE(Catch::Generators::range(0, static_cast<int>(std::size(kCodecs)))));
}

TEST_CASE("the table of codecs is ggml's", "[blocks]") {
  const Codec& codec = codec_of(each_storage());
  const auto type = static_cast<ggml_type>(codec.gguf_type);
  std::string name = ggml_type_name(type);
  for (char& c : name) c = static_cast<char>(std::toupper(c));
  CHECK(name == codec.name);
  CHECK(ggml_blck_size(type) == codec.elements);
  CHECK(ggml_type_size(type) == static_cast<size_t>(codec.bytes));
}

TEST_CASE("blocks mean in C++ what they mean to ggml", "[blocks]") {
  const Storage storage = each_storage();
  const Codec& codec = codec_of(storage);
  CAPTURE(codec.name);
  for (const auto& bytes : {packed(storage, 4, 1024, 1), noise(storage, 256, 1024, 2)}) {
    std::vector<float> got;
    for (size_t b = 0; b < bytes.size(); b += static_cast<size_t>(codec.bytes)) {
      for (int j = 0; j < codec.elements; ++j) got.push_back(codec.decode(bytes.data() + b, j));
    }
    CHECK(differences(got, by_ggml(storage, bytes), false) == 0);
  }
}

TEST_CASE("blocks mean on the device what they mean to ggml", "[blocks][gpu]") {
  const Device device = device_or_skip();
  const Storage storage = each_storage();
  CAPTURE(codec_of(storage).name);
  constexpr int64_t kRows = 65, kColumns = 768;
  for (const auto& bytes : {packed(storage, kRows, kColumns, 3), noise(storage, kRows, kColumns, 4)}) {
    DynamicGraph graph;
    graph->output("y",
                  embedding(block_param(*graph, "w", storage, kRows, kColumns), graph->input("tokens", i32, {kRows})));
    auto exe = Executable<DynamicGraph>::create(device, graph);
    REQUIRE(exe.status().ToString() == "OK");
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < kRows; ++i) tokens.push_back(i);
    REQUIRE(exe->set("w", words_of(bytes)).ok());
    REQUIRE(exe->set("tokens", tokens).ok());
    exe->run();
    const Result<std::vector<float>> y = exe->get<float>("y");
    REQUIRE(y.status().ToString() == "OK");
    CHECK(differences(*y, by_ggml(storage, bytes), true) == 0);
  }
}

TEST_CASE("products with packed weights", "[blocks][gpu]") {
  const Device device = device_or_skip();
  const Storage storage = each_storage();
  CAPTURE(codec_of(storage).name);
  struct Case {
    int64_t m, n, k;
  };
  // Formats differ in how 32 neighbours are read: a small product of each is enough, and all sizes of some.
  const bool all = storage == Storage::q4_0 || storage == Storage::q4_k || storage == Storage::iq3_s;
  for (const auto& [m, n, k] : {Case{3, 5, 512}, Case{1, 37, 512}, Case{70, 67, 256}}) {
    if (m != 3 && !all) continue;
    const std::vector<uint8_t> bytes = packed(storage, n, k, 5);
    const std::vector<uint32_t> words = words_of(bytes);
    // What ggml reads from the blocks, multiplied here.
    const std::vector<float> w = by_ggml(storage, bytes);
    const Judge judge = [&, m = m, n = n, k = k](const reference::Arrays& inputs) {
      const reference::Array &x = inputs.at("x"), &b = inputs.at("b");
      std::vector<double> y(static_cast<size_t>(m * n));
      for (int64_t i = 0; i < m * n; ++i) {
        double sum = b[i % n];
        for (int64_t j = 0; j < k; ++j)
          sum += x[i / n * k + j] * static_cast<double>(w[static_cast<size_t>(i % n * k + j)]);
        y[static_cast<size_t>(i)] = sum > 0 ? sum : 0;
      }
      return std::map<std::string, std::vector<double>>{{"y", y}};
    };
    check_every_variant(
        device, kBlockMatmul,
        [&, m = m, n = n, k = k](Builder& g) {
          Tensor x = g.input("x", f32, {m, k}), b = g.input("b", f32, {n});
          g.output("y", relu(matmul(x, block_param(g, "w", storage, n, k)) + b));
        },
        {.bound = sum_bound(f32, k, 4.0), .given = {{"w", {words.begin(), words.end()}}}, .judge = judge});
  }
}

TEST_CASE("products of rows with packed matrices of their experts", "[blocks][gpu]") {
  const Device device = device_or_skip();
  const Storage storage = GENERATE(Storage::q8_0, Storage::q4_k, Storage::mxfp4, Storage::iq3_s);
  CAPTURE(codec_of(storage).name);
  constexpr int64_t kRows = 5, kN = 7, kK = 512, kExperts = 3;
  const std::vector<uint8_t> bytes = packed(storage, kExperts * kN, kK, 6);
  const std::vector<uint32_t> words = words_of(bytes);
  const std::vector<float> w = by_ggml(storage, bytes);
  const std::vector<double> which = {2, 0, 2, 3, -1};  // the last two do not exist
  const Judge judge = [&](const reference::Arrays& inputs) {
    const reference::Array& x = inputs.at("x");
    std::vector<double> y(static_cast<size_t>(kRows * kN));
    for (int64_t i = 0; i < 3 * kN; ++i) {
      const auto row = static_cast<int64_t>(which[static_cast<size_t>(i / kN)]) * kN + i % kN;
      double sum = 0;
      for (int64_t j = 0; j < kK; ++j)
        sum += x[i / kN * kK + j] * static_cast<double>(w[static_cast<size_t>(row * kK + j)]);
      y[static_cast<size_t>(i)] = sum;
    }
    for (double& v : y) v = v > 0 ? v : 0;
    return std::map<std::string, std::vector<double>>{{"y", y}};
  };
  check_every_variant(
      device, kBlockGroupedMatmul,
      [&](Builder& g) {
        const Tensor x = g.input("x", f32, {kRows, kK}), e = g.input("e", i32, {kRows});
        g.output("y", relu(grouped_matmul(x, block_param(g, "w", storage, kN, kK, kExperts), e)));
      },
      {.bound = sum_bound(f32, kK, 4.0), .given = {{"w", {words.begin(), words.end()}}, {"e", which}}, .judge = judge});
}

TEST_CASE("gated products of packed matrices", "[blocks][gpu]") {
  const Device device = device_or_skip();
  const auto [storage, activation, grouped] =
      GENERATE(table<Storage, Activation, bool>({{Storage::q4_k, Activation::silu, false},
                                                 {Storage::iq2_xs, Activation::gelu_tanh, false},
                                                 {Storage::q8_0, Activation::silu, true},
                                                 {Storage::q4_0, Activation::gelu, true}}));
  CAPTURE(codec_of(storage).name, grouped);
  constexpr int64_t kRows = 3, kN = 7, kK = 512;
  const int64_t experts = grouped ? 2 : 1;
  const std::vector<uint8_t> gates = packed(storage, experts * kN, kK, 7), ups = packed(storage, experts * kN, kK, 8);
  const std::vector<uint32_t> gate_words = words_of(gates), up_words = words_of(ups);
  const std::vector<float> gate = by_ggml(storage, gates), up = by_ggml(storage, ups);
  const std::vector<double> which = {1, 0, 2};  // the last does not exist
  const Judge judge = [&, activation = activation, grouped = grouped](const reference::Arrays& inputs) {
    const reference::Array& x = inputs.at("x");
    std::vector<double> y(static_cast<size_t>(kRows * kN));
    for (int64_t i = 0; i < kRows * kN; ++i) {
      const auto expert = grouped ? static_cast<int64_t>(which[static_cast<size_t>(i / kN)]) : 0;
      double sums[2] = {};
      for (int64_t j = 0; expert < experts && j < kK; ++j) {
        const auto at = static_cast<size_t>((expert * kN + i % kN) * kK + j);
        sums[0] += x[i / kN * kK + j] * double{gate[at]}, sums[1] += x[i / kN * kK + j] * double{up[at]};
      }
      y[static_cast<size_t>(i)] = activated(activation, sums[0]) * sums[1];
    }
    return std::map<std::string, std::vector<double>>{{"y", y}};
  };
  check_every_variant(device, kBlockGatedMatmul,
                      [&, storage = storage, activation = activation, grouped = grouped](Builder& g) {
                        const Tensor x = g.input("x", f32, {kRows, kK});
                        const Blocks a = block_param(g, "gate", storage, kN, kK, experts),
                                     b = block_param(g, "up", storage, kN, kK, experts);
                        g.output("y",
                                 gated_matmul(x, a, b, activation, grouped ? g.input("e", i32, {kRows}) : Tensor()));
                      },
                      // Each sum is at most 16 or so of 2 * 512; each one's error is multiplied by the other.
                      {.bound = sum_bound(f32, kK, 4.0 * 64),
                       .given = {{"gate", {gate_words.begin(), gate_words.end()}},
                                 {"up", {up_words.begin(), up_words.end()}},
                                 {"e", which}},
                       .judge = judge});
}

TEST_CASE("packed weights: what is wrong is said", "[blocks]") {
  CHECK(message_of([](Builder& g) { block_param(g, "w", Storage::q4_k, 2, 100); }) ==
        "block_param(\"w\", Q4_K, 2, 100): rows are one or more whole blocks of 256, 4 GiB of elements at most");
  CHECK(error_of([](Builder& g) {
          matmul(g.input("x", f32, {2, 64}), block_param(g, "w", Storage::q8_0, 4, 32));
        }).find("inner dimensions differ (64 vs rows of 32)") != std::string::npos);
}

}  // namespace
}  // namespace rlxgpu::core::testing

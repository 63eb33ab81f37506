// Random numbers and sampling: known answers, distributions, the same tokens as the reference on every adapter.
#include "rlxgpu/kernels/sample/sample.h"

#include <cmath>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("threefry gives its published answers", "[random]") {
  CHECK(threefry_2x32({0, 0}, {0, 0}) == TwoWords{0x6b200159u, 0x99ba4efeu});
  CHECK(threefry_2x32({~0u, ~0u}, {~0u, ~0u}) == TwoWords{0x1cb996fcu, 0xbb002be7u});
  CHECK(threefry_2x32({0x13198a2eu, 0x03707344u}, {0x243f6a88u, 0x85a308d3u}) == TwoWords{0xc4923a9cu, 0x483df7a0u});
}

TEST_CASE("random numbers and sampling: what is wrong is said", "[random]") {
  CHECK(message_of([](Builder& g) { rng_uniform(g.input("s", f32, {}), {3}); }) ==
        "rng_uniform([], u32[3]): a seed is one u32, as g.scalar(\"seed\", u32) is");
  CHECK(message_of([](Builder& g) { dropout(g.input("x", f32, {3}), 1, g.scalar("s", u32)); }) ==
        "dropout: a probability from 0 to below 1 is wanted");
  CHECK(message_of([](Builder& g) { sample(g.input("x", f32, {}), g.scalar("s", u32)); }) ==
        "sample([]): takes rows of logits");
  CHECK(message_of([](Builder& g) { sample(g.input("x", f32, {3}), g.scalar("s", u32), {.top_p = 0}); }) ==
        "sample: temperature and top_k are at least 0, top_p is above 0 and at most 1, min_p from 0 to 1");
}

TEST_CASE("random bits and uniform numbers are the reference's to the last bit", "[random][gpu]") {
  const Device device = device_or_skip();
  const Shape shape = GENERATE(Shape{}, Shape{1}, Shape{0, 3}, Shape{37}, Shape{3, 50}, Shape{2, 3, 2, 5});
  const auto build = [&](Builder& g) {
    Tensor seed = g.scalar("seed", u32);
    g.output("bits", rng_bits(seed, shape));
    g.output("other", rng_bits(seed, shape, 7));
    g.output("uniform", rng_uniform(seed, shape, 4000000000u));
    g.output("dropped", dropout(g.input("x", f32, shape), 0.25f, seed, 1));
  };
  for (const double seed : {0.0, 4294967295.0})
    check_agrees(device, build, {.bound = {0, 0x1p-23}, .numbers = {{"seed", seed}}});
}

TEST_CASE("normal numbers are those of the reference", "[random][gpu]") {
  const Device device = device_or_skip();
  // The logarithm, the root, the cosine of an angle up to 2 pi that is rounded twice, and two products.
  const Bound bound = {8 * 0x1p-23, 16 * 0x1p-23};
  check_agrees(device, [](Builder& g) { g.output("y", rng_normal(g.scalar("seed", u32), {30, 101})); },
               {.bound = bound, .numbers = {{"seed", 11}}});
}

// What a graph of one output gives, with seed 5.
template <typename T>
std::vector<T> drawn(const Build& build, const std::vector<float>& x = {}) {
  DynamicGraph graph;
  build(*graph);
  auto executable = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("seed", 5).ok());
  if (!x.empty()) REQUIRE(executable->set("x", x).ToString() == "OK");
  executable->run();
  auto y = executable->template get<T>("y");
  REQUIRE(y.status().ToString() == "OK");
  return *std::move(y);
}

TEST_CASE("dropout drops the share p and scales the rest by 1 / (1 - p)", "[random][gpu]") {
  constexpr int kCount = 20000;
  const float p = GENERATE(0.0f, 0.25f, 0.9f);
  CAPTURE(p);
  std::vector<float> x(kCount);
  for (int i = 0; i < kCount; ++i) x[static_cast<size_t>(i)] = 0.5f + static_cast<float>(i % 97);
  const std::vector<float> y = drawn<float>(
      [&](Builder& g) { g.output("y", dropout(g.input("x", f32, {kCount}), p, g.scalar("seed", u32), 1)); }, x);
  int dropped = 0, wrong = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double kept = static_cast<double>(x[i]) / (1 - static_cast<double>(p));
    dropped += y[i] == 0;
    wrong += y[i] != 0 && std::abs(static_cast<double>(y[i]) - kept) > 2 * 0x1p-23 * kept;
  }
  CHECK(wrong == 0);
  CHECK(std::abs(dropped - p * kCount) <= 5 * std::sqrt(kCount * p * (1 - p)));
}

TEST_CASE("uniform and normal numbers have their distributions", "[random][gpu]") {
  constexpr int kRows = 64, kCols = 512, kCount = kRows * kCols;
  const std::vector<float> uniform =
      drawn<float>([](Builder& g) { g.output("y", rng_uniform(g.scalar("seed", u32), {kRows, kCols})); });
  std::vector<double> bins(64);
  for (const float u : uniform) bins[static_cast<size_t>(u * 64)] += 1;
  double chi = 0;
  for (const double n : bins) chi += (n - kCount / 64.0) * (n - kCount / 64.0) / (kCount / 64.0);
  CHECK(chi < 130);  // 63 degrees of freedom: more in 1 of 10^6 cases
  const std::vector<float> normal =
      drawn<float>([](Builder& g) { g.output("y", rng_normal(g.scalar("seed", u32), {kRows, kCols})); });
  double sum = 0, squares = 0, fourth = 0;
  for (const double v : normal) sum += v, squares += v * v, fourth += v * v * v * v;
  CHECK(std::abs(sum / kCount) < 5 / std::sqrt(kCount));
  CHECK(std::abs(squares / kCount - 1) < 5 * std::sqrt(2.0 / kCount));
  CHECK(std::abs(fourth / kCount - 3) < 5 * std::sqrt(96.0 / kCount));
}

TEST_CASE("sampled tokens are the reference's", "[sample][gpu]") {
  const Device device = device_or_skip();
  const SampleOptions options = GENERATE(
      SampleOptions{}, SampleOptions{.temperature = 0}, SampleOptions{.temperature = 0.5f, .stream = 3},
      SampleOptions{.top_k = 5}, SampleOptions{.top_k = 1}, SampleOptions{.top_p = 0.6f}, SampleOptions{.min_p = 0.2f},
      SampleOptions{.temperature = 1.3f, .top_k = 40, .top_p = 0.9f, .min_p = 0.05f});
  CAPTURE(options.temperature, options.top_k, options.top_p, options.min_p);
  check_agrees(
      device, [&](Builder& g) { g.output("y", sample(g.input("x", f32, {3, 2, 67}), g.scalar("seed", u32), options)); },
      {.bound = {}, .numbers = {{"seed", 21}}});
}

TEST_CASE("sampling takes few dispatches", "[sample]") {
  const auto steps = [](const SampleOptions& options) {
    DynamicGraph graph;
    graph->output("y", sample(graph->input("x", f32, {1, 4096}), graph->scalar("seed", u32), options));
    return compiled(graph.graph()).steps.size();
  };
  CHECK(steps({}) == 1);
  CHECK(steps({.top_k = 40, .top_p = 0.95f}) == 3);  // eight runs of 512, one merge, and the draw
  CHECK(steps({.top_p = 0.95f, .min_p = 0.1f}) == 3);
}

TEST_CASE("other kinds of logits", "[sample][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    Tensor seed = g.scalar("seed", u32);
    g.output("half", sample(g.input("h", f16, {5, 33}), seed, {.top_k = 7}));
    g.output("one row", sample(g.input("r", f32, {20}), seed, {.top_p = 0.5f}));
    g.output("no row", sample(g.input("n", f32, {0, 20}), seed));
    g.output("one token", sample(g.input("o", f32, {4, 1}), seed));
    Tensor logits = g.input("l", f32, {2, 9});
    g.output("token", sample(logits, seed)), g.output("logits", logits);  // which stay as they are
  };
  check_agrees(device, build, {.bound = {}, .numbers = {{"seed", 1}}});
}

TEST_CASE("tokens are drawn with their probabilities", "[sample][gpu]") {
  constexpr int kRows = 4096;
  const std::vector<float> logits = {0.5f, -1.0f, 2.0f, 0.0f, 1.0f, -3.0f, 1.5f, 0.2f};
  const SampleOptions options =
      GENERATE(SampleOptions{}, SampleOptions{.top_k = 4}, SampleOptions{.temperature = 0.7f, .top_p = 0.8f},
               SampleOptions{.min_p = 0.3f});
  std::vector<float> x;
  for (int i = 0; i < kRows; ++i) x.insert(x.end(), logits.begin(), logits.end());
  const std::vector<int32_t> tokens = drawn<int32_t>(
      [&](Builder& g) { g.output("y", sample(g.input("x", f32, {kRows, 8}), g.scalar("seed", u32), options)); }, x);

  // The distribution, worked out by hand from the greatest to the least.
  std::vector<size_t> order = {2, 6, 4, 0, 7, 3, 1, 5};
  std::vector<double> p(8);
  double sum = 0, before = 0, chi = 0;
  const size_t count = options.top_k > 0 ? static_cast<size_t>(options.top_k) : 8;
  for (size_t i = 0; i < count; ++i) sum += p[order[i]] = std::exp(logits[order[i]] / options.temperature);
  double left = 0;
  for (size_t i = 0; i < count; ++i) {
    double& chance = p[order[i]];
    const double share = chance / sum;
    if (before >= options.top_p || share < options.min_p * p[order[0]] / sum) chance = 0;
    before += share;
    left += chance;
  }
  std::vector<double> found(8);
  for (const int32_t token : tokens) found[static_cast<size_t>(token)] += 1;
  for (size_t i = 0; i < 8; ++i) {
    const double expected = kRows * p[i] / left;
    CAPTURE(i, expected, found[i]);
    if (expected == 0) {
      CHECK(found[i] == 0);
    } else {
      chi += (found[i] - expected) * (found[i] - expected) / expected;
    }
  }
  CHECK(chi < 41);  // 7 degrees of freedom: more in 1 of 10^6 cases
}

}  // namespace
}  // namespace rlxgpu::core::testing

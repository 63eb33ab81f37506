#include "rlxgpu/kernels/signal/signal.h"

#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "docs/examples/log_mel.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

const double kPi = std::acos(-1.0);

// Of transforms of n points in [-2, 2]: a few ulps a stage of what a result can be (tests/fft/fft_test.cc).
Bound spectrum_bound(int64_t n) {
  const double stages = std::log2(static_cast<double>(n) + 1) + 2;
  return rounding(f32) + Bound{stages * 0x1p-23 * 4 * std::sqrt(static_cast<double>(n)), stages * 0x1p-23};
}
// A square has twice the relative error, and a result is at most 2 n.
Bound power_bound(int64_t n) {
  const Bound b = spectrum_bound(n);
  return {4 * static_cast<double>(n) * b.absolute, 4 * b.relative};
}

std::vector<float> noise(int64_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) v = std::uniform_real_distribution<float>(-1, 1)(random);
  return x;
}

// What a graph of one input x and one output y makes of x.
std::vector<float> run(const Device& device, const Build& build, const std::vector<float>& x) {
  DynamicGraph graph;
  build(*graph);
  REQUIRE(graph.graph().error.view() == "");
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", x).ToString() == "OK");
  executable->run();
  const auto y = executable->get<float>("y");
  REQUIRE(y.status().ToString() == "OK");
  return *y;
}

TEST_CASE("signal: what is wrong is said", "[signal]") {
  const auto error_of = [](auto build) {
    Builder g;
    build(g);
    return std::string(g.graph().error.view());
  };
  CHECK(error_of([](Builder& g) {
          frames(g.input("x", f32, {3}), 4, 1);
        }).ends_with(": frames([3]): 3 samples are not enough for a piece of 4"));
  CHECK(error_of([](Builder& g) {
          stft(g.input("x", f32, {}), {});
        }).ends_with(": frames([]): needs a signal of rank 1 at least"));
  CHECK(error_of([](Builder& g) {
          mel_bands(g.input("x", f32, {3, 200}), 400);
        }).ends_with("needs (..., pieces, 201) for transforms of 400 points"));
  CHECK(error_of([](Builder& g) {
          peaks(g.input("x", f32, {30}), 17);
        }).ends_with(": peaks: 17 is not between 1 and 16"));
  CHECK(error_of([](Builder& g) {
          resample(g.input("x", f32, {30}), 0, 1);
        }).ends_with("factors 0 and 1 must be 1 at least"));
}

TEST_CASE("windows are those of the textbooks", "[signal]") {
  for (const int64_t n : {1, 2, 7, 400}) {
    for (const bool periodic : {true, false}) {
      const double period = static_cast<double>(periodic ? n : n - 1);
      for (int64_t k = 0; k < n; ++k) {
        const double t = period < 1 ? 0 : 2 * kPi * static_cast<double>(k) / period;
        const bool one = period < 1;
        CHECK(std::fabs(window_weight(Window::hann, k, n, periodic) - (one ? 1 : 0.5 - 0.5 * std::cos(t))) < 1e-15);
        CHECK(std::fabs(window_weight(Window::hamming, k, n, periodic) - (one ? 1 : 0.54 - 0.46 * std::cos(t))) <
              1e-15);
        CHECK(std::fabs(window_weight(Window::blackman, k, n, periodic) -
                        (one ? 1 : 0.42 - 0.5 * std::cos(t) + 0.08 * std::cos(2 * t))) < 1e-15);
        CHECK(window_weight(Window::rectangular, k, n, periodic) == 1);
      }
    }
  }
}

TEST_CASE("pieces and their sums agree with the reference", "[signal][gpu]") {
  const Device device = device_or_skip();
  check_agrees(device,
               [](Builder& g) {
                 const Tensor x = g.input("x", f32, {2, 37});
                 g.output("overlapping", frames(x, 8, 3));
                 g.output("apart", frames(x, 4, 9));
                 g.output("all", frames(x, 37, 1));
                 g.output("narrow", frames(g.input("h", f16, {20}), 5, 2));
               },
               {.bound = {}});
  check_agrees(device,
               [](Builder& g) {
                 const Tensor x = g.input("x", f32, {2, 5, 8});
                 g.output("overlapping", overlap_add(x, 3, 0, 20));
                 g.output("cut", overlap_add(x, 3, 2, 7));
                 g.output("gaps", overlap_add(x, 11, 0, 60));
                 g.output("nothing", overlap_add(x, 3, 0, 0));
               },
               {.bound = sum_bound(f32, 3, 2)});
}

TEST_CASE("stft and istft agree with the reference", "[signal][gpu]") {
  const Device device = device_or_skip();
  const StftOptions options =
      GENERATE(StftOptions{16, 4}, StftOptions{20, 7, Window::hamming, false}, StftOptions{9, 9, Window::rectangular});
  CAPTURE(options.length, options.hop);
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", f32, {2, 100});
    const Tensor X = stft(x, options);
    g.output("X", X);
    g.output("power", power(X));
    g.output("back", istft(X, 100, options));
  };
  check_agrees(device, build, {.bound = power_bound(options.length)});
  CHECK(compiled([&](Builder& g) { g.output("y", power(stft(g.input("x", f32, {2, 100}), options))); }).steps.size() ==
        1);
}

TEST_CASE("istft of stft is the signal again", "[signal][gpu]") {
  const Device device = device_or_skip();
  const std::vector<float> x = noise(5000);
  for (const StftOptions& options :
       {StftOptions{64, 16}, StftOptions{64, 25, Window::hamming}, StftOptions{100, 50, Window::blackman}}) {
    const auto y = run(
        device, [&](Builder& g) { g.output("y", istft(stft(g.input("x", f32, {5000}), options), 5000, options)); }, x);
    const auto covered = static_cast<size_t>((5000 / options.hop) * options.hop);  // by the middle of a piece
    double worst = 0;
    for (size_t i = 0; i < covered; ++i) worst = std::max(worst, std::fabs(static_cast<double>(x[i] - y[i])));
    CHECK(worst < 64 * 0x1p-23);  // two transforms, and a division by a weight that may be a tenth
  }
}

TEST_CASE("mel bands and log_mel agree with the reference", "[signal][gpu]") {
  const Device device = device_or_skip();
  std::mt19937 random(3);
  std::vector<double> powers(2 * 30 * 201);
  for (double& v : powers) v = std::exp(std::uniform_real_distribution<double>(-20, 5)(random));
  check_agrees(device,
               [](Builder& g) {
                 const Tensor x = g.input("x", f32, {2, 30, 201});
                 g.output("bands", mel_bands(x, 400));
                 g.output("few", mel_bands(x, 400, {.sample_rate = 8000, .mels = 7, .lowest = 300, .highest = 3000}));
                 g.output("twice", mel_bands(x, 400) * 2.0f);
               },
               {.bound = sum_bound(f32, 201, 0), .given = {{"x", powers}}});
  // Logarithms to 2^-21 absolutely (WGSL), of bands to a few ulps; a quarter of it is stored.
  check_agrees(device,
               [](Builder& g) {
                 const Tensor x = g.input("x", f32, {2, 30, 201});
                 g.output("log", apply(kLogMel, {x}, {400, 16000, 80, 0, 0}, std::source_location::current()));
               },
               {.bound = rounding(f32) + Bound{0x1p-20, 4 * 0x1p-23}, .given = {{"x", powers}}});
}

TEST_CASE("log_mel of ten seconds is three dispatches", "[signal][gpu]") {
  const Device device = device_or_skip();
  const auto build = examples::LogMel::build;
  STATIC_REQUIRE(Executable<examples::LogMel>::program.steps.size() == 3);
  CHECK(compiled(build, {}, device.target()).steps.size() <= 3);
  // Bins a hundred times below the mean magnitude have a hundred times its relative error: 1e-4 of the logarithm.
  check_agrees(device, [](Builder& g) { g.output("y", log_mel(g.input("x", f32, {2, 2000}))); }, {.bound = {1e-4, 0}});
}

TEST_CASE("welch and its peaks", "[signal][gpu]") {
  const Device device = device_or_skip();
  check_agrees(device,
               [](Builder& g) {
                 g.output("y", welch(g.input("x", f32, {3, 500}), {.length = 64, .hop = 32, .sample_rate = 100}));
               },
               {.bound = power_bound(64)});
  // Two tones: their lines are the greatest peaks, and the power under the whole density is that of the tones.
  std::vector<float> x(4096);
  for (size_t i = 0; i < x.size(); ++i) {
    const double t = static_cast<double>(i) / 1000;
    x[i] = static_cast<float>(3 * std::sin(2 * kPi * 125 * t) + std::sin(2 * kPi * 250 * t));
  }
  const WelchOptions options = {.length = 256, .hop = 128, .sample_rate = 1000};
  const auto density = run(device, [&](Builder& g) { g.output("y", welch(g.input("x", f32, {4096}), options)); }, x);
  double all = 0;
  for (const float v : density) all += v * 1000.0 / 256;
  CHECK(std::fabs(all - (9 + 1) / 2.0) < 0.01);
  DynamicGraph graph;
  const Peaks found = peaks(welch(graph->input("x", f32, {4096}), options), 2);
  graph->output("values", found.values);
  graph->output("indices", cast(found.indices, f32));
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", x).ToString() == "OK");
  executable->run();
  CHECK(*executable->get<float>("indices") == std::vector<float>{32, 64});  // 125 and 250 Hz of 1000 / 256 each
  CHECK(*executable->get<float>("values") == std::vector<float>{density[32], density[64]});
}

TEST_CASE("peaks agree with the reference", "[signal][gpu]") {
  const Device device = device_or_skip();
  check_agrees(device,
               [](Builder& g) {
                 const Peaks found = peaks(g.input("x", f32, {3, 50}), 4);
                 g.output("values", found.values);
                 g.output("indices", found.indices);
               },
               {.bound = {}});
  const auto few =
      run(device, [](Builder& g) { g.output("y", peaks(g.input("x", f32, {6}), 3).values); }, {0, 2, 1, 1, 1, 5});
  CHECK(few == std::vector<float>{5, 2, -HUGE_VALF});
}

TEST_CASE("convolution by transforms is convolution", "[signal][gpu]") {
  const Device device = device_or_skip();
  const std::vector<float> x = noise(300, 1), h = noise(77, 2);
  DynamicGraph graph;
  graph->output("y", fft_convolve(graph->input("x", f32, {300}), graph->input("h", f32, {77})));
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", x).ToString() == "OK");
  REQUIRE(executable->set("h", h).ToString() == "OK");
  executable->run();
  std::vector<double> expected(376), actual;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < h.size(); ++j) expected[i + j] += static_cast<double>(x[i]) * h[j];
  }
  const std::vector<float> y = *executable->get<float>("y");
  for (const float v : y) actual.push_back(v);
  CHECK_THAT(actual,
             CloseTo(expected, {3 * 10 * 0x1p-23 * std::sqrt(300.0 * 77) / 3, 0}));  // three transforms of ten stages
}

TEST_CASE("the analytic signal has the signal's envelope", "[signal][gpu]") {
  const Device device = device_or_skip();
  for (const int64_t n : {128, 125}) {
    CAPTURE(n);
    std::vector<float> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(std::cos(2 * kPi * 9 * static_cast<double>(i) / static_cast<double>(n)));
    const auto envelope = run(device, [&](Builder& g) { g.output("y", abs(hilbert(g.input("x", f32, {n})))); }, x);
    const auto same = run(device, [&](Builder& g) { g.output("y", real(hilbert(g.input("x", f32, {n})))); }, x);
    const auto phase = run(device, [&](Builder& g) { g.output("y", angle(hilbert(g.input("x", f32, {n})))); }, x);
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(std::fabs(envelope[i] - 1) < 1e-5f);
      CHECK(std::fabs(same[i] - x[i]) < 1e-5f);
      CHECK(std::fabs(std::cos(static_cast<double>(phase[i])) - x[i]) < 1e-5);
    }
  }
}

TEST_CASE("resample agrees with the reference and keeps tones", "[signal][gpu]") {
  const Device device = device_or_skip();
  check_agrees(device,
               [](Builder& g) {
                 const Tensor x = g.input("x", f32, {2, 50});
                 g.output("up", resample(x, 3, 1));
                 g.output("down", resample(x, 2, 6));
                 g.output("ratio", resample(x, 4, 7));
                 g.output("same", resample(x, 1, 1));
                 g.output("empty", resample(g.input("z", f32, {0, 9}), 2, 3));
               },
               {.bound = sum_bound(f32, 61, 2)});
  std::vector<float> x(882);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::sin(2 * kPi * 440 * static_cast<double>(i) / 44100));
  const auto y = run(device, [](Builder& g) { g.output("y", resample(g.input("x", f32, {882}), 160, 441)); }, x);
  REQUIRE(y.size() == 320);
  for (size_t i = 40; i + 40 < y.size(); ++i)
    CHECK(std::fabs(y[i] - std::sin(2 * kPi * 440 * static_cast<double>(i) / 16000)) < 2e-3);
}

}  // namespace
}  // namespace rlxgpu::core::testing

#include "rlxgpu/kernels/fft/fft.h"

#include <fftw3.h>

#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

using Complex = std::complex<double>;

// Every stage of a transform adds and multiplies numbers of the size of the result's root mean square, a few ulps of it
// each; Bluestein's has about three times as many stages. For inputs in [-2, 2] a result is below 4 sqrt(n) or so.
Bound fft_bound(int64_t n) {
  const double stages = std::log2(static_cast<double>(n) + 1) * (fourier::is_smooth(n) ? 1 : 3) + 1;
  return rounding(f32) + Bound{stages * 0x1p-23 * 4 * std::sqrt(static_cast<double>(n)), stages * 0x1p-23};
}

TEST_CASE("fft: what is wrong is said", "[fft]") {
  const auto error_of = [](auto build) {
    Builder g;
    build(g);
    return std::string(g.graph().error.view());
  };
  CHECK(error_of([](Builder& g) {
          fft(g.input("x", c64, {2, 3}), 2);
        }).ends_with(": fft(c64[2,3]): axis 2 does not exist in rank 2"));
  CHECK(error_of([](Builder& g) { fft(g.input("x", f32, {3})); }).ends_with(": fft([3]): takes c64, not f32"));
  CHECK(error_of([](Builder& g) { rfft(g.input("x", c64, {3})); }).ends_with(": rfft(c64[3]): takes a float, not c64"));
  CHECK(error_of([](Builder& g) {
          irfft(g.input("x", c64, {3}), 7);
        }).ends_with(": irfft(c64[3]): a result of length 7 has 4 coefficients, not 3"));
  CHECK(error_of([](Builder& g) {
          fft(g.input("x", c64, {3, 0}));
        }).ends_with(": fft(c64[3,0]): a length of 0 is not between 1 and 2^24"));
  CHECK(error_of([](Builder& g) {
          fft(g.input("x", c64, {g.extent("n", 8)}));
        }).ends_with("the length of axis 0 must be known: it is a run-time extent"));
}

bool has_registers(const Device& device) {
  return device.target().subgroup_min == 8 && device.target().subgroup_max == 8;
}

// What FFTW, in double precision, makes of `rows` rows of n points. sign -1: forward.
std::vector<Complex> fftw(std::vector<Complex> x, int64_t n, int sign) {
  auto* const data = reinterpret_cast<fftw_complex*>(x.data());
  const int length = static_cast<int>(n), rows = static_cast<int>(static_cast<int64_t>(x.size()) / n);
  const fftw_plan plan =
      fftw_plan_many_dft(1, &length, rows, data, nullptr, 1, length, data, nullptr, 1, length, sign, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  return x;
}

std::vector<std::complex<float>> noise(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> unit(-1, 1);
  std::vector<std::complex<float>> x(static_cast<size_t>(count));
  for (auto& v : x) v = {unit(random), unit(random)};
  return x;
}

// Relative L2 error.
template <typename T>
double error_of(const std::vector<T>& actual, const std::vector<Complex>& expected) {
  REQUIRE(actual.size() == expected.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < actual.size(); ++i)
    error += std::norm(Complex(actual[i]) - expected[i]), size += std::norm(expected[i]);
  return std::sqrt(error / size);
}
double most_error(int64_t n) { return 1e-6 * std::max(1.0, std::log2(static_cast<double>(n))); }

Executable<DynamicGraph> make(const Device& device, const DynamicGraph& graph, const std::string& variant,
                              const Target* target = nullptr) {
  REQUIRE(graph.graph().error.view() == "");
  const Choice choices[] = {{"fft", variant}, {"ifft", variant}, {"rfft", variant}, {"irfft", variant}};
  DynamicOptions options;
  options.target = target;
  options.compile.check = true;
  if (!variant.empty()) options.compile.choices = choices;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  return *std::move(executable);
}

void check_complex(const Device& device, int64_t n, int64_t rows, const std::string& variant) {
  CAPTURE(n, rows, variant);
  DynamicGraph graph;
  graph->output("y", fft(graph->input("x", c64, {rows, n})));
  auto executable = make(device, graph, variant);
  const auto x = noise(rows * n, static_cast<uint32_t>(n));
  REQUIRE(executable.set("x", x).ToString() == "OK");
  executable.run();
  CHECK(error_of(*executable.get<std::complex<float>>("y"), fftw({x.begin(), x.end()}, n, FFTW_FORWARD)) <=
        most_error(n));
}

// fft, rfft and irfft of this length against FFTW.
void check_length(const Device& device, int64_t n, int64_t rows, const std::string& variant) {
  CAPTURE(n, rows, variant);
  DynamicGraph graph;
  const int64_t half = n / 2 + 1;
  graph->output("fft", fft(graph->input("x", c64, {rows, n})));
  graph->output("rfft", rfft(graph->input("r", f32, {rows, n})));
  graph->output("irfft", irfft(graph->input("h", c64, {rows, half}), n));
  auto executable = make(device, graph, variant);
  const auto x = noise(rows * n, static_cast<uint32_t>(n));
  std::vector<float> r(x.size());
  std::vector<Complex> x_double(x.begin(), x.end()), r_double(x.size());
  for (size_t i = 0; i < x.size(); ++i) r[i] = x[i].real() + 0.5f * x[i].imag(), r_double[i] = r[i];
  const auto forward = fftw(x_double, n, FFTW_FORWARD), real = fftw(r_double, n, FFTW_FORWARD);
  std::vector<Complex> first_half, whole(x.size());
  std::vector<std::complex<float>> given;
  for (size_t i = 0; i < real.size(); ++i) {
    if (static_cast<int64_t>(i) % n >= half) continue;
    first_half.push_back(real[i]);
    given.push_back(std::complex<float>(forward[i]));  // any half of a spectrum is that of a real signal
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < n; ++k) {
      const auto at = static_cast<size_t>(row * half + (k < half ? k : n - k));
      Complex v = k < half ? Complex(given[at]) : std::conj(Complex(given[at]));
      if (k == 0 || 2 * k == n) v = v.real();
      whole[static_cast<size_t>(row * n + k)] = v;
    }
  }
  whole = fftw(whole, n, FFTW_BACKWARD);
  for (Complex& v : whole) v /= static_cast<double>(n);
  REQUIRE(executable.set("x", x).ToString() == "OK");
  REQUIRE(executable.set("r", r).ToString() == "OK");
  REQUIRE(executable.set("h", given).ToString() == "OK");
  executable.run();
  CHECK(error_of(*executable.get<std::complex<float>>("fft"), forward) <= most_error(n));
  CHECK(error_of(*executable.get<std::complex<float>>("rfft"), first_half) <= most_error(n));
  CHECK(error_of(*executable.get<float>("irfft"), whole) <= most_error(n));
}

TEST_CASE("roots of unity are the nearest floats", "[fft]") {
  STATIC_REQUIRE(turn(1, 4).sin == 1.0);
  for (const int64_t n : {1, 2, 3, 7, 8, 12, 1000, 1009, 65536, 1 << 24}) {
    for (int64_t i = 0; i < 2000; ++i) {
      const int64_t k = i * 7919 % n;
      const long double angle = 2 * std::acos(-1.0L) * static_cast<long double>(k) / static_cast<long double>(n);
      const Turn w = turn(k, n);
      REQUIRE(static_cast<float>(w.cos) - static_cast<float>(std::cos(angle)) <=
              (std::fabs(w.cos) < 1e-7 ? 1e-18f : 0.0f));
      REQUIRE(std::fabs(w.sin - static_cast<double>(std::sin(angle))) <= 0x1p-52);
    }
  }
}

TEST_CASE("fft of every length that programs use", "[fft][gpu]") {
  const Device device = device_or_skip();
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 128; ++n) lengths.push_back(n);
  for (int64_t n = 129; n <= 4096; ++n) {
    int64_t rest = n;
    for (const int64_t p : {2, 3, 5, 7}) {
      while (rest % p == 0) rest /= p;
    }
    if (rest == 1) lengths.push_back(n);
  }
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) lengths.push_back(129 + random() % (4096 - 129));
  size_t turn = device.target().subgroup_max < 8 ? 1 : 0;
  for (const int64_t n : lengths) {
    if (n > 128 && ++turn % 2 == 0) continue;  // on the other adapter
    if (n <= 1024) {
      check_length(device, n, 2, "free");
    } else {  // several dispatches: SwiftShader takes a tenth of a second
      check_complex(device, n, 1, "free");
    }
  }
}

// `./dev fuzz fft`.
TEST_CASE("fft of every length to 4096", "[.][every]") {
  const Device device = device_or_skip();
  for (int64_t n = 1; n <= 4096; ++n) check_length(device, n, 1, "free");
}

// As the adapter would have it: each length is a kernel that the driver compiles.
TEST_CASE("fft of many lengths by the kernels that programs get", "[.][every]") {
  const Device device = device_or_skip();
  for (int64_t n = 1; n <= 4096; n += n < 512 ? 1 : 64) check_complex(device, n, 1, "");
}

TEST_CASE("fft of long signals", "[fft][gpu]") {
  const Device device = device_or_skip();
  const bool fast = has_registers(device);
  for (int64_t n = 8192; n <= (fast ? 1 << 22 : 1 << 18); n *= 2) {
    check_complex(device, n, 1, "free");
  }
  for (const int64_t n : {int64_t{15625}, int64_t{10007}, int64_t{4097}})
    check_length(device, n, 2, "free");  // 5^6, a prime, 17 * 241
}

TEST_CASE("fft with sizes that the compiler knows", "[fft][gpu]") {
  const Device device = device_or_skip();
  // 61 is a prime above 13 (Bluestein's method), 4096 all of the workgroup memory of most devices.
  const int64_t n = GENERATE(8, 13, 60, 210, 1024, 4096, 61);
  if (n < 1024) {
    check_length(device, n, n < 64 ? 70 : 3, "workgroup");
  } else {
    check_complex(device, n, 3, "workgroup");
  }
}

TEST_CASE("fft in registers", "[fft][gpu]") {
  const Device device = device_or_skip();
  if (!has_registers(device)) SKIP("subgroups of another size than 8");
  const int64_t n = GENERATE(1, 8, 30, 64, 104, 400, 1024, 4096, 61);
  if (n < 1024) {
    check_length(device, n, n < 64 ? 70 : 3, "registers");
  } else {  // seconds to compile
    check_complex(device, n, 3, "registers");
  }
  if (n == 4096) check_complex(device, 2048, 3, "unrolled");
}

struct Sizes {
  Shape x;
  int axis;
  const char* why;
};

TEST_CASE("fft agrees with the reference", "[fft][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes =
      GENERATE(Sizes{{1}, 0, "one point"}, Sizes{{0, 4}, 1, "no rows"}, Sizes{{3, 2}, 1, "two points"},
               Sizes{{5, 12, 7}, 1, "the middle"}, Sizes{{17, 3, 2}, 0, "the first, by Bluestein's method"},
               Sizes{{3, 64}, -1, "a power of two"});
  const std::string variant = GENERATE("free", "workgroup", "registers");
  CAPTURE(sizes.why, variant);
  const int64_t n = sizes.x[normalise_axis(sizes.axis, sizes.x.rank())];
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", c64, sizes.x);
    g.output("fft", fft(x, sizes.axis));
    g.output("ifft", ifft(x, sizes.axis, {FftNorm::ortho}));
  };
  if (variant == "registers" && !has_registers(device)) return;
  const Choice choices[] = {{"fft", variant}, {"ifft", variant}};
  check_agrees(device, build, {.bound = fft_bound(n), .choices = {choices[0], choices[1]}});
}

TEST_CASE("fft of huge batches, and of every axis", "[fft][gpu]") {
  const Device device = device_or_skip();
  for (const char* const variant : {"free", "workgroup", ""}) {
    CAPTURE(variant);
    DynamicGraph graph;
    const Tensor x = graph->input("x", c64, {70001, 4});
    graph->output("rows", fft(x, 1));
    graph->output("back", ifft(fft(x, 1), 1));
    auto executable = make(device, graph, variant);
    const auto given = noise(70001 * 4, 9);
    REQUIRE(executable.set("x", given).ToString() == "OK");
    executable.run();
    CHECK(error_of(*executable.get<std::complex<float>>("rows"), fftw({given.begin(), given.end()}, 4, FFTW_FORWARD)) <=
          most_error(4));
    CHECK(error_of(*executable.get<std::complex<float>>("back"), {given.begin(), given.end()}) <= most_error(16));
  }
  const auto build = [](Builder& g) {
    const Tensor x = g.input("x", c64, {5, 6, 14});
    for (int axis = 0; axis < 3; ++axis) {
      for (const FftNorm norm : {FftNorm::backward, FftNorm::forward, FftNorm::ortho}) {
        Text name;
        name << "axis" << axis << "norm" << static_cast<int>(norm);
        g.output(name.view(), axis == 1 ? ifft(x, axis, {norm}) : fft(x, axis, {norm}));
      }
      Text name;
      name << "real" << axis;
      g.output(name.view(), rfft(real(x), axis));
    }
    g.output("all", fftn(x, {0, 1, 2}));
    g.output("back", ifftn(fftn(x, {0, 1, 2}), {0, 1, 2}));
  };
  check_agrees(device, build, {.bound = fft_bound(420)});
}

TEST_CASE("laws of the Fourier transform", "[fft][gpu]") {
  const Device device = device_or_skip();
  const int64_t n = GENERATE(96, 1024, 61);
  const std::string variant = n == 96 ? "" : "free";  // to compile less
  CAPTURE(n);
  DynamicGraph graph;
  const Tensor a = graph->input("a", c64, {n}), b = graph->input("b", c64, {n}), r = graph->input("r", f32, {n});
  graph->output("a^", fft(a));
  graph->output("b^", fft(b));
  graph->output("sum^", fft(a + b));
  graph->output("shifted^", fft(roll(a, 5, 0)));
  graph->output("back", ifft(fft(a)));
  graph->output("ortho", ifft(fft(a, 0, {FftNorm::ortho}), 0, {FftNorm::ortho}));
  graph->output("r^", rfft(r));
  graph->output("complex r^", fft(complex(r, 0.0)));
  graph->output("real", irfft(rfft(r), n));
  auto executable = make(device, graph, variant);
  const auto given = noise(n, 1), other = noise(n, 2);
  std::vector<float> real(given.size());
  for (size_t i = 0; i < real.size(); ++i) real[i] = given[i].real();
  REQUIRE(executable.set("a", given).ToString() == "OK");
  REQUIRE(executable.set("b", other).ToString() == "OK");
  REQUIRE(executable.set("r", real).ToString() == "OK");
  executable.run();
  const auto get = [&](const char* name) {
    const auto y = *executable.get<std::complex<float>>(name);
    return std::vector<Complex>(y.begin(), y.end());
  };
  const auto a_hat = get("a^"), b_hat = get("b^"), shifted = get("shifted^");
  double time = 0, frequency = 0;
  std::vector<Complex> sum, turned;
  for (size_t k = 0; k < a_hat.size(); ++k) {
    time += std::norm(Complex(given[k])), frequency += std::norm(a_hat[k]) / static_cast<double>(n);
    sum.push_back(a_hat[k] + b_hat[k]);
    const Turn w = turn(-5 * static_cast<int64_t>(k), n);
    turned.push_back(a_hat[k] * Complex(w.cos, w.sin));
  }
  CHECK(std::fabs(frequency / time - 1) <= 2 * most_error(n));  // Parseval
  CHECK(error_of(get("sum^"), sum) <= 2 * most_error(n));
  CHECK(error_of(shifted, turned) <= 2 * most_error(n));
  CHECK(error_of(get("back"), {given.begin(), given.end()}) <= 2 * most_error(n));
  CHECK(error_of(get("ortho"), {given.begin(), given.end()}) <= 2 * most_error(n));
  auto whole = get("complex r^");
  whole.resize(static_cast<size_t>(n / 2 + 1));
  CHECK(error_of(get("r^"), whole) <= 2 * most_error(n));
  CHECK(error_of(*executable.get<float>("real"), {real.begin(), real.end()}) <= 2 * most_error(n));

  const auto again = [&](const char* name) { return *executable.get<std::complex<float>>(name); };
  const auto before = again("a^"), back = again("back");
  executable.run();
  CHECK(again("a^") == before);  // bit for bit
  CHECK(again("back") == back);
}

TEST_CASE("an impulse has a flat spectrum, a wave one line", "[fft][gpu]") {
  const Device device = device_or_skip();
  const int64_t n = GENERATE(128, 100, 67);
  for (const int64_t at : {int64_t{0}, int64_t{1}, n - 3}) {
    CAPTURE(n, at);
    DynamicGraph graph;
    graph->output("impulse^", fft(graph->input("impulse", c64, {n})));
    graph->output("wave^", fft(graph->input("wave", c64, {n})));
    auto executable = make(device, graph, "free");
    std::vector<std::complex<float>> impulse(static_cast<size_t>(n)), wave(impulse.size());
    std::vector<Complex> flat, line(impulse.size());
    impulse[static_cast<size_t>(at)] = 1, line[static_cast<size_t>(at)] = static_cast<double>(n);
    for (int64_t k = 0; k < n; ++k) {
      const Turn w = turn(k * at, n);
      wave[static_cast<size_t>(k)] = {static_cast<float>(w.cos), static_cast<float>(w.sin)};
      flat.emplace_back(w.cos, -w.sin);
    }
    REQUIRE(executable.set("impulse", impulse).ToString() == "OK");
    REQUIRE(executable.set("wave", wave).ToString() == "OK");
    executable.run();
    CHECK(error_of(*executable.get<std::complex<float>>("impulse^"), flat) <= most_error(n));
    CHECK(error_of(*executable.get<std::complex<float>>("wave^"), line) <= most_error(n));
  }
}

TEST_CASE("what stands before and after a transform joins its kernels", "[fft][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    const Tensor x = g.input("x", f16, {3, 48}), window = g.input("window", f32, {48});
    const Tensor y = rfft(cast(x, f32) * window);
    g.output("power", real(y * conj(y)));
  };
  CHECK(compiled(build).steps.size() == 1);
  const double most = 48 * 4.0;  // of a coefficient; a square doubles its relative error
  check_agrees(device, build, {.bound = Bound{2 * most * fft_bound(48).absolute * 8, 16 * 0x1p-23}});
}

struct Spectrum {
  static constexpr void build(Builder& g) { g.output("y", fft(g.input("x", c64, {2, 1024}))); }
};

TEST_CASE("a transform in a constant program", "[fft][gpu]") {
  const Device device = device_or_skip();
  Executable<Spectrum> executable(device);
  STATIC_REQUIRE(Executable<Spectrum>::program.steps.size() == 1);
  const auto x = noise(2048, 4);
  executable.set<"x">(x);
  executable.run();
  std::vector<std::complex<float>> y;
  const auto result = *executable.get<"y">();
  for (const auto& v : result) y.push_back(std::bit_cast<std::complex<float>>(v));
  CHECK(error_of(y, fftw({x.begin(), x.end()}, 1024, FFTW_FORWARD)) <= most_error(1024));
}

}  // namespace
}  // namespace rlxgpu::core::testing

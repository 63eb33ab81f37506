// onnx::Runner: symbolic extents that each run decides, exactly or by buckets.
#include "rlxgpu/load/onnx/runner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "tests/onnx/model_text.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using onnx::ElementType;
using onnx::HostTensor;
using onnx::HostTensors;

// Sums of x w along a length, of elements whose mask is 1; and each of them.
constexpr char kMasked[] = R"(g (float[batch, length, 3] x, float[batch, length] mask)
    => (float[batch, 2] y, float[batch, length, 2] each)
    <float[3, 2] w = {1.0, -2.0, 0.5, 3.0, 0.25, 1.0}, float[2] c = {0.5, -0.5}, int64[1] last = {2}, int64[1] one = {1}> {
      product = MatMul(x, w)
      each = Add(product, c)
      column = Unsqueeze(mask, last)
      masked = Mul(each, column)
      y = ReduceSum <keepdims = 0> (masked, one)
    })";

HostTensor pattern(std::vector<int64_t> shape, int64_t seed) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>((i * 37 + seed * 11) % 17 - 8) / 8);
  return HostTensor::of_numbers(ElementType::f32, std::move(shape), values);
}
HostTensor ones(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return HostTensor::of_numbers(ElementType::f32, std::move(shape), std::vector<double>(static_cast<size_t>(count), 1));
}
HostTensors inputs_of(int64_t batch, int64_t length, int64_t seed) {
  return {{"x", pattern({batch, length, 3}, seed)}, {"mask", ones({batch, length})}};
}

onnx::Runner runner_of(const std::string& text, const onnx::RunnerOptions& options = {}) {
  Result<onnx::Runner> runner = onnx::Runner::open(device_or_skip(), bytes_of(model_of(text)), options);
  REQUIRE(runner.status().ToString() == "OK");
  return *std::move(runner);
}
HostTensors run(onnx::Runner& runner, const HostTensors& inputs) {
  Result<HostTensors> results = runner.run(inputs);
  REQUIRE(results.status().ToString() == "OK");
  return *std::move(results);
}
std::string error_of(onnx::Runner& runner, const HostTensors& inputs) {
  const Result<HostTensors> results = runner.run(inputs);
  return results.ok() ? "" : std::string(results.status().message());
}

// What kMasked means, in double precision.
void check(const HostTensors& results, const HostTensors& inputs) {
  const double w[3][2] = {{1, -2}, {0.5, 3}, {0.25, 1}}, c[2] = {0.5, -0.5};
  const HostTensor &x = inputs.find("x")->second, &mask = inputs.find("mask")->second;
  const int64_t batch = x.shape()[0], length = x.shape()[1];
  std::vector<double> y(static_cast<size_t>(batch * 2)), each;
  for (int64_t row = 0; row < batch * length; ++row) {
    for (int64_t k = 0; k < 2; ++k) {
      double sum = c[k];
      for (int64_t i = 0; i < 3; ++i) sum += x.number(row * 3 + i) * w[i][k];
      each.push_back(sum);
      y[static_cast<size_t>(row / length * 2 + k)] += sum * mask.number(row);
    }
  }
  CHECK(results.find("y")->second.shape() == std::vector<int64_t>{batch, 2});
  CHECK(results.find("each")->second.shape() == std::vector<int64_t>{batch, length, 2});
  CHECK_THAT(results.find("each")->second.numbers(), CloseTo(each, dot_bound(f32, 4, 3)));
  CHECK_THAT(results.find("y")->second.numbers(), CloseTo(y, dot_bound(f32, 4 * length, 6)));
}

TEST_CASE("each run decides the symbolic extents", "[onnx][gpu]") {
  onnx::Runner runner = runner_of(kMasked);
  const std::pair<int64_t, int64_t> extents[] = {{2, 5}, {1, 7}, {3, 4}};
  for (const int64_t round : {0, 1, 2}) {
    for (const auto& [batch, length] : extents) {
      CAPTURE(round, batch, length);
      const HostTensors inputs = inputs_of(batch, length, round);
      check(run(runner, inputs), inputs);
    }
    CHECK(runner.compiled() == 3);  // in the first round
    CHECK(runner.programs() == 3);
    CHECK(runner.uploaded() == 2);  // w and c, for all programs
    CHECK(runner.weights().count() == 2);
  }
}

TEST_CASE("the program that was not used for longest is dropped", "[onnx][gpu]") {
  onnx::Runner runner = runner_of("g (float[n] x) => (float[n] y) { y = Neg(x) }", {.most_programs = 2});
  const auto compiled_after = [&](int64_t n) {
    const HostTensor x = pattern({n}, n);
    std::vector<double> expected = x.numbers();
    for (double& value : expected) value = -value;
    CHECK(run(runner, {{"x", x}}).find("y")->second.numbers() == expected);
    CHECK(runner.programs() <= 2);
    return runner.compiled();
  };
  CHECK(compiled_after(3) == 1);
  CHECK(compiled_after(4) == 2);
  CHECK(compiled_after(3) == 2);
  CHECK(compiled_after(5) == 3);  // drops 4
  CHECK(compiled_after(3) == 3);
  CHECK(compiled_after(4) == 4);
  CHECK(runner.run({{"x", HostTensor::of_numbers(ElementType::f32, {6}, std::vector<double>(5))}}).ok() == false);
  CHECK(compiled_after(3) == 4);  // an error drops nothing
}

TEST_CASE("buckets give what exact extents give, with fewer programs", "[onnx][gpu]") {
  onnx::Runner runner = runner_of(kMasked, {.buckets = {{"batch", {4, 2}}, {"length", onnx::powers_of_two(8)}}});
  for (const auto& [batch, length] : {std::pair<int64_t, int64_t>{3, 5}, {4, 8}, {4, 6}, {3, 8}}) {
    CAPTURE(batch, length);
    const HostTensors inputs = inputs_of(batch, length, batch);
    check(run(runner, inputs), inputs);
    CHECK(runner.compiled() == 1);
  }
  const HostTensors small = inputs_of(1, 1, 9);
  check(run(runner, small), small);  // batch 2
  CHECK(runner.compiled() == 2);
  CHECK(runner.uploaded() == 2);
  CHECK(error_of(runner, inputs_of(5, 2, 0)) == "input \"x\" has 5 as extent \"batch\": the largest bucket is 4");
  CHECK(error_of(runner, inputs_of(2, 9, 0)) == "input \"x\" has 9 as extent \"length\": the largest bucket is 8");
  CHECK(onnx::powers_of_two(9) == onnx::Buckets{1, 2, 4, 8});
}

TEST_CASE("results of other shapes than the extent's cannot be cut", "[onnx][gpu]") {
  onnx::Runner doubled =
      runner_of("g (float[n, 2] x) => (float[m, 2] y) { y = Concat <axis = 0> (x, x) }", {.buckets = {{"n", {4}}}});
  CHECK(run(doubled, {{"x", pattern({4, 2}, 0)}}).find("y")->second.shape() == std::vector<int64_t>{8, 2});
  CHECK(error_of(doubled, {{"x", pattern({3, 2}, 0)}}) ==
        "output \"y\" is [6,2] and, with inputs padded to buckets, [8,2]: only an axis as long as an extent that has "
        "buckets can be cut");
  onnx::Runner counted = runner_of("g (float[n] x) => (int64[1, m] y) { y = NonZero(x) }", {.buckets = {{"n", {4}}}});
  CHECK_THAT(error_of(counted, {{"x", ones({3})}}), ContainsSubstring("output \"y\" is [1,3] and"));
  // An output that the model does not declare is cut by what it is.
  onnx::Runner plain = runner_of("g (int64[n] x) => (int64[anything] y) { y = Neg(x) }", {.buckets = {{"n", {4}}}});
  const HostTensor x = HostTensor::of_integers(ElementType::i64, {3}, std::vector<int64_t>{1, 2, 3});
  CHECK(run(plain, {{"x", x}}).find("y")->second.numbers() == std::vector<double>{-1, -2, -3});
}

TEST_CASE("inputs that do not fit the model are errors", "[onnx][gpu]") {
  onnx::Runner runner = runner_of(kMasked);
  const HostTensor x = pattern({2, 5, 3}, 0), mask = ones({2, 5});
  CHECK(error_of(runner, {{"x", x}, {"mask", ones({3, 5})}}) ==
        "inputs \"x\" and \"mask\" differ in extent \"batch\": 2 and 3");
  CHECK(error_of(runner, {{"x", x}}) == "input \"mask\" is not given");
  CHECK(error_of(runner, {{"x", x}, {"mask", mask}, {"z", mask}}) == "the model has no input \"z\"");
  CHECK(error_of(runner, {{"x", x}, {"mask", ones({10})}}) ==
        "input \"mask\" has 1 axes [10]: the model takes 2 [batch,length]");
  CHECK(error_of(runner, {{"x", pattern({2, 5, 4}, 0)}, {"mask", mask}}) ==
        "input \"x\" has 4 elements along axis 2 of [2,5,4]: the model takes [batch,length,3]");
  const HostTensor whole = HostTensor::of_integers(ElementType::i64, {2, 5}, std::vector<int64_t>(10));
  CHECK(error_of(runner, {{"x", x}, {"mask", whole}}) == "input \"mask\" is int64: the model takes float");
  const HostTensor cut = HostTensor::of_bytes(ElementType::f32, {2, 5}, std::vector<std::byte>(36));
  CHECK(error_of(runner, {{"x", x}, {"mask", cut}}) == "input \"mask\" has 36 bytes: its shape [2,5] needs 40");
  CHECK(runner.compiled() == 0);

  const auto open_error = [](const onnx::RunnerOptions& options) {
    const Result<onnx::Runner> opened = onnx::Runner::open(device_or_skip(), bytes_of(model_of(kMasked)), options);
    return opened.ok() ? "" : std::string(opened.status().message());
  };
  CHECK(open_error({.buckets = {{"width", {4}}}}) ==
        "buckets for \"width\": no input of the model has an extent of this name (batch, length)");
  CHECK(open_error({.buckets = {{"batch", {0, 4}}}}) == "buckets for \"batch\": [0,4] are not extents of at least 1");
  CHECK_THAT(open_error({.buckets = {{"batch", {}}}}), ContainsSubstring("[] are not"));
  CHECK_THAT(open_error({.most_programs = 0}), ContainsSubstring("most_programs is 0"));
  const Result<onnx::Runner> none = onnx::Runner::open(device_or_skip(), "none.onnx");
  CHECK_THAT(std::string(none.status().message()), ContainsSubstring("none.onnx"));
}

TEST_CASE("elements that decide a shape choose the program", "[onnx][gpu]") {
  onnx::Runner runner = runner_of("g (float[n] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }");
  const auto shape_for = [&](std::vector<int64_t> s) {
    const HostTensor shape = HostTensor::of_integers(ElementType::i64, {2}, s);
    return run(runner, {{"x", pattern({6}, 0)}, {"s", shape}}).find("y")->second.shape();
  };
  CHECK(shape_for({2, 3}) == std::vector<int64_t>{2, 3});
  CHECK(shape_for({3, -1}) == std::vector<int64_t>{3, 2});
  CHECK(shape_for({2, 3}) == std::vector<int64_t>{2, 3});
  CHECK(runner.compiled() == 2);
  // One that only chooses between results is data.
  onnx::Runner either = runner_of(R"(g (float[n] x, bool c) => (float[n] y) {
      y = If (c) <then_branch = t () => (float[n] u) { u = Neg(x) }, else_branch = e () => (float[n] v) { v = Abs(x) }>
    })");
  const HostTensor x = HostTensor::of_numbers(ElementType::f32, {2}, std::vector<double>{-1, 2});
  for (const bool c : {true, false}) {
    const HostTensor flag = HostTensor::of_integers(ElementType::boolean, {}, std::vector<int64_t>{c});
    CHECK(run(either, {{"x", x}, {"c", flag}}).find("y")->second.numbers() ==
          (c ? std::vector<double>{1, -2} : std::vector<double>{1, 2}));
  }
  CHECK(either.compiled() == 1);
}

TEST_CASE("weights of one name in two branches stay apart", "[onnx][gpu]") {
  // A length of 2 takes the one, any other the other.
  onnx::Runner runner = runner_of(R"(g (float[n, 2] x) => (float[n, 2] y) <int64[1] two = {2}> {
      shape = Shape <start = 0, end = 1> (x)
      short = Equal(shape, two)
      y = If (short) <
        then_branch = t () => (float[n, 2] u) <float[2] w = {1.0, 2.0}> { u = Add(x, w) },
        else_branch = e () => (float[n, 2] v) <float[2] w = {10.0, 20.0}> { v = Add(x, w) }>
    })");
  const auto first = [&](int64_t n) {
    const HostTensor zeros =
        HostTensor::of_numbers(ElementType::f32, {n, 2}, std::vector<double>(static_cast<size_t>(2 * n)));
    std::vector<double> y = run(runner, {{"x", zeros}}).find("y")->second.numbers();
    y.resize(2);
    return y;
  };
  CHECK(first(2) == std::vector<double>{1, 2});
  CHECK(first(3) == std::vector<double>{10, 20});
  CHECK(first(2) == std::vector<double>{1, 2});
  CHECK(first(3) == std::vector<double>{10, 20});
  CHECK(runner.compiled() == 2);
  CHECK(runner.uploaded() == 2);
  CHECK(first(4) == std::vector<double>{10, 20});
  CHECK(runner.compiled() == 3);
  CHECK(runner.uploaded() == 2);
}

TEST_CASE("constants of dropped programs do not pile up", "[onnx][gpu]") {
  // What follows from `table` is computed for all lengths; 0, 1, 2, ... is a constant of each.
  std::string table;
  std::vector<double> leaky;
  for (int i = 0; i < 40; ++i) {
    table += (i % 2 == 0 ? ", -" : ", ") + std::to_string(i + 1) + ".0";
    leaky.push_back(i % 2 == 0 ? -0.5 * (i + 1) : i + 1);
  }
  onnx::Runner runner = runner_of("g (float[n] x) => (float[n] y, float[40] t) <int64 zero = {0}, int64 one = {1}, " +
                                      ("float[40] table = {" + table.substr(2)) + R"(}> {
        shape = Shape(x)
        length = Squeeze(shape)
        steps = Range(zero, length, one)
        places = Cast <to = 1> (steps)
        y = Add(x, places)
        leaky = LeakyRelu <alpha = 0.5> (table)
        most = ReduceMax <keepdims = 1> (x)
        t = Mul(most, leaky)
      })",
                                  {.most_programs = 2, .most_constant_bytes = 2000});
  size_t most = 0;
  for (int64_t n = 100; n < 112; ++n) {
    const HostTensors results = run(runner, {{"x", ones({n})}});
    std::vector<double> places;
    for (int64_t i = 0; i < n; ++i) places.push_back(static_cast<double>(i + 1));
    CHECK(results.find("y")->second.numbers() == places);
    CHECK(results.find("t")->second.numbers() == leaky);
    most = std::max(most, runner.weights().count());
  }
  CHECK(runner.compiled() == 12);
  CHECK(most == 2 + 6);  // the table, what follows from it, and six lengths: five are more than 2000 bytes
  CHECK(runner.uploaded() == 12 + 2);  // the table at first, and after the sixth
}

}  // namespace
}  // namespace rlxgpu::core::testing

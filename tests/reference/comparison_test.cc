// What rounding explains is right, what it does not explain is wrong, and jumps are told from both.
#include "rlxgpu/reference/comparison.h"

#include <cmath>
#include <random>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/reference/interpreter.h"

namespace rlxgpu::core {
namespace {

using reference::Array;
using reference::Arrays;
using reference::compare;
using reference::Comparison;

Array random_array(const Shape& shape, uint32_t seed) {
  Array array(f32, shape);
  std::mt19937 random(seed);
  for (double& v : array.data) v = static_cast<float>(std::uniform_real_distribution<double>(-2, 2)(random));
  return array;
}

std::vector<Array> shaken(const Graph& graph, const Arrays& inputs, int count = reference::kSamples,
                          uint64_t seed = 0) {
  std::vector<Array> samples;
  for (int s = 0; s < count; ++s) {
    reference::Shaker shaker(seed + static_cast<uint64_t>(s));
    samples.push_back(reference::run(graph, inputs, {.shaker = &shaker}).at("y"));
  }
  return samples;
}

// Products of f32 numbers, summed in f32, in order: what a kernel does.
Array product_in_f32(const Array& a, const Array& b, const Array& bias) {
  Array y(f32, {a.shape[0], b.shape[1]});
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t row = i / b.shape[1], col = i % b.shape[1];
    float sum = 0;
    for (int64_t k = 0; k < a.shape[1]; ++k)
      sum += static_cast<float>(a[row * a.shape[1] + k]) * static_cast<float>(b[k * b.shape[1] + col]);
    y[i] = std::tanh(sum + static_cast<float>(bias[col]));
  }
  return y;
}

struct Layer {
  explicit Layer(int64_t k) {
    g.output("y", tanh(matmul(g.input("a", f32, {40, k}), g.input("b", f32, {k, 30})) + g.input("bias", f32, {30})));
    inputs = {{"a", random_array({40, k}, 1)}, {"b", random_array({k, 30}, 2)}, {"bias", random_array({30}, 3)}};
    for (double& v : inputs.at("b").data) v = static_cast<float>(v * 0.05);
    exact = reference::run(g.graph(), inputs, {.round = false}).at("y");
    got = product_in_f32(inputs.at("a"), inputs.at("b"), inputs.at("bias"));
    samples = shaken(g.graph(), inputs);
  }
  Builder g;
  Arrays inputs;
  Array exact, got;
  std::vector<Array> samples;
};

TEST_CASE("sums in f32 are right, whatever their length, by one sample and by four") {
  const Layer layer(GENERATE(1, 7, 64, 1000));
  const Comparison all = compare(layer.got, layer.exact, layer.samples, 8);
  INFO(all.text());
  CHECK(all.right());
  CHECK(all.count == 1200);
  CHECK(all.unsure == 0);
  CHECK(compare(layer.got, layer.exact, {layer.samples.data(), 1}, 8).right());
}

TEST_CASE("one element off by a ten-thousandth is found and named") {
  Layer layer(GENERATE(1, 64, 400));
  size_t place = 0;
  while (std::abs(layer.got.data[place]) < 0.3 || std::abs(layer.got.data[place]) > 0.7) ++place;
  layer.got.data[place] *= 1.0001;
  const Comparison compared = compare(layer.got, layer.exact, layer.samples, 8);
  CHECK(compared.wrong == 1);
  REQUIRE(compared.first.size() == 1);
  CHECK(compared.first[0].got == layer.got.data[place]);
  CHECK_THAT(compared.text(), Catch::Matchers::StartsWith("1 of 1200 elements; first ["));
}

TEST_CASE("a bias that one element lacks is found") {
  Layer layer(64);
  Arrays inputs = layer.inputs;
  inputs.at("bias")[7] = 0;
  layer.got.data[7] = reference::run(layer.g.graph(), inputs).at("y")[7];  // of row 0 alone
  CHECK(compare(layer.got, layer.exact, layer.samples, 8).wrong == 1);
}

TEST_CASE("small results next to large ones have bounds of their own") {
  Builder g;
  g.output("y", exp(g.input("x", f32, {64})));
  Array x(f32, {64});
  for (int64_t i = 0; i < 64; ++i)
    x[i] = i % 2 == 0 ? 10 + 0.01 * static_cast<double>(i) : -10 - 0.01 * static_cast<double>(i);
  reference::round_to_storage(x);
  const Arrays inputs = {{"x", x}};
  const Array exact = reference::run(g.graph(), inputs, {.round = false}).at("y");
  Array got = exact;
  reference::round_to_storage(got);
  CHECK(compare(got, exact, shaken(g.graph(), inputs), 8).right());
  got.data[5] *= 1.0001;  // about 4e-5, where others are 2e4
  CHECK(compare(got, exact, shaken(g.graph(), inputs), 8).wrong == 1);
}

TEST_CASE("moved numbers and integers agree exactly") {
  Builder g;
  g.output("y", transpose(g.input("x", f32, {4, 8}), {1, 0}));
  const Arrays inputs = {{"x", random_array({4, 8}, 5)}};
  const Array exact = reference::run(g.graph(), inputs).at("y");
  Array got = exact;
  CHECK(compare(got, exact, shaken(g.graph(), inputs)).right());
  CHECK(compare(got, exact, {}).right());
  got.data[9] = std::nextafter(static_cast<float>(got.data[9]), 9.0f);
  CHECK(compare(got, exact, shaken(g.graph(), inputs)).wrong == 1);
  CHECK(compare(got, exact, {}).wrong == 1);
}

// Rounding to whole numbers behind a sum: elements near a half jump.
struct Quantised {
  Quantised() {
    g.output("y", round(matmul(g.input("a", f32, {100, 64}), g.input("b", f32, {64, 100})) * 400.0f));
    inputs = {{"a", random_array({100, 64}, 1)}, {"b", random_array({64, 100}, 2)}};
    exact = reference::run(g.graph(), inputs, {.round = false}).at("y");
  }
  Builder g;
  Arrays inputs;
  Array exact;
};

TEST_CASE("a jump is no mistake, but a thousand where a few may be are, and so is a larger one") {
  const Quantised quantised;
  const std::vector<Array> samples = shaken(quantised.g.graph(), quantised.inputs);
  const std::vector<Array> others = shaken(quantised.g.graph(), quantised.inputs, 20, 100);
  for (const Array& outcome : others) {
    const Comparison compared = compare(outcome, quantised.exact, samples, 8);
    INFO(compared.text());
    CHECK(compared.right());
  }
  CHECK(compare(quantised.exact, quantised.exact, samples, 8).unsure > 0);
  Array got = quantised.exact;
  for (size_t i = 0; i < got.data.size(); i += 8) got.data[i] += 1;
  CHECK(compare(got, quantised.exact, samples, 8).wrong > 100);
  got = quantised.exact;
  got.data[33] += 1000;
  CHECK(compare(got, quantised.exact, samples, 8).wrong >= 1);
}

TEST_CASE("a NaN is wrong where a number is expected") {
  Layer layer(8);
  layer.got.data[3] = std::nan("");
  CHECK(compare(layer.got, layer.exact, layer.samples, 8).wrong == 1);
  layer.got.data[3] = INFINITY;
  CHECK(compare(layer.got, layer.exact, layer.samples, 8).wrong == 1);
}

TEST_CASE("what is NaN by the reference is not compared with a number, and is counted apart") {
  const double nan = std::nan("");
  const Array exact = reference::array_of(f32, {3}, {1, nan, nan}), samples[] = {exact};
  const Comparison some = compare(reference::array_of(f32, {3}, {1, 5, nan}), exact, samples, 8);
  CHECK(some.right());
  CHECK(some.undefined == 1);
  CHECK_FALSE(some.nothing_compared());
  const Array undefined = reference::array_of(f32, {1}, {nan}), none[] = {undefined};
  CHECK(compare(reference::array_of(f32, {1}, {5}), undefined, none, 8).nothing_compared());
}

TEST_CASE("another number of elements is wrong") {
  const Array exact = reference::array_of(f32, {3}, {1, 2, 3}), samples[] = {exact};
  const Comparison compared = compare(reference::array_of(f32, {2}, {1, 2}), exact, samples, 8);
  CHECK_FALSE(compared.right());
  CHECK(compared.text() == "3 of 3 elements; first their number: 2, expected 3 within 0");
}

TEST_CASE("a part of a complex number may be off by what the number rounds to") {
  const Array exact = reference::array_of(c64, {1}, {1, 0});
  reference::Shaker shaker(1);
  const std::vector<Array> samples = {shaker.shake(exact, 8, 0)};
  CHECK(samples[0].data[1] != 0);
  CHECK(compare(reference::array_of(c64, {1}, {1, 0x1p-24}), exact, samples, 8).right());
  CHECK_FALSE(compare(reference::array_of(c64, {1}, {1, 0x1p-12}), exact, samples, 8).right());
}

}  // namespace
}  // namespace rlxgpu::core

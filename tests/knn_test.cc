#include "rlxgpu/kernels/knn/knn.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("knn: what is wrong is said", "[knn]") {
  const auto x = [](Builder& g) { return g.input("x", f32, {5, 3}); };
  CHECK(message_of([&](Builder& g) { knn(x(g), g.input("b", f32, {5, 4}), 1); }) ==
        "knn([5,3], [5,4]): rows of 3 and of 4 columns");
  CHECK(message_of([&](Builder& g) { knn(x(g), g.input("b", i32, {5, 3}), 1); }) ==
        "knn([5,3], i32[5,3]): takes floats, not i32");
  CHECK(message_of([&](Builder& g) { knn_self(x(g), 5); }) ==
        "knn_self([5,3], [5,3]): 5 neighbours are wanted of 4 rows");
  CHECK(message_of([&](Builder& g) { knn_self(x(g), 129); }) ==
        "knn_self([5,3], [5,3]): 129 neighbours are wanted: 0 to 128 are possible");
}

struct Case {
  int64_t m, n, d, k;
  const char* why;
};

// Every pair by brute force, in double, and all of them sorted: shares nothing with the op's reference.
std::vector<std::pair<double, int64_t>> nearest(const std::vector<double>& a, const std::vector<double>& b, int64_t row,
                                                int64_t d, KnnMetric metric, bool self) {
  std::vector<std::pair<double, int64_t>> all;
  for (int64_t j = 0; j * d < static_cast<int64_t>(b.size()); ++j) {
    if (self && j == row) continue;
    double ab = 0, aa = 0, bb = 0, apart = 0;
    for (int64_t c = 0; c < d; ++c) {
      const double u = a[static_cast<size_t>(row * d + c)], v = b[static_cast<size_t>(j * d + c)];
      ab += u * v, aa += u * u, bb += v * v, apart += std::pow(u - v, 2);
    }
    if (metric == KnnMetric::cosine) apart = aa * bb == 0 ? 1 : 1 - ab / std::sqrt(aa * bb);
    all.emplace_back(metric == KnnMetric::inner_product ? -ab : apart, j);
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Both outputs by brute force; also "again", what the test's graph reckons from the indices.
Judge brute_force(const Case& c, KnnMetric metric, bool self, bool with_indices) {
  return [=](const reference::Arrays& inputs) {
    const std::vector<double>&a = inputs.at("a").data, &b = inputs.at(self ? "a" : "b").data;
    std::map<std::string, std::vector<double>> expected;
    expected["distances"], expected["again"];
    if (with_indices) expected["indices"];
    for (int64_t row = 0; row < c.m; ++row) {
      const auto all = nearest(a, b, row, c.d, metric, self);
      for (size_t i = 0; i < static_cast<size_t>(c.k); ++i) {
        const double value = metric == KnnMetric::inner_product ? -all[i].first : all[i].first;
        expected["distances"].push_back(value), expected["again"].push_back(value);
        if (with_indices) expected["indices"].push_back(static_cast<double>(all[i].second));
      }
    }
    return expected;
  };
}

// The distances, and once more from the indices by other ops: right where the neighbours are, whatever the order of
// ties.
Build neighbours(const Case& c, KnnMetric metric, bool self, bool with_indices, DType dtype = f32) {
  return [=](Builder& g) {
    const Tensor a = g.input("a", dtype, {c.m, c.d}), b = self ? a : g.input("b", dtype, {c.n, c.d});
    const Neighbours found = self ? knn_self(a, c.k, metric) : knn(a, b, c.k, metric);
    g.output("distances", found.distances);
    if (with_indices) g.output("indices", found.indices);
    const Tensor u = cast(reshape(a, {c.m, 1, c.d}), f32), v = cast(gather(b, found.indices), f32);
    Tensor again = metric == KnnMetric::squared_euclidean ? sum((u - v) * (u - v), -1) : sum(u * v, -1);
    if (metric == KnnMetric::cosine) again = 1.0f - again / (sqrt(sum(u * u, -1)) * sqrt(sum(v * v, -1)));
    g.output("again", again);
  };
}

// Elements to 2: each of d terms of (a - b)^2 is at most 16 and off by 1.5 ulps, of a b at most 4. A cosine is off by
// the rounding of three sums, relative to |a| |b|, and by the few ulps of two roots, a product and a quotient.
Bound bound_of(KnnMetric metric, int64_t d) {
  if (metric == KnnMetric::squared_euclidean) return sum_bound(f32, d, 40.0);
  if (metric == KnnMetric::inner_product) return sum_bound(f32, d, 6.0);
  return sum_bound(f32, d, 2.0) + Bound{16 * 0x1p-23, 0};
}

constexpr KnnMetric kMetrics[] = {KnnMetric::squared_euclidean, KnnMetric::inner_product, KnnMetric::cosine};

TEST_CASE("knn finds what brute force finds", "[knn][gpu]") {
  const Device device = device_or_skip();
  const Case c =
      GENERATE(Case{1, 1, 1, 1, "smallest"}, Case{17, 33, 7, 5, "ragged"}, Case{9, 140, 64, 128, "most neighbours"},
               Case{70, 16, 3, 16, "all rows"}, Case{130, 1500, 16, 15, "large"});
  CAPTURE(c.why);
  for (const KnnMetric metric : kMetrics) {
    CAPTURE(static_cast<int>(metric));
    check_every_variant(device, kKnn, neighbours(c, metric, false, false),
                        {.bound = bound_of(metric, c.d), .judge = brute_force(c, metric, false, false)});
  }
}

TEST_CASE("knn of nothing is empty", "[knn][gpu]") {
  const Device device = device_or_skip();
  const Case c =
      GENERATE(Case{0, 4, 3, 2, "no rows"}, Case{3, 4, 2, 0, "no neighbours"}, Case{3, 0, 2, 0, "no points"});
  CAPTURE(c.why);
  check_agrees(device, neighbours(c, KnnMetric::squared_euclidean, false, true), {.bound = {}});
}

TEST_CASE("knn_self leaves out the row itself", "[knn][gpu]") {
  const Device device = device_or_skip();
  const Case c = GENERATE(Case{2, 2, 1, 1, "two"}, Case{65, 65, 5, 64, "all others"}, Case{300, 300, 12, 15, "large"});
  CAPTURE(c.why);
  for (const KnnMetric metric : kMetrics) {
    CAPTURE(static_cast<int>(metric));
    check_every_variant(device, kKnn, neighbours(c, metric, true, false),
                        {.bound = bound_of(metric, c.d), .judge = brute_force(c, metric, true, false)});
  }
}

// Small whole numbers: sums are exact, many are equal, and the indices are decided.
TEST_CASE("of equal distances the smaller index comes first", "[knn][gpu]") {
  const Device device = device_or_skip();
  const Case c{40, 90, 3, 20, ""};
  const bool self = GENERATE(false, true);
  const DType dtype = GENERATE(f32, f16, bf16);
  std::vector<double> a, b;
  for (int64_t i = 0; i < c.m * c.d; ++i) a.push_back(static_cast<double>(i * i % 7 - 3));
  for (int64_t i = 0; i < c.n * c.d; ++i) b.push_back(static_cast<double>(i * 5 % 11 % 4 - 2));
  for (const KnnMetric metric : {KnnMetric::squared_euclidean, KnnMetric::inner_product}) {
    std::map<std::string, std::vector<double>> given = {{"a", a}};
    if (!self) given["b"] = b;
    check_agrees(device, neighbours(c, metric, self, true, dtype),
                 {.bound = {}, .given = given, .judge = brute_force(c, metric, self, true)});
  }
}

TEST_CASE("knn: rows of zeros, infinities and NaN, and views", "[knn][gpu]") {
  const Device device = device_or_skip();
  const double inf = HUGE_VAL, nan = std::nan("");
  check_agrees(device,
               [](Builder& g) {
                 const Neighbours found = knn(g.input("a", f32, {1, 2}), transpose(g.input("b", f32, {2, 5})), 5);
                 g.output("indices", found.indices), g.output("distances", found.distances);
               },
               {.bound = {},
                .given = {{"a", {1, 0}}, {"b", {nan, inf, 1, -1, 2, 0, 0, -0.0, 0, 0}}},
                .judge = [=](const reference::Arrays&) -> std::map<std::string, std::vector<double>> {
                  return {{"indices", {2, 4, 3, 1, 0}}, {"distances", {0, 1, 4, inf, nan}}};
                }});
  check_agrees(device,
               [](Builder& g) {
                 const Neighbours found =
                     knn(g.input("a", f32, {2, 2}), g.input("b", f32, {3, 2}), 3, KnnMetric::cosine);
                 g.output("indices", found.indices), g.output("distances", found.distances);
               },
               {.bound = ulp_bound(f32, 8),
                .given = {{"a", {0, 0, 2, 0}}, {"b", {0, 0, -1, 0, 4, 0}}},
                .judge = [](const reference::Arrays&) -> std::map<std::string, std::vector<double>> {
                  return {{"indices", {0, 1, 2, 2, 0, 1}}, {"distances", {1, 1, 1, 0, 1, 2}}};
                }});
}

}  // namespace
}  // namespace rlxgpu::core::testing

#include "rlxgpu/kernels/norm/norm.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("norms: what is wrong is said", "[norm]") {
  CHECK(error_of([](Builder& g) {
          layer_norm(g.input("x", i32, {2, 3}));
        }).ends_with(": layer_norm(i32[2,3]): needs a float, not i32"));
  CHECK(error_of([](Builder& g) {
          rms_norm(g.input("x", f32, {2, 3}), g.param("w", f32, {2}));
        }).ends_with(": rms_norm([2,3], [2]): weight and bias have the normalised axes' extents, not [2]"));
  CHECK(error_of([](Builder& g) {
          layer_norm(g.input("x", f32, {3}), {}, {}, {.axes = 2});
        }).ends_with(": layer_norm([3]): there are no such axes to normalise in rank 1"));
  CHECK(error_of([](Builder& g) {
          group_norm(g.input("x", f32, {2, 6, 4}), 4);
        }).ends_with(": group_norm([2,6,4]): the channels, axis 1, are not 4 equal groups"));
}

// Differences from the mean, their squares' sum, root and quotient cost a few ulps and those of the sums; weights of at
// most 2 and results of at most sqrt(n) are multiplied by them. Sums of n of either sign lose sqrt(n) ulps.
Bound norm_bound(DType dtype, int64_t n) {
  const double ulps = 0x1p-23 * (8 + std::sqrt(static_cast<double>(n)));
  return rounding(dtype) + Bound{8 * ulps, ulps};
}

struct Sizes {
  Shape x;
  int axes;
  const char* why;
};

TEST_CASE("layer_norm and rms_norm agree with the reference", "[norm][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes =
      GENERATE(Sizes{{1}, 1, "one element"}, Sizes{{3, 0}, 1, "empty rows"}, Sizes{{0, 8}, 1, "no rows"},
               Sizes{{100, 3}, 1, "short rows"}, Sizes{{77, 4}, 1, "one vector"},
               Sizes{{5, 129}, 1, "one more than a power of two"}, Sizes{{9, 384}, 1, "a small model's width"},
               Sizes{{3, 6000}, 1, "long rows, read again"}, Sizes{{4, 3, 5, 4}, 2, "two axes"});
  const DType dtype = GENERATE(f32, f16, bf16);
  CAPTURE(sizes.why, name_of(dtype));
  const int64_t n = sizes.x.count(sizes.x.rank() - sizes.axes, sizes.x.rank());
  const bool packed_too = n == 129 || n == 20;  // ragged and whole
  if (dtype != f32 && !packed_too) return;
  Shape normalised;
  for (int axis = sizes.x.rank() - sizes.axes; axis < sizes.x.rank(); ++axis) normalised.push_back(sizes.x[axis]);
  const NormOptions options = {.axes = sizes.axes};
  check_every_variant(device, kLayerNorm,
                      [&](Builder& g) {
                        const Tensor x = g.input("x", dtype, sizes.x), w = g.param("w", dtype, normalised),
                                     b = g.param("b", f32, normalised);
                        g.output("both", layer_norm(x, w, b, options));
                        g.output("plain", layer_norm(x, {}, {}, options));
                      },
                      {.bound = norm_bound(dtype, n)});
  check_every_variant(device, kRmsNorm,
                      [&](Builder& g) {
                        g.output("rms",
                                 rms_norm(g.input("x", dtype, sizes.x), g.param("w", dtype, normalised), options));
                      },
                      {.bound = norm_bound(dtype, n)});
}

TEST_CASE("a bias without a weight, and weights of another type", "[norm][gpu]") {
  const Device device = device_or_skip();
  check_every_variant(device, kLayerNorm,
                      [](Builder& g) {
                        const Tensor x = g.input("x", f32, {6, 64});
                        g.output("shifted", layer_norm(x, {}, g.param("b", bf16, {64})));
                        g.output("scaled", layer_norm(x, g.param("w", f16, {64})));
                      },
                      {.bound = norm_bound(f32, 64)});
}

// What rounding to f32 leaves of the noise is the input; its variance must come out, not the rounding errors of the
// sum.
TEST_CASE("a large mean does not hide a small variance", "[norm][gpu]") {
  const Device device = device_or_skip();
  std::mt19937 random(7);
  std::vector<double> x(size_t{12} * 512);
  for (size_t i = 0; i < x.size(); ++i) {
    const double mean = i / 512 % 3 == 0 ? 1e4 : i / 512 % 3 == 1 ? -3e5 : 1e4;
    x[i] = mean + mean * 1e-5 * std::uniform_real_distribution<double>(-1, 1)(random);
    if (i / 512 % 3 == 2 && i % 512 == 0) x[i] = 0;  // an outlier where a shift would be taken from
  }
  check_every_variant(device, kLayerNorm, [](Builder& g) { g.output("y", layer_norm(g.input("x", f32, {12, 512}))); },
                      {.bound = norm_bound(f32, 512), .given = {{"x", x}}});
}

// In every norm that takes a mean out: along rows, over groups, over channels side by side, and with a sum before it.
TEST_CASE("no norm loses the variance of noise on 10000", "[norm][gpu]") {
  const Device device = device_or_skip();
  std::mt19937 random(8);
  std::vector<double> x(size_t{4} * 24 * 32), half(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 1e4 + 0.05 * std::uniform_real_distribution<double>(-1, 1)(random);
    half[i] = 5e3 + 0.02 * std::uniform_real_distribution<double>(-1, 1)(random);
  }
  const auto build = [](Builder& g) {
    const Tensor t = g.input("x", f32, {4, 24, 32}), h = g.input("h", f32, {4, 24, 32});
    g.output("group", group_norm(t, 3, {}, {}, 1e-7f)), g.output("instance", instance_norm(t, {}, {}, 1e-7f));
    g.output("per pixel", layer_norm_2d(t, {}, {}, 1e-7f)),
        g.output("two axes", layer_norm(t, {}, {}, {.axes = 2, .epsilon = 1e-7f}));
    g.output("ada", ada_layer_norm(t, g.input("scale", f32, {4, 32}), g.input("shift", f32, {4, 32}), 1e-7f));
    g.output("sum", add_layer_norm(h, h, {}, {}, {.epsilon = 1e-7f}).normal);
  };
  check_agrees(device, build, {.bound = norm_bound(f32, 768), .given = {{"x", x}, {"h", half}}});
}

TEST_CASE("the norm of a sum, and the sum, in one dispatch", "[norm][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", dtype, {5, 36}), r = g.input("r", dtype, {5, 36});
    const NormedSum layer = add_layer_norm(x, r, g.param("w", dtype, {36}), g.param("b", dtype, {36}));
    g.output("normal", layer.normal), g.output("sum", layer.sum);
    const NormedSum rms = add_rms_norm(layer.sum * 2.0f, r);
    g.output("rms", rms.normal), g.output("twice", rms.sum);
  };
  CHECK(compiled(build).steps.size() == 2);
  // A sum of 16 bits is rounded before the reference's norm, not before ours.
  check_agrees(device, build, {.bound = norm_bound(dtype, 36) + Bound{8 * epsilon_of(dtype), 0}});
}

TEST_CASE("norms over channels", "[norm][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", dtype, {2, 6, 5, 4});
    const Tensor w = g.param("w", dtype, {6}), b = g.param("b", dtype, {6});
    g.output("group", group_norm(x, 3, w, b));
    g.output("one group", group_norm(x, 1));
    g.output("instance", instance_norm(x, w, b));
    g.output("per pixel", layer_norm_2d(x, w, b));
    g.output("batch", batch_norm(x, g.param("mean", dtype, {6}), abs(g.param("variance", dtype, {6})) + 0.5f, w, b));
  };
  check_agrees(device, build, {.bound = norm_bound(dtype, 120) + rounding(dtype) + Bound{4 * epsilon_of(dtype), 0}});
  check_agrees(device, [](Builder& g) { g.output("y", instance_norm(g.input("x", f32, {3, 4, 300}))); },
               {.bound = norm_bound(f32, 300)});
}

// An independent statement of what the compositions mean: on plain arrays, in double.
TEST_CASE("group_norm, batch_norm and ada_layer_norm mean what they say", "[norm]") {
  DynamicGraph graph;
  const Tensor x = graph->input("x", f32, {2, 4, 3}), w = graph->param("w", f32, {4}), b = graph->param("b", f32, {4});
  graph->output("group", group_norm(x, 2, w, b, 0.25f));
  graph->output("batch", batch_norm(x, w, b, b, w, 0.5f));
  graph->output("ada",
                ada_layer_norm(x, graph->input("scale", f32, {2, 3}), graph->input("shift", f32, {2, 3}), 0.125f));
  std::mt19937 random(3);
  reference::Arrays in;
  in["x"] = random_array(f32, {2, 4, 3}, random);
  in["w"] = random_array(f32, {4}, random);
  in["b"] = reference::array_of(f32, {4}, {0.5, 1, 2, 3});
  in["scale"] = random_array(f32, {2, 3}, random), in["shift"] = random_array(f32, {2, 3}, random);
  const reference::Arrays out = reference::run(graph.graph(), in);
  const auto moments = [&](int64_t first, int64_t count) {
    double mean = 0, square = 0;
    for (int64_t i = first; i < first + count; ++i) mean += in["x"][i] / static_cast<double>(count);
    for (int64_t i = first; i < first + count; ++i)
      square += std::pow(in["x"][i] - mean, 2) / static_cast<double>(count);
    return std::pair(mean, square);
  };
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t batch = i / 12, channel = i / 3 % 4, col = i % 3;
    const double v = in["x"][i];
    const auto [mean, variance] = moments(i / 6 * 6, 6);
    CHECK(std::fabs(out.at("group")[i] -
                    ((v - mean) / std::sqrt(variance + 0.25) * in["w"][channel] + in["b"][channel])) < 1e-5);
    const double normal = (v - in["w"][channel]) / std::sqrt(in["b"][channel] + 0.5);
    CHECK(std::fabs(out.at("batch")[i] - (normal * in["b"][channel] + in["w"][channel])) < 1e-5);
    const auto [row_mean, row_variance] = moments(i / 3 * 3, 3);
    const double row = (v - row_mean) / std::sqrt(row_variance + 0.125);
    CHECK(std::fabs(out.at("ada")[i] - (row * (1 + in["scale"][batch * 3 + col]) + in["shift"][batch * 3 + col])) <
          1e-5);
  }
}

TEST_CASE("what stands before and after a norm joins its kernel", "[norm][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    const Tensor x = g.input("x", f32, {2, 7, 40}), r = g.input("r", f32, {7, 40});
    g.output("y", ada_layer_norm(x + r, g.input("scale", f32, {2, 40}), g.input("shift", f32, {2, 40})));
    g.output("z", gelu(group_norm(x, 7, g.param("w", f32, {7}), g.param("b", f32, {7}))));
  };
  CHECK(compiled(build).steps.size() == 2);
  check_agrees(device, build, {.bound = norm_bound(f32, 40)});
}

TEST_CASE("norms over run-time extents", "[norm][gpu]") {
  const Device device = device_or_skip();
  for (const double n : {0.0, 1.0, 7.0, 64.0}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      const Dim extent = g.extent("n", 64);
      g.output("columns", layer_norm(g.input("x", f32, {5, extent})));
      g.output("both", layer_norm(g.input("z", f32, {3, extent, 8}), {}, {}, {.axes = 2}));
      g.output("rows", rms_norm(g.input("r", f32, {extent, 12}), g.param("w", f32, {12})));
    };
    check_agrees(device, build, {.bound = norm_bound(f32, 512), .numbers = {{"n", n}}});
  }
}

// Rows of at most sqrt(k) in size, a weight and a shift of 2 at most, times k weights of 2 at most; gated, times as
// much again.
Bound normed_linear_bound(DType dtype, int64_t k) {
  const double size = 2 * (2 * std::sqrt(static_cast<double>(k)) + 2) * std::sqrt(static_cast<double>(k));
  return rounding(dtype) +
         Bound{size * size * 0x1p-23 * (16 + static_cast<double>(k)), 0x1p-23 * (16 + static_cast<double>(k))};
}

TEST_CASE("normed_linear: what is wrong is said", "[norm]") {
  CHECK(error_of([](Builder& g) {
          normed_linear(g.input("x", f32, {2, 3}), g.param("w", f32, {4, 5}));
        }).ends_with(": normed_linear([2,3], [4,5]): rows of 3 for a matrix of 4"));
  CHECK(error_of([](Builder& g) {
          normed_linear(g.input("x", f32, {2, 3}), g.param("w", f32, {3, 5}), {.bias = g.param("b", f32, {4})});
        }).ends_with(": normed_linear([2,3], [3,5], [4]): the bias is of [5]"));
}

TEST_CASE("normed_linear agrees with the reference", "[norm][gpu]") {
  const Device device = device_or_skip();
  const int64_t rows = GENERATE(0, 1, 5, 35, 70);
  const bool fours = GENERATE(true, false);  // of columns; the number of products is none such
  const DType dtype = rows == 5 ? f16 : f32;
  const int64_t k = fours ? 38 : 36, n = fours ? 72 : 70;
  CAPTURE(rows, fours);
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", dtype, {rows, k}), w = g.param("w", dtype, {k, n}), b = g.param("b", f32, {n});
    const Tensor scale = g.param("scale", f32, {k}), shift = g.param("shift", f32, {k});
    const NormedLinear all = normed_linear(
        x, w, {.norm = {.weight = scale, .bias = shift}, .bias = b, .activation = Activation::gelu, .keep = true});
    g.output("all", all.y), g.output("normal", all.normal);
    const Tensor turned = transpose(g.param("turned", f32, {72, 40})), straight = g.param("straight", f32, {40, 80});
    const Tensor part =
        fours ? slice(straight, {1, 8}, {39, 80}) : slice(turned, {4, 1}, {40, 71});  // read where it is
    g.output(
        "gated",
        normed_linear(x, w, {.norm = {.weight = scale, .centred = false}, .up = part, .activation = Activation::silu})
            .y);
    if (rows == 1 || rows == 35) g.output("plain", normed_linear(x, w).y * 2.0f);
  };
  check_every_variant(device, kNormedLinear, build, {.bound = normed_linear_bound(dtype, k)});
}

TEST_CASE("a large mean does not hide a small variance before a product either", "[norm][gpu]") {
  const Device device = device_or_skip();
  std::vector<double> x, w;
  std::mt19937 random(9);
  const auto noise = [&] { return std::uniform_real_distribution<double>(-1, 1)(random); };
  for (int i = 0; i < 256; ++i) x.push_back(1e4 + 0.05 * noise()), w.push_back(noise() + 1);
  const auto build = [](Builder& g) {
    g.output("y", normed_linear(g.input("x", f32, {4, 64}), g.param("w", f32, {64, 4})).y);
  };
  check_every_variant(device, kNormedLinear, build,
                      {.bound = normed_linear_bound(f32, 64), .given = {{"x", x}, {"w", w}}});
}

}  // namespace
}  // namespace rlxgpu::core::testing

#include "rlxgpu/kernels/matmul/matmul.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

constexpr Shape product(Shape a, Shape b) {
  Builder g;
  return matmul(g.input("a", f32, a), g.input("b", f32, b)).shape();
}

std::string error_of(TensorType a, TensorType b) {
  Builder g;
  matmul(g.input("a", a.dtype, a.shape), g.input("b", b.dtype, b.shape));
  const std::string error(g.graph().error.view());
  return error.substr(error.find(": ") + 2);
}

TEST_CASE("matmul: shapes", "[matmul]") {
  STATIC_REQUIRE(product({2, 3}, {3, 4}) == Shape{2, 4});
  STATIC_REQUIRE(product({5, 1, 2, 3}, {6, 3, 4}) == Shape{5, 6, 2, 4});
  STATIC_REQUIRE(product({3}, {3, 4}) == Shape{4});
  STATIC_REQUIRE(product({2, 3}, {3}) == Shape{2});
  STATIC_REQUIRE(product({3}, {3}) == Shape{});
  STATIC_REQUIRE(product({2, 0}, {0, 4}) == Shape{2, 4});
}

TEST_CASE("matmul: what is wrong is said", "[matmul]") {
  CHECK(error_of({f32, {128, 768}}, {f32, {512, 3072}}) ==
        "matmul([128,768], [512,3072]): inner dimensions differ (768 vs 512)");
  CHECK(error_of({f32, {2, 3, 4}}, {f32, {3, 4, 5}}) ==
        "matmul([2,3,4], [3,4,5]): leading axes [2] and [3] do not broadcast");
  CHECK(error_of({f32, {}}, {f32, {4, 5}}) == "matmul([], [4,5]): a scalar is no matrix: use *");
  CHECK(error_of({f32, {3, 4}}, {i32, {4, 5}}) == "matmul([3,4], i32[4,5]): f32 and i32 do not mix: cast one of them");
  CHECK(error_of({boolean, {3, 4}}, {boolean, {4, 5}}) == "matmul(bool[3,4], bool[4,5]): needs real numbers");
}

struct Sizes {
  Shape a, b;
  const char* why;
};

void check_product(const Device& device, const Sizes& sizes, DType a, DType b) {
  CAPTURE(sizes.why, name_of(a), name_of(b));
  const auto build = [&](Builder& g) { g.output("y", matmul(g.input("a", a, sizes.a), g.input("b", b, sizes.b))); };
  const int64_t k = sizes.a[sizes.a.rank() - 1];
  check_every_variant(device, kMatmul, build, {.bound = dot_bound(a == i8 ? i32 : a, k, 4.0)});
}

TEST_CASE("matmul agrees with the reference, whatever the shapes", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes =
      GENERATE(Sizes{{1, 1}, {1, 1}, "smallest"},  //
               Sizes{{64, 64}, {64, 64}, "one tile"}, Sizes{{65, 33}, {33, 67}, "ragged on every edge"},
               Sizes{{130, 68}, {68, 36}, "several tiles, vectors that end at edges"},
               Sizes{{8, 1030}, {1030, 12}, "long sums"},  //
               Sizes{{1, 300}, {300, 70}, "one row"}, Sizes{{70, 300}, {300, 1}, "one column"},
               Sizes{{5, 0}, {0, 7}, "empty sums"}, Sizes{{0, 5}, {5, 7}, "no rows"},
               Sizes{{40}, {40, 9}, "a vector on the left"}, Sizes{{9, 40}, {40}, "a vector on the right"},
               Sizes{{40}, {40}, "two vectors"}, Sizes{{3, 20, 10}, {3, 10, 30}, "a batch"},
               Sizes{{2, 3, 5, 4}, {4, 6}, "one b for all"}, Sizes{{5, 4}, {2, 3, 4, 6}, "one a for all"},
               Sizes{{2, 1, 2, 1, 2, 1, 3, 4}, {1, 2, 1, 2, 1, 2, 4, 5}, "batch axes that do not join"});
  check_product(device, sizes, f32, f32);
}

TEST_CASE("matmul agrees with the reference, whatever the types", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes = {{2, 17, 19}, {19, 23}, "odd everywhere: no row begins at a word"};
  for (const DType dtype : {f16, bf16, i32, u32, i8, u8}) check_product(device, sizes, dtype, dtype);
  check_product(device, sizes, f32, f16);
  check_product(device, sizes, bf16, f32);
}

TEST_CASE("matmul reads transposed and sliced operands where they are", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  CAPTURE(name_of(dtype));
  const auto build = [&](Builder& g) {
    Tensor a = g.input("a", dtype, {3, 2, 21, 18});              // (batch, head, k, m)
    Tensor b = g.input("b", dtype, {30, 3, 40});                 // (n, batch, k)
    b = slice(transpose(b, {1, 2, 0}), {0, 3, 1}, {3, 24, 30});  // (batch, k, n)
    g.output("y", matmul(transpose(a, {1, 0, 3, 2}), b));        // (head, batch, m, n)
  };
  CHECK(compiled(build).steps.size() == 1);
  check_every_variant(device, kMatmul, build, {.bound = dot_bound(dtype, 21, 4.0)});
}

TEST_CASE("matmul of a tensor with itself, reversed, stretched, and of a constant", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", f32, {19, 22});
    g.output("square", matmul(x, transpose(x)));
    g.output("reversed", matmul(reverse(x, {0, 1}), reverse(transpose(x), {0, 1})));
    g.output("stretched", matmul(expand(slice(x, {0, 3}, {1, 22}), {5, 19}), x));
    const uint32_t words[] = {word_of(3.0, f32)};
    g.output("constant", matmul(slice(x, {0, 0}, {19, 1}), g.constant(f32, {1, 1}, words)));
  };
  check_every_variant(device, kMatmul, build, {.bound = dot_bound(f32, 22, 6.0)});
}

TEST_CASE("what follows a matmul joins its kernel", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, bf16);
  CAPTURE(name_of(dtype));
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", dtype, {2, 20, 33});
    Tensor y = matmul(x, g.param("w", dtype, {33, 31})) * 0.25f + g.param("bias", dtype, {31});
    g.output("y", relu(y) + g.input("residual", dtype, {2, 20, 31}));
  };
  CHECK(compiled(build).steps.size() == 1);
  // The reference rounds four times on the way, numbers below 16.
  check_every_variant(device, kMatmul, build,
                      {.bound = dot_bound(dtype, 33, 4.0) + Bound{4 * 16 * epsilon_of(dtype), 0}});
}

TEST_CASE("matmul with run-time extents", "[matmul][gpu]") {
  const Device device = device_or_skip();
  for (const double n : {0.0, 1.0, 17.0, 40.0}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      const Dim some = g.extent("n", 40);
      Tensor x = g.input("x", f32, {some, 12});
      Tensor scores = matmul(x, g.input("w", f32, {12, some}));  // (n, n)
      g.output("y", matmul(scores, x));
    };
    check_every_variant(device, kMatmul, build, {.bound = dot_bound(f32, 40, 12 * 4.0 * 2.0), .numbers = {{"n", n}}});
  }
}

TEST_CASE("a matrix times a few vectors", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const char* variant = GENERATE("gemv", "packed_split", "few");
  const DType dtype = GENERATE(f32, f16, bf16);
  const auto [vectors, lines, k] = GENERATE(
      table<int64_t, int64_t, int64_t>({{1, 301, 1021}, {1, 40, 1024}, {2, 45, 200}, {3, 40, 128}, {16, 301, 132}}));
  if (dtype == bf16 && vectors != 1 && vectors != 3) return;  // as f16, but for how elements are unpacked
  if (std::string_view(variant) == "few" && (vectors > 8 || k % 4 != 0)) return;  // not for them
  CAPTURE(variant, name_of(dtype), vectors, lines, k);
  const auto build = [&, vectors = vectors, lines = lines, k = k](Builder& g) {
    Tensor w = g.param("w", dtype, {lines, k}), wt = g.param("wt", dtype, {k, lines});
    Tensor x = g.input("x", dtype, {vectors, k});
    const Tensor bias = g.param("bias", dtype, {lines}), residual = g.input("residual", dtype, {vectors, lines});
    g.output("rows", relu(matmul(x, transpose(w)) * 0.5f + bias) + residual);
    g.output("across", relu(matmul(x, wt) * 0.5f + bias) + residual);
    g.output("lines_of_a", matmul(w, transpose(x)));
    g.output("columns_of_a", matmul(transpose(wt), transpose(reverse(x, {0, 1}))));
  };
  // Sums are below 4 sqrt(k), and the reference rounds four of them on the way.
  const double rounded = 4 * 4 * std::sqrt(static_cast<double>(k)) * epsilon_of(dtype);
  check_agrees(device, build,
               {.bound = dot_bound(dtype, k, 4.0) + Bound{rounded, 0}, .choices = {{"matmul", variant}}});
}

TEST_CASE("the variant \"few\" with other numbers of lines, slices and splits", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const char* variant = GENERATE("few", "few{side=2,slices=8,unroll=1,splits=4}", "few{step=4,each=1,side=8,slices=16}",
                                 "few{step=4,side=16,slices=4,unroll=2,splits=2}", "few{slices=64,side=1,unroll=4}");
  const DType dtype = GENERATE(f32, f16);
  const int64_t vectors = GENERATE(1, 8);
  CAPTURE(variant, name_of(dtype), vectors);
  const int64_t lines = 44, k = 200;  // no whole workgroups, no whole turns
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", dtype, {2, vectors, k}), w = g.input("w", dtype, {lines, k});
    g.output("along", matmul(x, transpose(w)));
    g.output("across", matmul(x, g.input("wt", dtype, {2, k, lines})));
    g.output("lines_of_a", matmul(w, transpose(g.input("z", dtype, {vectors, k}))));
  };
  const Choice choices[] = {{"matmul", variant}};
  Builder builder;
  build(builder);
  CompileOptions options;
  options.choices = choices;
  const Program program = compile(builder.graph(), device.target(), options);
  REQUIRE(program.error.empty());
  int few = 0;
  for (const Step& step : program.steps)
    few += view_of(program, device.target()).name(step.label).find("/few") != std::string_view::npos;
  CHECK(few >= 2);  // not every parameter goes with every layout
  check_agrees(device, build, {.bound = dot_bound(dtype, k, 4.0), .choices = {{"matmul", variant}}});
}

TEST_CASE("the variant \"uniform\"", "[matmul][gpu]") {
  const Device device = device_or_skip();
  if (!device.target().subgroup_size_control) SKIP("subgroups have no size that can be asked for");
  const char* variant = GENERATE("uniform", "uniform{stack=1}", "uniform{stack=4}");
  const DType dtype = GENERATE(f32, f16);
  CAPTURE(variant, name_of(dtype));
  // No whole blocks; a single row and run; a batch that shares b, read from within a larger tensor.
  const auto build = [&](Builder& g) {
    const Tensor bias = g.param("bias", dtype, {68});
    g.output("ragged", relu(matmul(g.input("a", dtype, {45, 48}), g.param("b", dtype, {48, 68})) + bias));
    g.output("row", matmul(g.input("c", dtype, {1, 16}), g.param("d", dtype, {16, 4})));
    const Tensor rows = slice(g.input("e", dtype, {2, 20, 64}), {0, 3, 16}, {2, 16, 64});
    g.output("batch", matmul(rows, g.param("f", dtype, {48, 36})));
  };
  check_agrees(
      device, build,
      {.bound = dot_bound(dtype, 48, 4.0) + Bound{2 * 64 * epsilon_of(dtype), 0}, .choices = {{"matmul", variant}}});
}

TEST_CASE("matmul sums beyond the range of f16, and the same bits every time", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const std::string_view variant = GENERATE(from_range(variants_of(kMatmul)));
  CAPTURE(variant);
  const int64_t m = 12, n = 37, k = 70;
  DynamicGraph graph;
  graph->output("y", cast(matmul(graph->input("a", f16, {m, k}), graph->input("b", f16, {k, n})), f32));
  std::vector<uint32_t> a(static_cast<size_t>(m * k / 2)), b(static_cast<size_t>(k * n / 2));
  std::vector<double> exact(static_cast<size_t>(m * n));
  // 300 and -299.75 and so on: products of 9e4, sums of either sign; no two elements alike, so no order is like
  // another.
  const auto value = [](int64_t i, int64_t step) {
    return (i % 2 == 0 ? 1.0 : -1.0) * (256.0 + 0.25 * static_cast<double>((i * step) % 251));
  };
  const auto fill = [&](std::vector<uint32_t>& words, int64_t step) {
    for (size_t i = 0; i < words.size() * 2; ++i) {
      words[i / 2] |= word_of(value(static_cast<int64_t>(i), step), f16) << (16 * (i % 2));
    }
  };
  fill(a, 7), fill(b, 13);
  for (int64_t i = 0; i < m * n; ++i) {
    for (int64_t j = 0; j < k; ++j) exact[static_cast<size_t>(i)] += value(i / n * k + j, 7) * value(j * n + i % n, 13);
  }
  DynamicOptions options;
  const Choice choices[] = {{"matmul", variant}};
  options.compile.choices = choices;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    REQUIRE(executable->set_elements("a", f16, m * k, a.data()).ToString() == "OK");
    REQUIRE(executable->set_elements("b", f16, k * n, b.data()).ToString() == "OK");
    executable->run();
    auto y = executable->get<float>("y");
    REQUIRE(y.status().ToString() == "OK");
    if (run == 0) first = *y;
    CHECK(*y == first);
    const std::vector<double> got(y->begin(), y->end());
    CHECK_THAT(got, CloseTo(exact, dot_bound(f32, k, 1e5)));
  }
}

TEST_CASE("matmul kernels that state their buffers' sizes warm up", "[matmul][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  graph->output("y", matmul(graph->input("a", f32, {256, 256}), graph->input("b", f32, {256, 256})));
  DynamicOptions options;
  const Choice choices[] = {{"matmul", "packed"}};
  options.compile.choices = choices;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  CHECK(executable->engine().warm_up().ToString() == "OK");
}

}  // namespace
}  // namespace rlxgpu::core::testing

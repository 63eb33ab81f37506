// Matmul kernels for real GPUs, in all the ways they read operands: vectors along either axis, or element by element.
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/small_tiles.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

bool has_units(const Device& device, DType dtype) {
  return subgroup_matrix::plan_for(dtype, device.target()).shape.m != 0;
}

struct Product {
  int64_t batch, m, n, k;
  bool a_transposed, b_transposed;
  const char* why;
};

void build_product(Builder& g, DType dtype, const Product& p) {
  const auto matrix = [&](const char* name, int64_t rows, int64_t cols, bool transposed) {
    const Tensor x = g.input(name, dtype, {p.batch, transposed ? cols : rows, transposed ? rows : cols});
    return transposed ? transpose(x, {0, 2, 1}) : x;
  };
  g.output("y", matmul(matrix("a", p.m, p.k, p.a_transposed), matrix("b", p.k, p.n, p.b_transposed)));
}

void check(const Device& device, const char* variant, DType dtype, const Product& p) {
  CAPTURE(variant, name_of(dtype), p.why, p.m, p.n, p.k, p.a_transposed, p.b_transposed);
  check_agrees(device, [&](Builder& g) { build_product(g, dtype, p); },
               {.bound = dot_bound(dtype, p.k, 4.0), .choices = {{"matmul", variant}}});
}

void check_small_tiles(const Device& device, DType dtype, const Build& build, const Agreement& agreement) {
  DynamicGraph graph;
  build(*graph);
  REQUIRE(graph.graph().ok());
  check_agrees_on(device, with_small_tiles(device, dtype), graph, agreement, Sizes::free);
}

const std::vector<Product> kProducts = {
    {1, 72, 80, 24, false, false, "whole vectors, ragged tiles"},
    {2, 72, 80, 40, true, true, "the same, both transposed"},
    {1, 136, 24, 56, false, true, "b transposed"},
    {1, 24, 136, 16, true, false, "a transposed, one whole step of k"},
    {1, 33, 35, 37, false, false, "no vectors"},
    {1, 33, 35, 37, true, true, "no vectors, both transposed"},
    {2, 20, 12, 4, false, false, "vectors of four, not of eight"},
    {1, 16, 16, 0, false, false, "empty sums"},
    {1, 8, 8, 1, true, false, "one product"},
};

TEST_CASE("tiled_8x8 in all its ways to read", "[matmul][gpu]") {
  const Device device = device_or_skip();
  for (const Product& p : kProducts) check(device, "tiled_8x8", f32, p);
  for (const size_t i : {size_t{1}, size_t{2}, size_t{4}}) {  // what differs is how elements are unpacked
    check(device, "tiled_8x8", f16, kProducts[i]);
    check(device, "tiled_8x8", bf16, kProducts[i]);
  }
}

TEST_CASE("tiled_8x8 with the largest tiles", "[matmul][gpu]") {
  const Device device = device_or_skip();
  check(device, "tiled_8x8", f32, {64, 12, 20, 12, false, false, "a tile for each of the batch"});
  check(device, "tiled_8x8", f32, {16, 136, 132, 20, false, true, "two tiles in both directions"});
  check(device, "tiled_8x8", f16, {64, 9, 7, 11, false, false, "no vectors"});
}

TEST_CASE("subgroup_matrix in all its ways to read", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f16, f32);
  if (!has_units(device, dtype)) SKIP("no matrix units for " << name_of(dtype));
  std::vector<Product> products = kProducts;
  products.push_back({2, 67, 65, 37, false, false, "copied, for nothing is whole"});
  products.push_back({1, 64, 65, 40, true, false, "b copied, for its rows are not whole"});
  for (const Product& p : products) {
    CAPTURE(name_of(dtype), p.why);
    check_small_tiles(device, dtype, [&](Builder& g) { build_product(g, dtype, p); },
                      {.bound = dot_bound(dtype, p.k, 4.0), .choices = {{"matmul", "subgroup_matrix"}}});
  }
  check(device, "subgroup_matrix", dtype, {2, 136, 152, 40, false, false, "the largest tiles"});
}

TEST_CASE("subgroup_matrix with what follows, views, broadcast and run-time extents", "[matmul][gpu]") {
  const Device device = device_or_skip();
  if (!has_units(device, f16)) SKIP("no matrix units for f16");
  const auto fused = [](Builder& g) {
    const Tensor y = matmul(g.input("x", f16, {2, 3, 20, 40}), g.param("w", f16, {40, 24})) * 0.25f;
    g.output("y", relu(y + g.param("bias", f16, {24})) + g.input("residual", f16, {2, 3, 20, 24}));
  };
  check_small_tiles(device, f16, fused,
                    {.bound = dot_bound(f16, 40, 4.0) + Bound{4 * 64 * epsilon_of(f16), 0},
                     .choices = {{"matmul", "subgroup_matrix"}}});
  const auto views = [](Builder& g) {
    const Tensor x = g.input("x", f16, {24, 32});
    g.output("reversed", matmul(reverse(x, {0, 1}), reverse(transpose(x), {0, 1})));
    g.output("sliced", matmul(slice(x, {3, 8}, {21, 24}), slice(transpose(x), {8, 1}, {24, 23})));
    g.output("stretched", matmul(expand(slice(x, {0, 8}, {1, 32}), {5, 24}), x));
    g.output("vector", matmul(slice(x, {1, 0}, {2, 24}), x));
  };
  check_small_tiles(device, f16, views, {.bound = dot_bound(f16, 32, 4.0), .choices = {{"matmul", "subgroup_matrix"}}});
  for (const double n : {0.0, 1.0, 17.0, 40.0}) {
    CAPTURE(n);
    const auto extents = [](Builder& g) {
      const Dim some = g.extent("n", 40);
      g.output("y", matmul(g.input("x", f16, {16, some}), g.input("w", f16, {some, 24})));
    };
    check_small_tiles(
        device, f16, extents,
        {.bound = dot_bound(f16, 40, 4.0), .choices = {{"matmul", "subgroup_matrix"}}, .numbers = {{"n", n}}});
  }
}

// An error, or "OK", of all kernels that this target's units would get.
std::string validity(const Target& target, DType dtype, bool transposed) {
  Builder g;
  const Tensor b = g.input("b", dtype, {64, 64});
  g.output("y", matmul(g.input("a", dtype, {64, 64}), transposed ? transpose(b, {1, 0}) : b));
  g.output("z", matmul(g.input("c", dtype, {33, 35}), g.input("d", dtype, {35, 37})));
  const Choice choices[] = {{"matmul", "subgroup_matrix"}};
  CompileOptions options;
  options.choices = choices;
  if (!takes_choices(g.graph(), target, options)) return "the units are not used";
  const RenderedProgram rendered = render(compiled(g.graph(), options, target), target);
  return validate_kernels(rendered.view(), rendered.texts()).ToString();
}

TEST_CASE("kernels for matrix units that no adapter here has are valid", "[matmul]") {
  Target apple;
  apple.subgroups = apple.shader_f16 = true;
  apple.subgroup_min = apple.subgroup_max = 32;
  apple.matrix[apple.matrix_count++] = {f32, f32, 8, 8, 8};
  CHECK(validity(apple, f32, false) == "OK");
  CHECK(validity(apple, f32, true) == "OK");
  CHECK(validity(apple, f16, false) == "the units are not used");  // no f16 with sums in f32

  Target desktop;
  desktop.subgroups = desktop.shader_f16 = desktop.subgroup_size_control = true;
  desktop.subgroup_min = 32, desktop.subgroup_max = 64;
  desktop.matrix[desktop.matrix_count++] = {f16, f32, 16, 16, 16};
  desktop.matrix[desktop.matrix_count++] = {f32, f32, 16, 16, 16};
  for (const bool transposed : {false, true}) {
    CHECK(validity(desktop, f16, transposed) == "OK");
    CHECK(validity(desktop, f32, transposed) == "OK");
  }
  desktop.subgroup_size_control = false;  // subgroups of unknown size
  CHECK(validity(desktop, f16, false) == "the units are not used");
}

TEST_CASE("matrix units are the first guess for f16 on GPUs, and nowhere else", "[matmul]") {
  const auto uses_units = [](AdapterClass adapter, DType dtype, int64_t rows) {
    Target target;
    target.adapter_class = adapter;
    target.shader_f16 = target.subgroups = target.subgroup_size_control = true;
    target.subgroup_min = 8, target.subgroup_max = 64;
    target.matrix[target.matrix_count++] = {f16, f32, 16, 16, 16};
    target.matrix[target.matrix_count++] = {f32, f32, 8, 8, 8};
    Builder g;
    g.output("y", matmul(g.input("a", dtype, {rows, 256}), g.input("b", dtype, {256, 256})));
    const Program program = compiled(g.graph(), {}, target);
    REQUIRE_FALSE(program.steps.empty());
    return view_of(program, target).name(program.steps[program.steps.size() - 1].spec).find("subgroup_matrix") !=
           std::string_view::npos;
  };
  for (const AdapterClass adapter : {AdapterClass::discrete, AdapterClass::integrated}) {
    CHECK(uses_units(adapter, f16, 256));
    CHECK_FALSE(uses_units(adapter, f32, 256));
    CHECK_FALSE(uses_units(adapter, f16, 4));
  }
  for (const AdapterClass adapter : {AdapterClass::software, AdapterClass::unknown})
    CHECK_FALSE(uses_units(adapter, f16, 256));
}

}  // namespace
}  // namespace rlxgpu::core::testing

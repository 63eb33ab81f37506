#include "rlxgpu/kernels/attention/attention.h"

#include <cmath>
#include <random>
#include <string>
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

TEST_CASE("attention: what is wrong is said", "[attention]") {
  const auto of = [](Shape q, Shape k, Shape v, AttentionOptions options = {}) {
    return error_of(
        [&](Builder& g) { attention(g.input("q", f32, q), g.input("k", f32, k), g.input("v", f32, v), options); });
  };
  CHECK(of({2, 3, 4}, {2, 3, 4}, {2, 3, 4}).ends_with("queries, keys and values have rank 4"));
  CHECK(of({1, 3, 4, 8}, {1, 2, 5, 8}, {1, 2, 5, 8}).ends_with("3 heads are no multiple of 2 heads of keys"));
  CHECK(of({1, 2, 4, 8}, {1, 2, 5, 6}, {1, 2, 5, 8}).ends_with("queries of 8 columns, keys of 6"));
  CHECK(of({1, 2, 4, 8}, {1, 2, 5, 8}, {1, 2, 6, 8}).ends_with("there are not as many values as keys"));
  CHECK(of({1, 1, 1, 260}, {1, 1, 1, 260}, {1, 1, 1, 8}).ends_with("heads of more than 256 columns"));
  CHECK(of({1, 1, 1, 8}, {1, 1, 1, 8}, {1, 1, 1, 8}, {.window = -1}).ends_with("the window is -1"));
  CHECK(error_of([](Builder& g) {
          const Tensor q = g.input("q", f32, {1, 2, 4, 8});
          attention(q, q, q, {.bias = g.input("b", f32, {3, 4, 4})});
        }).ends_with("the bias does not broadcast to [1,2,4,4]"));
  CHECK(error_of([](Builder& g) {
          const Tensor q = g.input("q", f32, {1, 2, 4, 8});
          attention(q, q, q, {.mask = q});
        }).ends_with("the mask is a bool, not f32"));
}

struct Case {
  int64_t batches = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, size = 8, value_size = 8;
  bool causal = false;
  int64_t window = 0;
  float scale = 0, softcap = 0;
  double length = -1;     // -1: none
  const char* mask = "";  // which axes it has, of "bhqk"
  const char* bias = "";
  bool sequence_first = false;
  DType dtype = f32;
};

// Products of at most 4, `size` of them, make a score; its error is that of the exponential's argument. n weights add
// up to 1, values are at most 2, and each weight has the relative errors of the exponential, the sum and the division.
Bound attention_bound(const Case& c) {
  const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.size));
  const double score = 4.0 * static_cast<double>(c.size) * scale + 4 + 4 * static_cast<double>(c.softcap);
  const double ulps = 2 * score + 16 + std::sqrt(static_cast<double>(c.keys));
  return rounding(c.dtype) + Bound{2 * ulps * 0x1p-23, 0};
}

Shape part_of(const Case& c, std::string_view axes) {
  const auto has = [&](char axis, int64_t extent) { return axes.find(axis) != std::string_view::npos ? extent : 1; };
  return {has('b', c.batches), has('h', c.heads), has('q', c.queries), has('k', c.keys)};
}

void build_case(Builder& g, const Case& c) {
  const auto shape = [&](int64_t heads, int64_t rows, int64_t columns) {
    return c.sequence_first ? Shape{c.batches, rows, heads, columns} : Shape{c.batches, heads, rows, columns};
  };
  const Tensor q = g.input("q", c.dtype, shape(c.heads, c.queries, c.size));
  const Tensor k = g.input("k", c.dtype, shape(c.kv_heads, c.keys, c.size));
  const Tensor v = g.input("v", c.dtype, shape(c.kv_heads, c.keys, c.value_size));
  AttentionOptions options = {.causal = c.causal,
                              .window = c.window,
                              .scale = c.scale,
                              .softcap = c.softcap,
                              .sequence_first = c.sequence_first};
  if (c.length >= 0) options.length = g.scalar("length", u32);
  if (c.mask[0] != 0) options.mask = g.input("mask", boolean, part_of(c, c.mask));
  if (c.bias[0] != 0) options.bias = g.input("bias", f32, part_of(c, c.bias));
  g.output("y", attention(q, k, v, options));
}

// `variant`: this one; empty: every one.
void check_case(const Device& device, const Case& c, std::string_view variant = {}, uint32_t seed = 1) {
  CAPTURE(c.batches, c.heads, c.kv_heads, c.queries, c.keys, c.size, c.value_size, c.causal, c.window, c.scale,
          c.softcap, c.length, c.mask, c.bias, c.sequence_first, name_of(c.dtype));
  Agreement agreement = {.bound = attention_bound(c), .seed = seed};
  if (c.length >= 0) agreement.numbers["length"] = c.length;
  const auto build = [&](Builder& g) { build_case(g, c); };
  if (variant.empty()) return check_every_variant(device, kAttention, build, agreement);
  agreement.choices = {{"attention", variant}};
  check_agrees(device, build, agreement);
}

TEST_CASE("attention agrees with the reference", "[attention][gpu]") {
  const Device device = device_or_skip();
  const Case c =
      GENERATE(Case{}, Case{.keys = 0}, Case{.queries = 70, .keys = 0}, Case{.queries = 0, .keys = 3},
               Case{.queries = 3, .size = 1, .value_size = 1},
               Case{.batches = 2, .heads = 3, .kv_heads = 3, .queries = 33, .keys = 65, .size = 64, .value_size = 64},
               Case{.heads = 2, .kv_heads = 2, .queries = 70, .keys = 70, .size = 20, .value_size = 12, .causal = true},
               Case{.heads = 6, .kv_heads = 2, .queries = 5, .keys = 600, .size = 30, .value_size = 34},
               Case{.heads = 2, .kv_heads = 1, .queries = 9, .keys = 40, .size = 256, .value_size = 256},
               Case{.queries = 2, .keys = 5, .size = 7, .value_size = 130});
  check_case(device, c);
}

TEST_CASE("every option of attention alone", "[attention][gpu]") {
  const Device device = device_or_skip();
  const Case base = {.batches = 2, .heads = 4, .kv_heads = 2, .queries = 3, .keys = 37, .size = 16, .value_size = 8};
  const auto with = [&](auto change) {
    Case c = base;
    change(c);
    check_case(device, c);
  };
  with([](Case& c) { c.causal = true; });
  with([](Case& c) { c.causal = true, c.queries = 20, c.keys = 3; });  // some see nothing
  with([](Case& c) { c.window = 4; });
  with([](Case& c) { c.scale = 0.5f; });
  with([](Case& c) { c.softcap = 3; });
  with([](Case& c) { c.length = 20; });
  with([](Case& c) { c.length = 0; });
  with([](Case& c) { c.mask = "bk"; });
  with([](Case& c) { c.mask = "bhqk"; });
  with([](Case& c) { c.bias = "hqk"; });
  with([](Case& c) { c.bias = "k"; });
  with([](Case& c) { c.sequence_first = true; });
  with([](Case& c) { c.kv_heads = 1; });
  with([](Case& c) { c.dtype = f16; });
  with([](Case& c) { c.dtype = bf16, c.size = 10, c.value_size = 6; });
}

TEST_CASE("options of attention together", "[attention][gpu]") {
  const Device device = device_or_skip();
  const int seed = GENERATE(1, 2, 3, 4, 5);
  std::mt19937 random(static_cast<uint32_t>(seed));
  const auto one_of = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  const char* parts[] = {"", "k", "bk", "qk", "hq", "bhqk"};
  Case c;
  c.batches = 1 + one_of(2), c.kv_heads = 1 + one_of(3), c.heads = c.kv_heads * (1 + one_of(3));
  c.queries = 1 + one_of(8), c.keys = 1 + one_of(90), c.size = 1 + one_of(40), c.value_size = 1 + one_of(40);
  c.causal = one_of(2) == 1, c.window = one_of(2) * (1 + one_of(20)), c.softcap = static_cast<float>(one_of(2) * 5);
  c.length = one_of(3) == 0 ? -1 : static_cast<double>(one_of(c.keys + 1));
  c.mask = parts[one_of(6)], c.bias = parts[one_of(6)], c.sequence_first = one_of(2) == 1;
  c.dtype = one_of(3) == 0 ? f16 : f32;
  check_case(device, c, {}, static_cast<uint32_t>(seed));
}

TEST_CASE("a query that sees nothing gives zeros, scores of +infinity and NaN give NaN", "[attention][gpu]") {
  const Device device = device_or_skip();
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<double> bias = {-inf, -inf, -inf, -inf, 0, -inf, 1, 2, 0, inf, 1, 2, nan, 0, 1, 2};
  const auto build = [](Builder& g) {
    const Tensor q = g.input("q", f32, {1, 1, 4, 4});
    g.output("y", attention(q, q, q, {.bias = g.input("bias", f32, {4, 4})}));
  };
  check_every_variant(device, kAttention, build, {.bound = attention_bound({.size = 4}), .given = {{"bias", bias}}});
}

TEST_CASE("attention reads slices of one product, and computes queries on the fly", "[attention][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    const Tensor qkv = g.input("qkv", f32, {2, 13, 3 * 24});
    const auto heads = [&](int64_t part) { return reshape(narrow(qkv, 2, part * 24, 24), {2, 13, 3, 8}); };
    const Tensor y = attention(heads(0) * 0.5f, heads(1), heads(2), {.causal = true, .sequence_first = true});
    g.output("y", gelu(reshape(y, {2, 13, 24})));
  };
  DynamicGraph graph;
  build(*graph);
  const Choice streaming[] = {{"attention", "streaming"}};
  CompileOptions options;
  options.choices = streaming;
  CHECK(compiled(graph.graph(), options).steps.size() == 1);
  check_every_variant(device, kAttention, build, {.bound = attention_bound({.size = 8}) + ulp_bound(f32, 16)});
}

TEST_CASE("attention over lengths of each batch and run-time extents", "[attention][gpu]") {
  const Device device = device_or_skip();
  for (const double n : {0.0, 1.0, 5.0, 12.0}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      const Dim queries = g.extent("n", 12);
      const Tensor k = g.input("k", f32, {3, 2, 40, 8}), v = g.input("v", f32, {3, 2, 40, 8});
      const Tensor q = g.input("q", f32, {3, 4, queries, 8});
      g.output("y", attention(q, k, v, {.causal = true, .length = g.input("lengths", i32, {3})}));
      const Tensor self = g.input("self", f32, {1, 1, queries, 12});
      g.output("z", attention(self, self, self, {.causal = true}));
    };
    check_every_variant(
        device, kAttention, build,
        {.bound = attention_bound({.keys = 40}), .given = {{"lengths", {0, 40, 17}}}, .numbers = {{"n", n}}});
  }
}

TEST_CASE("a run gives the bits of the run before", "[attention][gpu]") {
  const Device device = device_or_skip();
  const std::string_view variant = GENERATE(from_range(variants_of(kAttention)));
  CAPTURE(variant);
  DynamicGraph graph;
  build_case(*graph,
             {.heads = 4, .kv_heads = 2, .queries = 37, .keys = 150, .size = 20, .value_size = 20, .causal = true});
  const Choice choices[] = {{"attention", variant}};
  DynamicOptions options;
  options.compile.choices = choices;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  for (const auto& [name, array] : inputs_of(graph.graph(), {.bound = {}})) {
    REQUIRE(executable->set_elements(name, f32, array.count(), pack(array).data()).ok());
  }
  executable->run();
  const std::vector<float> first = *executable->get<float>("y");
  for (int run = 0; run < 4; ++run) {
    executable->run();
    CHECK(*executable->get<float>("y") == first);
  }
}

TEST_CASE("long sequences", "[attention][gpu]") {
  const Device device = device_or_skip();
  check_case(device, {.queries = 1000, .keys = 8192, .size = 4, .value_size = 4, .causal = true, .window = 20},
             "streaming");
  check_case(device, {.heads = 4, .kv_heads = 2, .keys = 8192, .size = 8, .value_size = 8, .length = 8191}, "split");
  check_case(device, {.queries = 200, .keys = 1500, .size = 4, .value_size = 4}, "materialized");
  check_case(device, {.queries = 9, .keys = 8192, .size = 64, .value_size = 64, .causal = true});
  check_case(device, {.queries = 8192, .keys = 8192, .size = 4, .value_size = 4, .causal = true, .window = 9},
             "streaming");
}

TEST_CASE("scores that do not fit into memory are not stored", "[attention]") {
  DynamicGraph graph;
  build_case(*graph, {.queries = 8192, .keys = 8192, .size = 64, .value_size = 64});
  const Choice choices[] = {{"attention", "materialized"}};
  CompileOptions options;
  options.choices = choices;
  Target gpu = kPortable;  // with all that "materialized" needs but the memory
  gpu.subgroups = true, gpu.subgroup_min = gpu.subgroup_max = 8;
  Target software = gpu;
  software.adapter_class = AdapterClass::software;
  for (Target target : {gpu, software}) {
    CHECK(compiled(graph.graph(), options, target).steps.size() == 1);
    target.max_binding_bytes = uint64_t{4} << 30;
    CHECK(compiled(graph.graph(), options, target).steps.size() == 3);
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing

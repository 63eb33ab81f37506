// rope, gated units, embeddings, and caches.
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/glu/glu.h"
#include "rlxgpu/kernels/kv_cache/kv_append.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/rope/rope.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("rope, embedding and kv_append: what is wrong is said", "[rope]") {
  CHECK(error_of([](Builder& g) {
          rope(g.input("x", f32, {2, 3}), g.input("p", u32, {2}));
        }).ends_with("3 columns cannot be turned in pairs"));
  CHECK(error_of([](Builder& g) {
          rope(g.input("x", f32, {2, 4}), g.input("p", f32, {2}));
        }).ends_with("positions are i32 or u32, not f32"));
  CHECK(error_of([](Builder& g) {
          rope(g.input("x", f32, {2, 4}), g.input("p", u32, {3}));
        }).ends_with("positions do not broadcast to [2]"));
  CHECK(error_of([](Builder& g) {
          rope_2d(g.input("x", f32, {2, 6}), g.input("p", u32, {2}), g.input("q", u32, {2}));
        }).ends_with("takes all columns, a multiple of 4"));
  CHECK(error_of([](Builder& g) {
          embedding(g.param("t", f32, {2, 6, 2}), g.input("i", u32, {2}));
        }).ends_with("embedding([2,6,2], [2]): the table is not (vocabulary, width)"));
  CHECK(error_of([](Builder& g) {
          kv_append(g.state("c", f32, {8, 4}), g.input("x", f32, {2, 5}), g.scalar("n", u32), 0);
        }).ends_with("what is appended does not fit into the cache"));
  CHECK(error_of([](Builder& g) {
          kv_append(g.state("c", f32, {2, 8, 4}), g.input("x", f32, {2, 1, 4}), g.input("n", u32, {3}), 1);
        }).ends_with("the position is one i32 or u32, or one for each row of the first axis"));
  CHECK(error_of([](Builder& g) {
          const Tensor c = g.state("c", f32, {2, 8, 4});
          kv_append(narrow(c, 0, 0, 1), g.input("x", f32, {1, 2, 4}), g.scalar("n", u32), 1);
        }).ends_with("operand 0 is a view of state \"c\": only a whole state can be changed in place"));
}

// Angles are wrong by an ulp of half a turn; sine, cosine and the two products cost a few ulps of at most 2.
Bound rope_bound(DType dtype) { return rounding(dtype) + Bound{2 * 2 * (4 + 8) * 0x1p-23, 0}; }

TEST_CASE("rope agrees with the reference", "[rope][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  static constexpr double kAngles[] = {0, 1, 12.5, -1e-5};
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", dtype, {2, 3, 5, 24}), p = g.input("p", i32, {5});
    g.output("halves", rope(x, p));
    g.output("neighbours", rope(x, p, {.interleaved = true}));
    g.output("partial", rope(x, p, {.base = 500000.0f, .columns = 16}));
    g.output("partial neighbours", rope(x, p, {.columns = 8, .interleaved = true}));
    g.output("by angles", rope_by(x, p, kAngles, {.interleaved = true}));
    g.output("none", rope(g.input("y", dtype, {0, 24}), g.input("q", u32, {0})));
    const Tensor z = g.input("z", dtype, {2, 5, 3, 4});
    g.output("by sequence", rope(z, g.input("r", u32, {2, 5}), {.sequence_first = true}));
    g.output("image", rope_2d(x, p, g.input("c", i32, {2, 3, 5})));
  };
  // Columns 0 to 11 are turned by p, 12 to 23 by c; pairs are six columns apart.
  const auto judge = [](const reference::Arrays& inputs) {
    const reference::Array &x = inputs.at("x"), &p = inputs.at("p"), &c = inputs.at("c");
    std::vector<double> image(x.data.size());
    for (int64_t row = 0; row < 30; ++row) {
      for (int64_t pair = 0; pair < 12; ++pair) {
        const int64_t at = row * 24 + pair / 6 * 12 + pair % 6;
        const double angle = (pair < 6 ? p[row % 5] : c[row]) * std::pow(10000.0, -static_cast<double>(pair % 6) / 6);
        image[static_cast<size_t>(at)] = x[at] * std::cos(angle) - x[at + 6] * std::sin(angle);
        image[static_cast<size_t>(at + 6)] = x[at + 6] * std::cos(angle) + x[at] * std::sin(angle);
      }
    }
    std::vector<double> turned = x.data;
    for (int64_t i = 0; i < x.count(); i += i % 24 == 6 ? 18 : 2) {
      const double angle = p[i / 24 % 5] * kAngles[i % 24 / 2];
      turned[static_cast<size_t>(i)] = x[i] * std::cos(angle) - x[i + 1] * std::sin(angle);
      turned[static_cast<size_t>(i + 1)] = x[i + 1] * std::cos(angle) + x[i] * std::sin(angle);
    }
    return std::map<std::string, std::vector<double>>{{"image", image}, {"by angles", turned}};
  };
  check_agrees(device, build, {.bound = rope_bound(dtype), .given = {{"p", {0, 1, -3, 8191, 131071}}}, .judge = judge});
}

TEST_CASE("rope is exact at positions that f32 angles are not", "[rope][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) { g.output("y", rope(g.input("x", f32, {4, 128}), g.input("p", u32, {4}))); };
  check_agrees(device, build, {.bound = rope_bound(f32), .given = {{"p", {16777217, 999999937, 4000000000, 1048576}}}});
}

TEST_CASE("rope joins what is before and after it", "[rope][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    const Tensor q = g.input("q", f32, {1, 6, 2, 8}), n = g.scalar("n", u32);
    const Tensor turned = rope(q * 2.0f, iota(g, u32, 6) + n, {.sequence_first = true});
    g.output("y", attention(turned, q, q, {.causal = true, .sequence_first = true}));
  };
  CHECK(compiled(build).steps.size() == 1);
  check_agrees(device, build, {.bound = rope_bound(f32) + Bound{0x1p-17, 0}, .numbers = {{"n", 1000}}});
}

TEST_CASE("gated units and embeddings", "[glu][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16, bf16);
  const auto build = [&](Builder& g) {
    const Tensor a = g.input("a", dtype, {3, 10}), b = g.input("b", dtype, {3, 10});
    g.output("swiglu", swiglu(a, b)), g.output("geglu", geglu(a, b));
    g.output("halves", swiglu(a)), g.output("halves by gelu", geglu(a));
    const Tensor tokens = g.input("tokens", i32, {2, 4});
    g.output("rows", embedding(g.param("table", dtype, {7, 5}), tokens) +
                         embedding(g.param("places", dtype, {4, 5}), iota(g, u32, 4)));
  };
  // The first half of a row is the gate of the second.
  const auto judge = [](const reference::Arrays& inputs) {
    const reference::Array& a = inputs.at("a");
    std::map<std::string, std::vector<double>> halves;
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t i = row * 10; i < row * 10 + 5; ++i) {
        halves["halves"].push_back(a[i] / (1 + std::exp(-a[i])) * a[i + 5]);
        halves["halves by gelu"].push_back(a[i] * (1 + std::erf(a[i] / std::sqrt(2.0))) / 2 * a[i + 5]);
      }
    }
    return halves;
  };
  check_agrees(device, build,
               {.bound = rounding(dtype) + Bound{4 * 16 * 0x1p-23, 4 * epsilon_of(dtype) + 16 * 0x1p-23},
                .given = {{"tokens", {0, 6, 3, 3, -1, 7, 100, 2}}},
                .judge = judge});
}

// Everything that fits is there, and nothing else has changed: run by run, against the same in plain C++.
TEST_CASE("a cache grows in place", "[kv_append][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  DynamicGraph graph;
  const Tensor cache = graph->state("cache", dtype, {2, 6, 3});
  const Dim steps = graph->extent("steps", 4);
  const Tensor x = graph->input("x", dtype, {2, steps, 3});
  const Tensor at = graph->scalar("at", i32);
  kv_append(cache, x + 1.0f, at, 1);
  graph->output("next", at + 1);
  CompileOptions checked;
  checked.check = true;
  CHECK(compiled(graph.graph(), checked).steps.size() == 2);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  std::vector<double> expected(36, 0);
  std::mt19937 random(5);
  struct Append {
    int64_t at, steps;
  };
  for (const Append& append :
       {Append{0, 3}, Append{3, 1}, Append{4, 4}, Append{1, 0}, Append{2, 2}, Append{9, 1}, Append{-1, 3}}) {
    const reference::Array data = random_array(dtype, {2, append.steps, 3}, random);
    CHECK(executable->set("steps", static_cast<double>(append.steps)).ToString() == "OK");
    CHECK(executable->set("at", static_cast<double>(append.at)).ToString() == "OK");
    CHECK(executable->set_elements("x", dtype, data.count(), pack(data).data()).ToString() == "OK");
    executable->run();
    for (int64_t i = 0; i < data.count(); ++i) {
      const int64_t place = append.at + i / 3 % append.steps;
      if (place >= 0 && place < 6)
        expected[static_cast<size_t>((i / 3 / append.steps * 6 + place) * 3 + i % 3)] = data[i] + 1;
    }
    std::vector<uint32_t> words(storage_bytes(dtype, 36) / 4);
    REQUIRE(executable->get_elements("cache", dtype, 36, words.data()).ToString() == "OK");
    CAPTURE(append.at, append.steps);
    CHECK_THAT(reference::unpack(dtype, {2, 6, 3}, words).data, CloseTo(expected, rounding(dtype)));
  }
}

TEST_CASE("texts side by side grow from positions of their own", "[kv_append][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  const Tensor cache = graph->state("cache", f32, {3, 2, 4, 2});
  kv_append(cache, graph->input("x", f32, {3, 2, 1, 2}) * 2.0f, graph->input("at", u32, {3}), 2);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  std::vector<float> x(12), expected(48);
  for (size_t i = 0; i < 12; ++i) x[i] = static_cast<float>(i + 1);
  const std::vector<uint32_t> at = {3, 0, 4};  // the last is beyond the end
  for (size_t i = 0; i < 8; ++i) expected[(i / 2 * 4 + at[i / 4]) * 2 + i % 2] = 2 * x[i];
  CHECK(executable->set("x", x).ToString() == "OK");
  CHECK(executable->set("at", at).ToString() == "OK");
  executable->run();
  CHECK(*executable->get<float>("cache") == expected);
}

// Attention over a cache that grows token by token is attention over all of them at once. Keys and values are one
// state, so that one dispatch appends both.
TEST_CASE("token by token is as all at once", "[kv_append][gpu]") {
  const Device device = device_or_skip();
  constexpr int64_t kTokens = 9;
  const auto step = [](Builder& g, Dim tokens) {
    const Tensor cache = g.state("cache", f32, {2, 1, 2, 16, 8}), n = g.scalar("n", u32);
    const Tensor q = g.input("q", f32, {1, 4, tokens, 8}), k = g.input("k", f32, {1, 2, tokens, 8}),
                 v = g.input("v", f32, {1, 2, tokens, 8});
    const Tensor places = iota(g, u32, tokens) + n;
    const Tensor grown = kv_append(cache, stack({rope(k, places), v}, 0), n, 3);
    const Tensor keys = reshape(narrow(grown, 0, 0, 1), {1, 2, 16, 8}),
                 values = reshape(narrow(grown, 0, 1, 1), {1, 2, 16, 8});
    g.output("y", attention(rope(q, places), keys, values,
                            {.causal = true, .length = n + cast(g.extent_value(tokens), u32)}));
  };
  DynamicGraph one, all;
  step(*one, 1), step(*all, kTokens);
  CHECK(compiled(one.graph()).steps.size() == 2);
  auto single = Executable<DynamicGraph>::create(device, one), whole = Executable<DynamicGraph>::create(device, all);
  REQUIRE(single.status().ToString() == "OK");
  REQUIRE(whole.status().ToString() == "OK");
  std::mt19937 random(11);
  const auto some = [&](int64_t heads) { return random_array(f32, {heads, kTokens, 8}, random).data; };
  const std::vector<double> q = some(4), k = some(2), v = some(2);
  const auto rows = [](const std::vector<double>& from, int64_t first, int64_t count) {  // of every head
    std::vector<float> to;
    for (size_t head = 0; head < from.size() / (kTokens * 8); ++head) {
      for (int64_t i = first * 8; i < (first + count) * 8; ++i)
        to.push_back(static_cast<float>(from[head * kTokens * 8 + static_cast<size_t>(i)]));
    }
    return to;
  };
  const auto run = [&](Executable<DynamicGraph>& executable, int64_t first, int64_t count) {
    CHECK(executable.set("n", static_cast<double>(first)).ToString() == "OK");
    CHECK(executable.set("q", rows(q, first, count)).ToString() == "OK");
    CHECK(executable.set("k", rows(k, first, count)).ToString() == "OK");
    CHECK(executable.set("v", rows(v, first, count)).ToString() == "OK");
    executable.run();
    return *executable.get<float>("y");
  };
  const std::vector<float> expected = run(*whole, 0, kTokens);
  for (int64_t token = 0; token < kTokens; ++token) {
    CAPTURE(token);
    const std::vector<float> y = run(*single, token, 1);
    std::vector<double> actual(y.begin(), y.end()), wanted;
    for (size_t head = 0; head < 4; ++head) {
      for (size_t i = 0; i < 8; ++i) wanted.push_back(expected[(head * kTokens + static_cast<size_t>(token)) * 8 + i]);
    }
    CHECK_THAT(actual, CloseTo(wanted, Bound{0x1p-19, 0}));
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing

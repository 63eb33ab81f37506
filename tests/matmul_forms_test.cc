// What is built on matmul: products written in other layouts, attention's three at once, and so on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/einsum.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/gemm.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/matmul/qkv.h"
#include "rlxgpu/kernels/matmul/quantized.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

// Sums of k products of at most 4; silu and gelu are no steeper than 1.2; times as much again.
Bound gated_bound(DType dtype, int64_t k) {
  const double size = 4 * static_cast<double>(k), sums = 2.4 * 0x1p-24 * static_cast<double>(k + 16);
  return rounding(dtype) + Bound{size * size * sums, 16 * 0x1p-24};
}

TEST_CASE("gated_matmul: two products in one", "[matmul][gpu]") {
  const Device device = device_or_skip();
  // Rows, products, columns: ragged, whole vectors read where they are, types that are copied, none.
  const auto [dtype, m, k, n] = GENERATE(table<DType, int64_t, int64_t, int64_t>(
      {{f32, 1, 3, 5}, {f32, 33, 40, 68}, {f16, 70, 21, 50}, {bf16, 17, 8, 32}, {f32, 0, 8, 8}}));
  CAPTURE(name_of(dtype), m, k, n);
  const auto build = [&, dtype = dtype, m = m, k = k, n = n](Builder& g) {
    const Tensor x = g.input("x", dtype, {m, k}), gate = g.param("gate", dtype, {k, n});
    g.output("silu", gated_matmul(x, gate, g.param("up", dtype, {k, n}), Activation::silu));
    if (dtype == bf16) return;  // one more type for each kernel, not for all that it can do
    // Of another type, read where it is; what follows joins.
    const Tensor turned = slice(transpose(g.param("turned", f32, {n + 3, k + 1})), {1, 2}, {k + 1, n + 2});
    g.output("gelu", gated_matmul(x, gate, turned, Activation::gelu) * 0.5 + 1.0);
    g.output("dense", gated_matmul(x, gate, g.param("part", f32, {k, n}), Activation::gelu_tanh));
    if (dtype == f32 && m > 1) g.output("plain", gated_matmul(reshape(x, {1, m, k}), gate, gate, Activation::none));
  };
  check_every_variant(device, kGatedMatmul, build, {.bound = gated_bound(dtype, k)});
}

TEST_CASE("gated_matmul: what is wrong is said", "[matmul]") {
  const auto message = [](DType dtype, const Shape& gate, const Shape& up) {
    return message_of([&](Builder& g) {
      gated_matmul(g.input("x", f32, {2, 3}), g.param("g", dtype, gate), g.param("u", f32, up), Activation::silu);
    });
  };
  CHECK(message(f32, {4, 5}, {4, 5}) == "gated_matmul([2,3], [4,5], [4,5]): rows of 3 for matrices of 4");
  CHECK(message(f32, {3, 5}, {3, 6}) == "gated_matmul([2,3], [3,5], [3,6]): the two matrices differ");
  CHECK(message(i32, {3, 5}, {3, 5}) == "gated_matmul([2,3], i32[3,5], [3,5]): needs floats, not i32");
}

TEST_CASE("qkv: one product, three tensors, in either layout", "[matmul][gpu]") {
  const Device device = device_or_skip();
  // A head size of 8 keeps vectors whole, one of 5 does not.
  const auto [dtype, by_head, seq, dim] =
      GENERATE(table<DType, bool, int64_t, int64_t>({{f32, true, 11, 8}, {f16, true, 3, 5}, {bf16, false, 11, 8}}));
  CAPTURE(name_of(dtype), by_head, seq, dim);
  const auto build = [&, dtype = dtype, by_head = by_head, seq = seq, dim = dim](Builder& g) {
    const Tensor x = g.input("x", dtype, {2, seq, 20});
    const auto [q, k, v] =
        qkv(x, g.param("w", dtype, {20, (4 + 2 * 2) * dim}),
            {.heads = 4, .kv_heads = 2, .dim = dim, .by_head = by_head}, g.param("bias", dtype, {8 * dim}));
    g.output("q", q), g.output("k", k), g.output("v", v);
  };
  CHECK(steps_of(compiled(build)).find(' ') == std::string::npos);
  // Columns of w: 4 heads of queries, 2 of keys, 2 of values.
  const auto judge = [&, by_head = by_head, seq = seq, dim = dim](const reference::Arrays& inputs) {
    const reference::Array &x = inputs.at("x"), &w = inputs.at("w"), &bias = inputs.at("bias");
    std::map<std::string, std::vector<double>> parts;
    int64_t first = 0;
    for (const auto& [name, heads] : {std::pair{"q", 4}, {"k", 2}, {"v", 2}}) {
      std::vector<double>& part = parts[name];
      const int64_t rows = by_head ? heads : seq, between = by_head ? seq : heads;
      for (int64_t i = 0; i < 2 * rows * between * dim; ++i) {
        const int64_t outer = i / dim / between % rows, inner = i / dim % between, batch = i / dim / between / rows;
        const int64_t head = by_head ? outer : inner, row = by_head ? inner : outer;
        const int64_t col = first + head * dim + i % dim;
        double sum = bias[col];
        for (int64_t j = 0; j < 20; ++j) sum += x[(batch * seq + row) * 20 + j] * w[j * 8 * dim + col];
        part.push_back(sum);
      }
      first += heads * dim;
    }
    return parts;
  };
  // The product is rounded before the bias is added: numbers below 64.
  check_every_variant(device, kMatmul, build,
                      {.bound = dot_bound(dtype, 20, 4.0) + Bound{2 * 64 * epsilon_of(dtype), 0}, .judge = judge});
}

TEST_CASE("qkv: what is wrong is said", "[matmul]") {
  Builder g;
  qkv(g.input("x", f32, {5, 8}), g.param("w", f32, {8, 30}), {.heads = 4, .dim = 4});
  const std::string error(g.graph().error.view());
  CHECK(error.substr(error.find(": ") + 2) ==
        "qkv([5,8], [8,30]): needs a matrix x and a w of 48 columns for 4 + 2 * 4 heads of 4");
}

TEST_CASE("a product is written in the layouts that its users want", "[matmul][gpu]") {
  const Device device = device_or_skip();
  struct Row {
    const char* why;
    void (*build)(Builder&);
    const char* steps;
  };
  const auto product = [](Builder& g) { return matmul(g.input("a", f32, {12, 7}), g.input("b", f32, {7, 20})); };
  static const auto make = product;
  const Row row = GENERATE(values<Row>({
      {"transposed", [](Builder& g) { g.output("y", transpose(make(g))); }, "matmul+transpose/f32/tiled"},
      {"maps on both sides of the views",
       [](Builder& g) {
         const Tensor y = relu(make(g) + g.input("bias", f32, {20}));
         g.output("y", transpose(reshape(y, {3, 4, 20}), {2, 0, 1}) * g.input("scale", f32, {20, 1, 4}));
       },
       "matmul+add+relu+reshape+2/f32/tiled"},
      {"every other column, and the rest reversed in another kernel",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("even", slice(y, {0, 0}, {12, 20}, {1, 2}));
         g.output("odd", slice(y, {0, 1}, {12, 20}, {1, 2}) + 1.0);
       },
       "matmul+slice+slice+add/f32/tiled"},
      {"all of it for two groups",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("relu", relu(y));
         g.output("part", sigmoid(slice(y, {3, 2}, {9, 11})));
       },
       "matmul+relu+slice+sigmoid/f32/tiled"},
      {"reversed: not", [](Builder& g) { g.output("y", reverse(make(g), {0})); }, "matmul/f32/tiled copy/f32/map"},
      {"an element twice: not",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("y", slice(y, {0, 0}, {12, 10}) * slice(y, {0, 10}, {12, 20}));
       },
       "matmul/f32/tiled mul/f32/map"},
      {"stretched: not", [](Builder& g) { g.output("y", expand(reshape(make(g), {12, 1, 20}), {12, 3, 20}) + 1.0); },
       "matmul/f32/tiled add/f32/map"},
      {"needed by a kernel, too: not",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("y", transpose(y));
         g.output("sum", sum(y, 1));
       },
       "matmul/f32/tiled copy/f32/map sum/f32/rows"},
      {"an output itself: not",
       [](Builder& g) {
         const Tensor y = make(g);
         g.output("y", y);
         g.output("z", transpose(y));
       },
       "matmul/f32/tiled copy/f32/map"},
      {"what a part is added to comes after another part: not",
       [](Builder& g) {
         const Tensor y = make(g), left = slice(y, {0, 0}, {12, 10}) + 1.0;
         g.output("left", left);
         g.output("right", slice(y, {0, 10}, {12, 20}) + sum(left, 1, {.keep_dims = true}));
       },
       "matmul/f32/tiled add/f32/map sum/f32/rows add/f32/map"},
      {"a reduction, in another layout",
       [](Builder& g) { g.output("y", transpose(sum(g.input("x", f32, {6, 5, 9}), 2))); }, "sum+transpose/f32/rows"},
  }));
  CAPTURE(row.why);
  CHECK(steps_of(compiled(row.build)) == row.steps);
  check_agrees(device, row.build, {.bound = dot_bound(f32, 9, 6.0) + Bound{1e-6, 1e-5}});
}

TEST_CASE("gemm scales, transposes and adds in one dispatch", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const auto build = [&](Builder& g) {
    const Tensor a = g.input("a", f32, {2, 13, 9}), b = g.input("b", f32, {11, 13});
    g.output(
        "y",
        gemm(a, b,
             {.alpha = -0.5f, .beta = 3.0f, .transpose_a = true, .transpose_b = true, .c = g.input("c", f32, {11})}));
  };
  CHECK(steps_of(compiled(build)).find(' ') == std::string::npos);
  check_every_variant(device, kMatmul, build, {.bound = dot_bound(f32, 13, 4.0) + Bound{1e-5, 0}});
}

TEST_CASE("lora adds a correction of low rank", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  CAPTURE(name_of(dtype));
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", dtype, {2, 7, 24});
    g.output("y",
             lora(x, g.param("w", dtype, {24, 18}), g.param("a", dtype, {24, 3}), g.param("b", dtype, {3, 18}), 0.25f));
  };
  // (x a) is at most 24 * 4 = 96, times b and 3 terms: 576, times 0.25; each is rounded to storage on the way.
  const auto judge = [](const reference::Arrays& inputs) {
    const reference::Array &x = inputs.at("x"), &w = inputs.at("w"), &a = inputs.at("a"), &b = inputs.at("b");
    std::vector<double> y(14 * 18);
    for (int64_t row = 0; row < 14; ++row) {
      double low[3] = {};
      for (int64_t j = 0; j < 24; ++j) {
        for (int64_t r = 0; r < 3; ++r) low[r] += x[row * 24 + j] * a[j * 3 + r];
      }
      for (int64_t col = 0; col < 18; ++col) {
        double& sum = y[static_cast<size_t>(row * 18 + col)];
        for (int64_t j = 0; j < 24; ++j) sum += x[row * 24 + j] * w[j * 18 + col];
        for (int64_t r = 0; r < 3; ++r) sum += 0.25 * low[r] * b[r * 18 + col];
      }
    }
    return std::map<std::string, std::vector<double>>{{"y", y}};
  };
  check_agrees(device, build,
               {.bound = dot_bound(dtype, 27, 4.0) + Bound{600 * epsilon_of(dtype) + 1e-4, 0}, .judge = judge});
}

// Sums of (a - za) (b - zb), taken one by one.
struct Bytes {
  std::vector<double> a, b;
  std::vector<double> sums;
};
Bytes byte_product(DType a, DType b, int64_t m, int64_t k, int64_t n, const std::vector<double>& za,
                   const std::vector<double>& zb) {
  std::mt19937 random(7);
  const auto fill = [&](DType dtype, int64_t count) {
    std::vector<double> all(static_cast<size_t>(count));
    for (double& v : all) v = static_cast<double>(random() % 256) - (dtype == i8 ? 128 : 0);
    return all;
  };
  Bytes bytes = {fill(a, m * k), fill(b, k * n), std::vector<double>(static_cast<size_t>(m * n))};
  for (int64_t i = 0; i < m * n; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      const double left = bytes.a[static_cast<size_t>(i / n * k + j)] - za[static_cast<size_t>(i / n) % za.size()];
      const double right = bytes.b[static_cast<size_t>(j * n + i % n)] - zb[static_cast<size_t>(i % n) % zb.size()];
      bytes.sums[static_cast<size_t>(i)] += left * right;
    }
  }
  return bytes;
}

// Outputs of a graph whose inputs a and b are given.
std::map<std::string, std::vector<double>> run_bytes(const Device& device, const Build& build, const Bytes& bytes,
                                                     const Agreement& agreement) {
  DynamicGraph graph;
  build(*graph);
  REQUIRE(std::string(graph.graph().error.view()) == "");
  Agreement given = agreement;
  given.given.insert({{"a", bytes.a}, {"b", bytes.b}});
  DynamicOptions options;
  options.compile.choices = given.choices;
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  for (const auto& [name, array] : inputs_of(graph.graph(), given)) {
    REQUIRE(executable->set_elements(name, array.dtype, array.count(), pack(array).data()).ToString() == "OK");
  }
  executable->run();
  std::map<std::string, std::vector<double>> results;
  for (const Output& output : graph.graph().outputs) {
    const std::string name(graph.graph().name(output.name));
    const Value& type = graph.graph().value(output.value);
    std::vector<uint32_t> words(storage_bytes(type.dtype, type.shape.count()) / 4);
    REQUIRE(executable->get_elements(name, type.dtype, type.shape.count(), words.data()).ToString() == "OK");
    results[name] = reference::unpack(type.dtype, type.shape, words).data;
  }
  return results;
}

TEST_CASE("zero points of a wrong type are refused", "[matmul]") {
  constexpr bool kRefused = [] {  // by the compiler, which also sees what is read outside of a shape
    Builder g;
    matmul_integer(g.input("a", u8, {2, 3}), g.input("b", i8, {3, 4}), g.input("zero", boolean, {1}));
    return !g.ok();
  }();
  STATIC_REQUIRE(kRefused);
}

TEST_CASE("long sums of the largest bytes are exact in f32", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const char* variant = GENERATE("packed", "packed_split");
  const auto [dtype, k, largest] =
      GENERATE(table<DType, int64_t, double>({{i8, 1027, 127}, {i8, 2049, 127}, {u8, 515, 255}}));
  CAPTURE(variant, name_of(dtype), k);
  const auto build = [&, dtype = dtype, k = k](Builder& g) {
    g.output("y", matmul(g.input("a", dtype, {3, k}), g.input("b", dtype, {k, 5})));
  };
  const std::vector<double> a(static_cast<size_t>(3 * k), largest),
      b(static_cast<size_t>(5 * k), largest);  // odd sums above 2^24
  check_agrees(device, build, {.bound = {}, .choices = {{"matmul", variant}}, .given = {{"a", a}, {"b", b}}});
}

TEST_CASE("products of bytes with zero points are exact, and requantised as they should be", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const std::string_view variant = GENERATE(from_range(variants_of(kMatmul)));
  const auto [a, b] = GENERATE(table<DType, DType>({{i8, i8}, {u8, i8}, {u8, u8}}));
  const auto [m, k, n] = GENERATE(table<int64_t, int64_t, int64_t>({{5, 37, 9}, {18, 64, 20}}));
  CAPTURE(variant, name_of(a), name_of(b), m, k, n);
  std::vector<double> zb(static_cast<size_t>(n));
  for (size_t i = 0; i < zb.size(); ++i) zb[i] = static_cast<double>(i % 5) - 2;
  const Bytes one = byte_product(a, b, m, k, n, {3}, {-4});
  const float scale = 1.0f / static_cast<float>(300 * std::sqrt(static_cast<double>(k)));  // to about -100 .. 100
  const auto build = [&, a = a, b = b, m = m, k = k, n = n](Builder& g) {
    const Tensor x = g.input("a", a, {m, k}), w = g.input("b", b, {k, n});
    g.output("plain", matmul_integer(x, w));
    g.output("zeros", matmul_integer(x, w, 3, -4));
    g.output("by column", matmul_integer(x, w, 3, g.input("zb", i32, {n})));
    g.output("i8", quantized_matmul(x, w, {.a_zero = 3, .b_zero = -4, .scale = scale, .zero = -5}));
    g.output("u8", quantized_matmul(x, w, {.a_zero = 3, .b_zero = -4, .scale = scale, .zero = 130, .dtype = u8}));
  };
  auto results = run_bytes(device, build, one, {.bound = {}, .choices = {{"matmul", variant}}, .given = {{"zb", zb}}});
  CHECK(results["plain"] == byte_product(a, b, m, k, n, {0}, {0}).sums);
  CHECK(results["zeros"] == one.sums);
  CHECK(results["by column"] == byte_product(a, b, m, k, n, {3}, zb).sums);
  for (size_t i = 0; i < one.sums.size(); ++i) {
    // Exact, but for numbers so close to halfway between two that a product in f32 cannot tell.
    const double exact = one.sums[i] * static_cast<double>(scale), nearest = std::nearbyint(exact);
    const double slack = std::abs(std::abs(exact - nearest) - 0.5) < 1e-4 ? 1 : 0;
    CHECK(std::abs(results["i8"][i] - std::clamp(nearest - 5, -128.0, 127.0)) <= slack);
    CHECK(std::abs(results["u8"][i] - std::clamp(nearest + 130, 0.0, 255.0)) <= slack);
  }
}

TEST_CASE("einsum: what it means", "[matmul][gpu]") {
  const Device device = device_or_skip();
  struct Row {
    const char* equation;
    std::vector<Shape> shapes;
    Shape result;
  };
  const Row row = GENERATE(values<Row>({
      {"ij,jk->ik", {{5, 7}, {7, 6}}, {5, 6}},
      {"ij,jk", {{5, 7}, {7, 6}}, {5, 6}},
      {"bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}}, {2, 3, 4, 6}},
      {"bqhd,bkhd->bhqk", {{2, 4, 3, 5}, {2, 6, 3, 5}}, {2, 3, 4, 6}},
      {"...ij,...jk->...ik", {{3, 1, 4, 5}, {2, 5, 6}}, {3, 2, 4, 6}},
      {"ii", {{6, 6}}, {}},
      {"ii->i", {{6, 6}}, {6}},
      {"iij,jk->ki", {{4, 4, 5}, {5, 3}}, {3, 4}},
      {"ij->ji", {{5, 3}}, {3, 5}},
      {"ij->", {{5, 3}}, {}},
      {"i,j->ij", {{5}, {4}}, {5, 4}},
      {"i,i", {{9}, {9}}, {}},
      {"ij,ij->ij", {{5, 4}, {5, 4}}, {5, 4}},
      {"bij,bjk,bkl->bil", {{2, 3, 4}, {2, 4, 5}, {2, 5, 3}}, {2, 3, 3}},
      {"abc,cbd->da", {{3, 4, 5}, {5, 4, 2}}, {2, 3}},
      {"ijk,ilm->km", {{3, 2, 4}, {3, 5, 6}}, {4, 6}},
      {"...,...", {{3, 4}, {4}}, {3, 4}},
      {"b...,b...->...", {{3, 4, 2}, {3, 2}}, {4, 2}},
      {"ij,jk->ik", {{5, 1}, {7, 6}}, {5, 6}},
  }));
  CAPTURE(row.equation);
  const auto build = [&](Builder& g) {
    std::vector<Tensor> x;
    for (const Shape& shape : row.shapes) x.push_back(g.input("x" + std::to_string(x.size()), f32, shape));
    g.output("y", x.size() == 1   ? einsum(row.equation, {x[0]})
                  : x.size() == 2 ? einsum(row.equation, {x[0], x[1]})
                                  : einsum(row.equation, {x[0], x[1], x[2]}));
  };
  DynamicGraph graph;
  build(*graph);
  REQUIRE(std::string(graph.graph().error.view()) == "");
  CHECK(graph.graph().value(graph.graph().outputs[0].value).shape == row.result);

  // Independently of how it is built: all letters run over all their values.
  Agreement agreement;
  const reference::Arrays inputs = inputs_of(graph.graph(), agreement);
  std::string equation(row.equation), arrow = "->";
  std::vector<std::string> terms(1);
  std::string out;
  const size_t at = equation.find("->");
  for (const char c : equation.substr(0, at)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (at != std::string::npos) out = equation.substr(at + 2);
  const auto spell = [](const std::string& term, int rank) {  // "..." as digits, the last axis 0
    const size_t dots = term.find("...");
    if (dots == std::string::npos) return term;
    std::string digits;
    for (int i = rank - static_cast<int>(term.size()) + 3; i-- > 0;) digits += static_cast<char>('0' + i);
    return term.substr(0, dots) + digits + term.substr(dots + 3);
  };
  std::map<char, int64_t> extent;
  for (size_t t = 0; t < terms.size(); ++t) {
    terms[t] = spell(terms[t], row.shapes[t].rank());
    for (size_t i = 0; i < terms[t].size(); ++i)
      extent[terms[t][i]] = std::max(extent[terms[t][i]], row.shapes[t][static_cast<int>(i)]);
  }
  if (at == std::string::npos) {
    for (auto it = extent.rbegin(); it != extent.rend(); ++it) {
      if (it->first <= '9') out += it->first;
    }
    for (const auto& [letter, size] : extent) {
      int times = 0;
      for (const std::string& term : terms) times += static_cast<int>(std::count(term.begin(), term.end(), letter));
      if (letter > '9' && times == 1) out += letter;
    }
  } else {
    out = spell(out, row.result.rank());
  }
  std::vector<double> expected(static_cast<size_t>(row.result.count()));
  std::map<char, int64_t> value;
  const auto walk = [&](auto&& self, std::map<char, int64_t>::const_iterator letter) -> void {
    if (letter != extent.end()) {
      for (value[letter->first] = 0; value[letter->first] < letter->second; ++value[letter->first])
        self(self, std::next(letter));
      return;
    }
    double product = 1;
    for (size_t t = 0; t < terms.size(); ++t) {
      int64_t place = 0;
      for (size_t i = 0; i < terms[t].size(); ++i) {
        const int64_t size = row.shapes[t][static_cast<int>(i)];
        place = place * size + (size == 1 ? 0 : value[terms[t][i]]);
      }
      product *= inputs.find("x" + std::to_string(t))->second[place];
    }
    int64_t place = 0;
    for (const char c : out) place = place * extent[c] + value[c];
    expected[static_cast<size_t>(place)] += product;
  };
  walk(walk, extent.begin());

  auto executable = Executable<DynamicGraph>::create(device, graph, {});
  REQUIRE(executable.status().ToString() == "OK");
  for (const auto& [name, array] : inputs) {
    REQUIRE(executable->set_elements(name, array.dtype, array.count(), pack(array).data()).ToString() == "OK");
  }
  executable->run();
  auto y = executable->get<float>("y");
  REQUIRE(y.status().ToString() == "OK");
  // At most 40 products of three numbers below 2 are summed.
  CHECK_THAT(std::vector<double>(y->begin(), y->end()), CloseTo(expected, dot_bound(f32, 40, 8.0)));
}

TEST_CASE("einsum and dot_general: what is wrong is said", "[matmul]") {
  const auto error_of = [](std::string_view equation, Shape a, Shape b) {
    Builder g;
    einsum(equation, {g.input("a", f32, a), g.input("b", f32, b)});
    const std::string error(g.graph().error.view());
    return error.substr(error.find(": ") + 2);
  };
  CHECK(error_of("ij,jk->ik", {2, 3}, {4, 5}) == "einsum(\"ij,jk->ik\"): j is 3 and 4");
  CHECK(error_of("ijk,jk->ik", {2, 3}, {4, 5}) == "einsum(\"ijk,jk->ik\"): \"ijk\" does not name the 2 axes of [2,3]");
  CHECK(error_of("ij->ik", {2, 3}, {3, 5}) == "einsum(\"ij->ik\"): 2 operands are given");
  CHECK(error_of("ij,jk->il", {2, 3}, {3, 5}) == "einsum(\"ij,jk->il\"): no operand has l");
  CHECK(error_of("ij,jk->ii", {2, 3}, {3, 5}) == "einsum(\"ij,jk->ii\"): the result has i twice");
  CHECK(error_of("i$,jk->ik", {2, 3}, {3, 5}) == "einsum(\"i$,jk->ik\"): \"i$\" does not name the 2 axes of [2,3]");
  CHECK(error_of("...j,jk->jk", {2, 3}, {3, 5}) == "einsum(\"...j,jk->jk\"): the result lacks the axes of \"...\"");
  Builder g;
  dot_general(g.input("a", f32, {2, 3}), g.input("b", f32, {3, 4}), {.contract_a = {1}, .contract_b = {0, 1}});
  CHECK(g.graph().error.view().find("axes must come in pairs") != std::string_view::npos);
}

TEST_CASE("dot_general is einsum with numbers", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    const Tensor a = g.input("a", f32, {4, 2, 5, 3}), b = g.input("b", f32, {5, 6, 2});
    g.output("y", dot_general(a, b,
                              {.contract_a = {2}, .contract_b = {0}, .batch_a = {1}, .batch_b = {2}}));  // (2, 4, 3, 6)
    g.output("z", einsum("abcd,ceb->bade", {a, b}) -
                      dot_general(a, b, {.contract_a = {2}, .contract_b = {0}, .batch_a = {1}, .batch_b = {2}}));
  };
  DynamicGraph graph;
  build(*graph);
  CHECK(graph.graph().value(graph.graph().outputs[0].value).shape == Shape{2, 4, 3, 6});
  check_agrees(device, build, {.bound = dot_bound(f32, 5, 4.0)});
}

TEST_CASE("grouped_matmul: every row by its expert's matrix", "[matmul][gpu]") {
  const Device device = device_or_skip();
  struct Sizes {
    int64_t rows, k, n, experts;
    DType dtype;
    const char* why;
  };
  const Sizes s = GENERATE(Sizes{1, 5, 3, 4, f32, "one row"}, Sizes{40, 17, 70, 3, f32, "many rows for each"},
                           Sizes{23, 12, 20, 16, f16, "few rows for each"}, Sizes{70, 8, 9, 1, bf16, "one expert"},
                           Sizes{9, 0, 4, 2, f32, "empty sums"}, Sizes{0, 4, 4, 2, f32, "no rows"});
  CAPTURE(s.why);
  std::vector<double> experts;
  for (int64_t i = 0; i < s.rows; ++i)
    experts.push_back(static_cast<double>((i * 7 + i / 3) % (s.experts + 1)) - (i % 11 == 10));  // some do not exist
  const auto build = [&](Builder& g) {
    const Tensor w = g.param("w", s.dtype, {s.experts, s.n, s.k});
    const Tensor x = g.input("x", s.dtype, {s.rows, s.k});
    g.output("y", relu(grouped_matmul(x, transpose(w, {0, 2, 1}), g.input("expert", i32, {s.rows})) + 1.0f));
  };
  check_every_variant(
      device, kGroupedMatmul, build,
      {.bound = dot_bound(s.dtype, s.k, 4.0) + Bound{2 * 64 * epsilon_of(s.dtype), 0}, .given = {{"expert", experts}}});
}

}  // namespace
}  // namespace rlxgpu::core::testing

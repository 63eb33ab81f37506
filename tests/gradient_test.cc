// Every rule is compared with differences of the reference in double precision, and then with the device: both are
// given the same random weights, so that no element's gradient is 1.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/gradient/gradients.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

using Make = std::function<Tensor(Tensor, Tensor)>;
struct Case {
  const char* name;
  Shape a, b;
  Make make;
  double low = -2, high = 2;  // of the inputs
};

// sum(f(a, b) * weights) and its gradients to a and b.
void build(Builder& g, const Case& c) {
  const Tensor a = g.input("a", f32, c.a), b = g.input("b", f32, c.b);
  const Tensor y = c.make(a, b);
  if (!g.ok()) return;
  const Tensor loss = sum(y * g.input("weights", f32, y.shape()));
  const Vec<Tensor> d = gradients(loss, {a, b});
  g.output("loss", loss);
  g.output("da", d[0]);
  g.output("db", d[1]);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto unary = [&](const char* name, Tensor (*f)(Tensor, Site), double low = -2, double high = 2) {
    all.push_back({name, {3, 5}, {1}, [f](Tensor a, Tensor) { return f(a, Site()); }, low, high});
  };
  unary("neg", neg), unary("abs", abs), unary("exp", exp), unary("expm1", expm1), unary("log", log, 0.2),
      unary("log1p", log1p, -0.8);
  unary("sqrt", sqrt, 0.2), unary("rsqrt", rsqrt, 0.2), unary("recip", recip, 0.3), unary("sin", sin),
      unary("cos", cos);
  unary("tan", tan, -1, 1), unary("asin", asin, -0.9, 0.9), unary("acos", acos, -0.9, 0.9), unary("atan", atan),
      unary("sinh", sinh);
  unary("cosh", cosh), unary("tanh", tanh), unary("erf", erf), unary("relu", relu), unary("sigmoid", sigmoid),
      unary("silu", silu);
  unary("gelu", gelu), unary("gelu_tanh", gelu_tanh), unary("softplus", softplus), unary("log_sigmoid", log_sigmoid);
  unary("mish", mish), unary("selu", selu), unary("hard_swish", hard_swish, -5, 5);
  const auto two = [&](const char* name, const Shape& a, const Shape& b, const Make& make, double low = -2,
                       double high = 2) { all.push_back({name, a, b, make, low, high}); };
  two("leaky_relu", {9}, {1}, [](Tensor a, Tensor) { return leaky_relu(a, 0.2f); });
  two("elu", {9}, {1}, [](Tensor a, Tensor) { return elu(a, 0.7f); });
  two("hard_sigmoid", {9}, {1}, [](Tensor a, Tensor) { return hard_sigmoid(a); }, -5, 5);
  two("add", {3, 4}, {4}, [](Tensor a, Tensor b) { return a + b; });
  two("sub", {4}, {3, 4}, [](Tensor a, Tensor b) { return a - b; });
  two("mul", {2, 1, 4}, {3, 1}, [](Tensor a, Tensor b) { return a * b; });
  two("div", {3, 4}, {3, 1}, [](Tensor a, Tensor b) { return a / b; }, 0.4);
  two("max", {3, 4}, {3, 4}, [](Tensor a, Tensor b) { return max(a, b); });
  two("min", {3, 4}, {1, 4}, [](Tensor a, Tensor b) { return min(a, b); });
  two("pow", {3, 4}, {4}, [](Tensor a, Tensor b) { return pow(a, b); }, 0.3);
  two("mod", {3, 4}, {4}, [](Tensor a, Tensor b) { return mod(a, b); }, 0.5);
  two("atan2", {3, 4}, {4}, [](Tensor a, Tensor b) { return atan2(a, b); }, 0.3);
  two("where", {3, 4}, {4}, [](Tensor a, Tensor b) { return where(gt(a, 0.1f), Rhs(b), Rhs(a)); });
  two("clamp", {3, 4}, {4}, [](Tensor a, Tensor b) { return clamp(a, -0.7f, b); });
  two("fma", {3, 4}, {4}, [](Tensor a, Tensor b) { return fma(a, b, b); });
  two("round", {3, 4}, {4}, [](Tensor a, Tensor b) { return round(a) * b; });
  two("cast", {3, 4}, {4}, [](Tensor a, Tensor b) { return cast(cast(a, f32) * b, f32); });

  two("reshape", {3, 4}, {4}, [](Tensor a, Tensor b) { return reshape(a * b, {2, 6}); });
  two("transpose", {2, 3, 4}, {1}, [](Tensor a, Tensor) { return transpose(a, {2, 0, 1}); });
  two("slice", {7, 6}, {1}, [](Tensor a, Tensor) { return slice(a, {1, -1}, {7, kBegin}, {3, -2}); });
  two("slice, empty", {7}, {4}, [](Tensor a, Tensor b) { return sum(slice(a, {3}, {3})) + b; });
  two("reverse", {3, 4}, {1}, [](Tensor a, Tensor) { return reverse(a, {1}); });
  two("expand", {3, 1}, {1}, [](Tensor a, Tensor) { return expand(a, {2, 3, 4}); });
  two("tile", {3, 2}, {1}, [](Tensor a, Tensor) { return tile(a, {2, 3}); });
  two("concat", {3, 2}, {3, 4}, [](Tensor a, Tensor b) { return concat({a, b, a}, 1); });
  two("pad", {3, 2}, {1}, [](Tensor a, Tensor) { return pad(a, {1, -1}, {2, 1}); });
  two("roll", {3, 5}, {1}, [](Tensor a, Tensor) { return roll(a, 2, 1); });
  two("tril", {4, 4}, {1}, [](Tensor a, Tensor) { return tril(a, 1); });
  two("gather", {4, 5, 3}, {1}, [](Tensor a, Tensor) {
    const uint32_t which[] = {4, 0, 0, 9, static_cast<uint32_t>(-1), 2};  // one is outside, one from the end
    return gather(a, a.builder().constant(i32, {2, 3}, which), 1);
  });
  two("gather_elements", {3, 4}, {1}, [](Tensor a, Tensor) {
    const uint32_t which[] = {3, 0, 0, 2, 2, 2};
    return gather_elements(a, a.builder().constant(u32, {3, 2}, which), 1);
  });

  two("sum", {3, 4, 2}, {1}, [](Tensor a, Tensor) { return sum(a, {0, 2}); });
  two("mean", {3, 4, 2}, {1}, [](Tensor a, Tensor) { return mean(a, 1, {.keep_dims = true}); });
  two("reduce_max", {3, 4}, {1}, [](Tensor a, Tensor) { return reduce_max(a, 1); });
  two("reduce_min", {3, 4}, {1}, [](Tensor a, Tensor) { return reduce_min(a, 0); });
  two("l1", {3, 4}, {1}, [](Tensor a, Tensor) { return l1(a, 1); });
  two("l2", {3, 4}, {1}, [](Tensor a, Tensor) { return l2(a, 1); });
  two("sum_square", {3, 4}, {1}, [](Tensor a, Tensor) { return sum_square(a); });
  two("log_sum_exp", {3, 4}, {1}, [](Tensor a, Tensor) { return log_sum_exp(a, 1); });

  two("matmul", {3, 4}, {4, 5}, [](Tensor a, Tensor b) { return matmul(a, b); });
  two("matmul, one matrix for all", {2, 3, 4}, {4, 5}, [](Tensor a, Tensor b) { return matmul(a, b); });
  two("matmul, batches that broadcast", {2, 1, 3, 4}, {5, 4, 2}, [](Tensor a, Tensor b) { return matmul(a, b); });
  two("matmul, transposed", {4, 3}, {5, 4}, [](Tensor a, Tensor b) { return matmul(transpose(a), transpose(b)); });
  two("matmul, a row", {4}, {2, 4, 5}, [](Tensor a, Tensor b) { return matmul(a, b); });
  two("matmul, a column", {2, 3, 4}, {4}, [](Tensor a, Tensor b) { return matmul(a, b); });
  two("matmul, both", {4}, {4}, [](Tensor a, Tensor b) { return matmul(a, b); });

  two("softmax", {3, 4}, {1}, [](Tensor a, Tensor) { return softmax(a); });
  two("log_softmax", {3, 4, 2}, {1}, [](Tensor a, Tensor) { return log_softmax(a, 1); });
  two("a value that is used often", {3, 4}, {4, 3}, [](Tensor a, Tensor b) {
    const Tensor h = tanh(matmul(a, b));
    return h * h + softmax(h) * sum(h, 1, {.keep_dims = true});
  });
  two("a gradient of a gradient", {3, 4}, {4, 3}, [](Tensor a, Tensor b) {
    const Vec<Tensor> d = gradients(sum(log_softmax(gelu(matmul(a, b))) * 0.3f), {a, b});
    return sum(d[0] * a) + sum_square(d[1]);
  });
  two("a third derivative", {5}, {1},
      [](Tensor a, Tensor) { return gradients(gradients(sum(sin(a) * a), {a})[0], {a})[0]; });
  return all;
}

reference::Arrays draw(const Graph& graph, const Case& c) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> inside(c.low, c.high);
  reference::Arrays inputs;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input) continue;
    const Value& value = graph.value(node.results.first);
    reference::Array array(value.dtype, value.shape);
    for (double& x : array.data) x = static_cast<float>(inside(random));
    inputs[std::string(graph.name(node.name))] = array;
  }
  return inputs;
}

// The error of a central difference falls with the square of the step, so two steps together leave the fourth power:
// about 1e-12 of the function at 1e-3; rounding adds 1e-16 / 1e-3.
double difference(const Graph& graph, reference::Arrays inputs, const char* name, int64_t i) {
  const double x = inputs.at(name)[i];
  const auto along = [&](double step) {
    inputs.at(name)[i] = x + step;
    const double above = reference::run(graph, inputs, {.round = false}).at("loss")[0];
    inputs.at(name)[i] = x - step;
    return (above - reference::run(graph, inputs, {.round = false}).at("loss")[0]) / (2 * step);
  };
  return (4 * along(5e-4) - along(1e-3)) / 3;
}

TEST_CASE("gradients are what differences of the reference say, and the device computes them", "[gradient][gpu]") {
  const Device device = device_or_skip();
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    Builder g;
    build(g, c);
    REQUIRE(std::string(g.graph().error.view()) == "");
    const reference::Arrays inputs = draw(g.graph(), c);
    const reference::Arrays exact = reference::run(g.graph(), inputs, {.round = false});
    double largest = 1;
    for (const auto& [name, array] : exact) {
      for (const double x : array.data) largest = std::max(largest, std::fabs(x));
    }
    for (const char* const name : {"a", "b"}) {
      const reference::Array& analytic = exact.at(name[0] == 'a' ? "da" : "db");
      for (int64_t i = 0; i < analytic.count(); ++i) {
        CAPTURE(name, i);
        CHECK(std::fabs(analytic[i] - difference(g.graph(), inputs, name, i)) <= 1e-6 * largest);
      }
    }
    std::map<std::string, std::vector<double>> given;
    for (const auto& [name, array] : inputs) given[name] = array.data;
    // A chain of at most 64 roundings, of numbers up to the largest, by ops of at most 8 ulps.
    check_agrees(device, [&](Builder& h) { build(h, c); },
                 {.bound = sum_bound(f32, 64, 8 * largest), .given = given, .device_only = true});
  }
}

TEST_CASE("gradients: what is wrong is said", "[gradient]") {
  const auto error = [](const std::function<void(Builder&)>& f) { return message_of(f); };
  CHECK(error([](Builder& g) {
          const Tensor x = g.input("x", f32, {3});
          gradients(prod(x), {x});
        }).ends_with("): this op has no rule for its gradient"));
  CHECK(error([](Builder& g) {
          const Tensor x = g.input("x", f32, {3});
          gradients(prod(x), {x});
        }).starts_with("gradients: prod ("));
  CHECK(error([](Builder& g) {
          const Tensor x = g.input("x", i32, {3});
          gradients(x, {x});
        }) == "gradients: of a float, not of i32[3]");
  CHECK(error([](Builder& g) {
          const Tensor x = g.input("x", f32, {3});
          gradients(sum(x), {g.input("n", i32, {2})});
        }) == "gradients: to floats of the same graph, not to i32[2]");
}

TEST_CASE("what y does not depend on has a gradient of zero; stop_gradient stops", "[gradient]") {
  Builder g;
  const Tensor x = g.input("x", f32, {2}), other = g.input("other", f32, {3});
  const Vec<Tensor> d = gradients(sum(x * stop_gradient(x)), {x, other});
  g.output("dx", d[0]);
  g.output("dother", d[1]);
  const reference::Arrays y = reference::run(
      g.graph(), {{"x", reference::array_of(f32, {2}, {3, 5})}, {"other", reference::array_of(f32, {3}, {1, 1, 1})}});
  CHECK(y.at("dx").data == std::vector<double>{3, 5});
  CHECK(y.at("dother").data == std::vector<double>{0, 0, 0});
}

// A rule of one's own comes first: here one that passes a gradient straight through.
constexpr GradientRule kStraightThrough[] = {{&kRound, [](Gradient& g) { g.give(0, g.given()); }}};

TEST_CASE("a user's rule is looked at before ours", "[gradient]") {
  Builder g;
  const Tensor x = g.input("x", f32, {2});
  g.output("dx", gradients(sum(round(x) * 3.0f), {x}, {.rules = kStraightThrough})[0]);
  CHECK(reference::run(g.graph(), {{"x", reference::array_of(f32, {2}, {0.2, 0.7})}}).at("dx").data ==
        std::vector<double>{3, 3});
}

struct Step {
  static constexpr void build(Builder& g) {
    const Tensor x = g.input("x", f32, {4, 3}), w = g.param("w", f32, {3, 2}), b = g.param("b", f32, {2});
    const Vec<Tensor> d = gradients(mean(log_softmax(relu(matmul(x, w) + b))), {w, b});
    g.output("dw", d[0]);
    g.output("db", d[1]);
  }
};
constexpr bool compiles() {
  Builder g;
  Step::build(g);
  return g.ok() && g.graph().outputs.size() == 2;
}
static_assert(compiles(), "gradients inside the compiler");

}  // namespace
}  // namespace rlxgpu::core::testing

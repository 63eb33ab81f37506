// What is recognised, what must not be, and that the meaning stays: in double precision, on the host.
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/recognised.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/reference/interpreter.h"
#include "tests/support/compiled.h"

namespace rlxgpu::core::testing {
namespace {

constexpr ReduceOptions kKept = {.keep_dims = true};

Target cpu() {
  Target target = kPortable;
  target.adapter_class = AdapterClass::software;
  return target;
}

std::map<std::string, int> ops_of(const Graph& graph) {
  std::map<std::string, int> ops;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::op) ++ops[std::string(node.op->name)];
  }
  return ops;
}

reference::Arrays made_up(const Graph& graph) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> real(-1.5, 1.5);
  reference::Arrays data;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::param) continue;
    const Value& value = graph.value(node.results.first);
    reference::Array array(value.dtype, value.shape);
    for (double& element : array.data) {
      element = value.dtype == boolean  ? double(random() % 4 != 0)
                : is_float(value.dtype) ? real(random)
                                        : random() % 3;
    }
    data.emplace(graph.name(node.name), std::move(array));
  }
  return data;
}

// The largest difference of any output between two graphs, without rounding.
double difference(const Graph& a, const Graph& b) {
  const reference::Arrays data = made_up(a);
  const reference::Arrays x = reference::run(a, data, {.round = false}), y = reference::run(b, data, {.round = false});
  double worst = 0;
  for (const auto& [name, array] : x) {
    REQUIRE(y.at(name).data.size() == array.data.size());
    for (size_t i = 0; i < array.data.size(); ++i) {
      worst = std::max(worst, std::fabs(array.data[i] - y.at(name).data[i]));
      if (std::isnan(array.data[i]) != std::isnan(y.at(name).data[i])) worst = INFINITY;
    }
  }
  return worst;
}

using Write = std::function<Tensor(Builder&)>;

struct Case {
  const char* name;
  Write write;
};

// Numbers are f32, so what is recognised may differ by their rounding.
constexpr double kRounding = 1e-6;

void check_recognised(const std::string& op, const Case& c, const Target& target = cpu()) {
  CAPTURE(op, c.name);
  Builder g;
  const Tensor y = c.write(g);
  g.output("y", y);
  REQUIRE(g.graph().error.view() == "");
  const Graph found = recognised(g.graph(), target);
  const std::map<std::string, int> ops = ops_of(found);
  std::string all;
  for (const auto& [name, count] : ops) all += name + " ";
  CAPTURE(all);
  CHECK(ops.contains(op));
  for (const auto& [name, count] : ops) {
    const bool moves = name == op || name == "reshape" || name == "transpose" || name == "where" ||
                       name == "logical_not" || name == "add" || name == "slice";
    CHECK(moves);
  }
  CHECK(difference(g.graph(), found) < kRounding);
}

void check_kept(const std::string& op, const Case& c) {
  CAPTURE(op, c.name);
  Builder g;
  const Tensor y = c.write(g);
  g.output("y", y);
  REQUIRE(g.graph().error.view() == "");
  const Graph found = recognised(g.graph(), cpu());
  CHECK(!ops_of(found).contains(op));
  CHECK(difference(g.graph(), found) < kRounding);
}

Tensor x_of(Builder& g) { return g.input("x", f32, {3, 5, 8}); }

TEST_CASE("activations are recognised in all their spellings", "[recognise]") {
  const auto of_x = [](Tensor (*write)(Tensor)) { return [write](Builder& g) { return write(x_of(g)); }; };
  const auto check = [&](const char* op, std::initializer_list<Tensor (*)(Tensor)> ways) {
    for (const auto way : ways) check_recognised(op, {op, of_x(way)});
  };
  check("sigmoid", {[](Tensor x) { return 1 / (1 + exp(-x)); }, [](Tensor x) { return recip(exp(-x) + 1); }});
  check("silu", {[](Tensor x) { return x * sigmoid(x); }, [](Tensor x) { return sigmoid(x) * x; },
                 [](Tensor x) { return x / (1 + exp(-x)); }, [](Tensor x) { return x * (1 / (exp(-x) + 1)); }});
  check("softplus", {[](Tensor x) { return log(1 + exp(x)); }, [](Tensor x) { return log1p(exp(x)); }});
  check("mish", {[](Tensor x) { return x * tanh(softplus(x)); }, [](Tensor x) { return tanh(log(exp(x) + 1)) * x; }});
  check("hard_swish", {[](Tensor x) { return x * clamp(x + 3, 0, 6) / 6; },
                       [](Tensor x) { return x * (clamp(x + 3, 0, 6) * (1.0 / 6)); },
                       [](Tensor x) { return x * hard_sigmoid(x, 1.0f / 6, 0.5f); },
                       [](Tensor x) { return min(relu(x + 3), 6) * x / 6; }});
  check("gelu", {[](Tensor x) { return x * 0.5 * (1 + erf(x / 1.4142135623730951)); },
                 [](Tensor x) { return 0.5 * x * (erf(x * 0.7071067811865476) + 1); },
                 [](Tensor x) { return x * (0.5 * (1 + erf(x / 1.4142135))); },
                 [](Tensor x) { return x * (1 + erf(x / 1.41421356)) * 0.5; },
                 [](Tensor x) { return x * (1 + erf(x / 1.41421356)) / 2; },
                 [](Tensor x) { return (1 + erf(x / 1.41421356)) * (x / 2); }});
  check("gelu_tanh", {[](Tensor x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); },
                      [](Tensor x) {
                        return x *
                               (0.5 * (tanh((x + 0.044715 * pow(x, x.builder().literal(3, f32))) * 0.7978845608) + 1));
                      },
                      [](Tensor x) { return 0.5 * x * (1 + tanh(x * 0.7978845608 * (1 + 0.044715 * x * x))); }});
}

TEST_CASE("what only looks like an activation stays", "[recognise]") {
  const auto check = [&](const char* op, Tensor (*way)(Tensor)) {
    check_kept(op, {op, [way](Builder& g) { return way(x_of(g)); }});
  };
  check("gelu", [](Tensor x) { return x * 0.5 * (1 + erf(x / 1.5)); });
  check("gelu", [](Tensor x) { return x * 0.51 * (1 + erf(x / 1.4142135)); });
  check("gelu", [](Tensor x) { return x * 0.5 * (1 - erf(x / 1.4142135)); });
  check("gelu", [](Tensor x) { return (x + 1) * 0.5 * (1 + erf(x / 1.4142135)); });
  check("gelu_tanh", [](Tensor x) { return 0.5 * x * (1 + tanh(0.79788456 * (x + 0.0447 * x * x * x))); });
  check("silu", [](Tensor x) { return x * sigmoid(x + 1); });
  check("silu", [](Tensor x) { return x / (2 + exp(-x)); });
  check("sigmoid", [](Tensor x) { return 1 / (1 + exp(x)); });
  check("softplus", [](Tensor x) { return log(1 + exp(-x) * 2); });
  check("hard_swish", [](Tensor x) { return x * clamp(x + 3, 0, 5) / 6; });
  check("mish", [](Tensor x) { return (x + 1) * tanh(softplus(x)); });
}

TEST_CASE("softmax and its logarithm are recognised along any axis", "[recognise]") {
  for (const int axis : {0, 1, 2, -1}) {
    CAPTURE(axis);
    const auto check = [&](const char* op, Tensor (*way)(Tensor, int)) {
      check_recognised(op, {op, [way, axis](Builder& g) { return way(x_of(g), axis); }});
    };
    check("softmax", [](Tensor x, int a) {
      const Tensor e = exp(x - reduce_max(x, a, kKept));
      return e / sum(e, a, kKept);
    });
    check("softmax", [](Tensor x, int a) {
      const Tensor e = exp(x);
      return e / sum(e, a, kKept);
    });
    check("softmax", [](Tensor x, int a) {
      const Tensor e = exp(x);
      return recip(sum(e, a, kKept)) * e;
    });
    check("softmax", [](Tensor x, int a) { return exp(log_softmax(x, a)); });
    check("log_softmax", [](Tensor x, int a) { return x - log(sum(exp(x), a, kKept)); });
    check("log_softmax", [](Tensor x, int a) {
      const Tensor less = x - reduce_max(x, a, kKept);
      return less - log(sum(exp(less), a, kKept));
    });
    check("log_softmax", [](Tensor x, int a) { return log(softmax(x, a)); });
    check("log_sum_exp", [](Tensor x, int a) { return log(sum(exp(x), a, kKept)); });
  }
  const auto kept = [](const char* op, Tensor (*way)(Tensor)) {
    check_kept(op, {op, [way](Builder& g) { return way(x_of(g)); }});
  };
  kept("softmax", [](Tensor x) {
    const Tensor e = exp(x);
    return e / sum(e, {1, 2}, kKept);
  });
  kept("softmax", [](Tensor x) {
    const Tensor e = exp(x);
    return e / sum(e * 2, 1, kKept);
  });
  kept("softmax", [](Tensor x) { return exp(x) / sum(exp(x - reduce_max(x, 1, kKept)), 1, kKept); });
}

Tensor norm_by(Tensor x, Axes axes, int way) {
  const Tensor middle = mean(x, axes, kKept), centred = x - middle;
  const Tensor two = x.builder().literal(2, f32), variance = way == 1   ? mean(pow(centred, two), axes, kKept)
                                                             : way == 2 ? mean(x * x, axes, kKept) - middle * middle
                                                                        : mean(centred * centred, axes, kKept);
  const Tensor sum = way == 3 ? 1e-5 + variance : variance + 1e-5;
  if (way == 4) return centred / sqrt(sum);
  if (way == 5) return recip(sqrt(sum)) * centred;
  if (way == 6) return centred * (1 / sqrt(sum));
  return centred * rsqrt(sum);
}

TEST_CASE("layer_norm and rms_norm are recognised in all their spellings", "[recognise]") {
  for (int way = 0; way < 7; ++way) {
    CAPTURE(way);
    check_recognised("layer_norm", {"bare", [&](Builder& g) { return norm_by(x_of(g), -1, way); }});
    check_recognised("layer_norm", {"other axis", [&](Builder& g) { return norm_by(x_of(g), 1, way); }});
    check_recognised("layer_norm", {"two axes", [&](Builder& g) { return norm_by(x_of(g), {1, 2}, way); }});
    check_recognised("layer_norm", {"weight and bias", [&](Builder& g) {
                                      return g.param("b", f32, {8}) +
                                             g.param("w", f32, {8}) * norm_by(x_of(g), -1, way);
                                    }});
    check_recognised("layer_norm", {"rows of rank 3", [&](Builder& g) {
                                      return norm_by(x_of(g), -1, way) * g.param("w", f32, {1, 1, 8}) +
                                             g.param("b", f32, {1, 8});
                                    }});
  }
  check_recognised("layer_norm", {"by a factor", [](Builder& g) {
                                    const Tensor x = x_of(g), middle = mean(x, -1, kKept);
                                    const Tensor variance = mean((x - middle) * (x - middle), -1, kKept);
                                    const Tensor factor = rsqrt(variance + 1e-3) * g.param("w", f32, {8});
                                    return x * factor + (g.param("b", f32, {8}) - middle * factor);
                                  }});
  check_recognised("rms_norm", {"rsqrt", [](Builder& g) {
                                  const Tensor x = x_of(g);
                                  return x * rsqrt(mean(x * x, -1, kKept) + 1e-6) * g.param("w", f32, {8});
                                }});
  check_recognised("rms_norm", {"quotient", [](Builder& g) {
                                  const Tensor x = x_of(g);
                                  return g.param("w", f32, {8}) * (x / sqrt(1e-6 + mean(pow(x, 2), -1, kKept)));
                                }});
  // Near misses: another axis, epsilon outside the root, a sum for a mean, another tensor.
  check_kept("layer_norm", {"another axis", [](Builder& g) {
                              const Tensor x = x_of(g), centred = x - mean(x, -1, kKept);
                              return centred * rsqrt(mean(centred * centred, 1, kKept) + 1e-5);
                            }});
  check_kept("layer_norm", {"epsilon outside", [](Builder& g) {
                              const Tensor x = x_of(g), centred = x - mean(x, -1, kKept);
                              return centred / (sqrt(mean(centred * centred, -1, kKept)) + 1e-5);
                            }});
  check_kept("layer_norm", {"a sum", [](Builder& g) {
                              const Tensor x = x_of(g), centred = x - mean(x, -1, kKept);
                              return centred * rsqrt(sum(centred * centred, -1, kKept) + 1e-5);
                            }});
  check_kept("layer_norm", {"of another", [](Builder& g) {
                              const Tensor x = x_of(g), z = g.input("z", f32, {3, 5, 8}),
                                           centred = x - mean(x, -1, kKept);
                              return (z - mean(x, -1, kKept)) * rsqrt(mean(centred * centred, -1, kKept) + 1e-5);
                            }});
  check_kept("rms_norm", {"of another", [](Builder& g) {
                            const Tensor x = x_of(g), z = g.input("z", f32, {3, 5, 8});
                            return z * rsqrt(mean(x * x, -1, kKept) + 1e-5);
                          }});
}

TEST_CASE("what others use stays for them, and weights that do not fit stay outside", "[recognise]") {
  Builder g;
  const Tensor x = x_of(g), centred = x - mean(x, -1, kKept);
  const Tensor y = centred * rsqrt(mean(centred * centred, -1, kKept) + 1e-5);
  g.output("y", y * g.param("w", f32, {5, 1}));  // no row
  g.output("centred", centred);
  const Graph found = recognised(g.graph(), cpu());
  const auto ops = ops_of(found);
  CHECK(ops.at("layer_norm") == 1);
  CHECK(ops.at("sub") == 1);
  CHECK(ops.at("mul") == 1);
  CHECK(!ops.contains("rsqrt"));
  CHECK(difference(g.graph(), found) < kRounding);
}

TEST_CASE("attention is recognised with its scales, masks and layouts", "[recognise]") {
  const auto qkv = [](Builder& g, int64_t kv_heads = 4) {
    return std::array<Tensor, 3>{g.input("q", f32, {2, 4, 3, 8}), g.input("k", f32, {2, kv_heads, 5, 8}),
                                 g.input("v", f32, {2, kv_heads, 5, 6})};
  };
  const auto check = [](const char* name, const Write& write) { check_recognised("attention", {name, write}); };
  check("scale behind", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(matmul(q, transpose(k)) / 2.8284271), v);
  });
  check("scales before", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(matmul(q * 0.5, transpose(k) * 0.5)), v);
  });
  check("no scale, softmax written out", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    const Tensor scores = matmul(q, transpose(k)), e = exp(scores - reduce_max(scores, -1, kKept));
    return matmul(e / sum(e, -1, kKept), v);
  });
  check("an added mask", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(g.input("bias", f32, {2, 1, 1, 5}) + matmul(q, transpose(k)) * 0.3), v);
  });
  check("two added masks and a scale behind them", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(matmul(q, transpose(k)) * 0.3 + g.input("a", f32, {3, 5}) + g.input("b", f32, {1, 4, 1, 1})),
                  v);
  });
  check("chosen by a mask", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(where(g.input("mask", boolean, {2, 1, 3, 5}), matmul(q, transpose(k)) * 0.3, -1e9)), v);
  });
  check("chosen by a mask of what is hidden", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(where(g.input("mask", boolean, {3, 5}), -3e38, matmul(q, transpose(k)) * 0.3)), v);
  });
  check("a softcap", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(20 * tanh(matmul(q, transpose(k)) * 0.3 / 20)), v);
  });
  check("shared heads by copies", [&](Builder& g) {
    const auto [q, k, v] = qkv(g, 2);
    const auto copies = [](Tensor x) {
      const int64_t d = x.shape()[3];
      return reshape(expand(reshape(x, {2, 2, 1, 5, d}), {2, 2, 2, 5, d}), {2, 4, 5, d});
    };
    return matmul(softmax(matmul(q, transpose(copies(k))) * 0.3), copies(v));
  });
  check("rank 3", [&](Builder& g) {
    const Tensor q = g.input("q", f32, {4, 3, 8}), k = g.input("k", f32, {4, 5, 8}), v = g.input("v", f32, {4, 5, 6});
    return matmul(softmax(matmul(q, transpose(k, {0, 2, 1})) * 0.3), v);
  });
  check("heads behind rows", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return transpose(matmul(softmax(matmul(q, transpose(k))), v), {0, 2, 1, 3});
  });
  check("heads behind rows, rank 3", [&](Builder& g) {
    const Tensor q = g.input("q", f32, {4, 3, 8}), k = g.input("k", f32, {4, 5, 8}), v = g.input("v", f32, {4, 5, 6});
    const Tensor mixed = matmul(softmax(matmul(q, transpose(k)) + g.input("bias", f32, {4, 1, 5})), v);
    return reshape(transpose(mixed, {1, 0, 2}), {3, 24});
  });
  check("keys as they come", [&](Builder& g) {
    const Tensor q = g.input("q", f32, {3, 8}), k = g.input("k", f32, {8, 5}), v = g.input("v", f32, {5, 6});
    return matmul(softmax(matmul(q, k)), v);
  });
  const auto keep = [](const char* name, const Write& write) { check_kept("attention", {name, write}); };
  keep("weights are used", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    const Tensor weights = softmax(matmul(q, transpose(k)));
    g.output("weights", weights);
    return matmul(weights, v);
  });
  keep("another axis", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(matmul(q, transpose(k)), 2), v);
  });
  keep("a mask that hides little", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax(where(g.input("mask", boolean, {3, 5}), matmul(q, transpose(k)), -5)), v);
  });
  keep("a bias inside the scale", [&](Builder& g) {
    const auto [q, k, v] = qkv(g);
    return matmul(softmax((matmul(q, transpose(k)) + g.input("bias", f32, {3, 5})) * 0.3), v);
  });
}

TEST_CASE("gated products, and products behind norms where the target wants them", "[recognise]") {
  const Write gated = [](Builder& g) {
    const Tensor x = x_of(g), gate = matmul(x, g.param("gate", f32, {8, 12})),
                 up = matmul(x, g.param("up", f32, {8, 12}));
    return up * (gate * sigmoid(gate));
  };
  check_recognised("gated_matmul", {"silu", gated});
  const Write gated_behind_norm = [](Builder& g) {
    const Tensor x = rms_norm(x_of(g)), gate = matmul(x, g.param("gate", f32, {8, 12}));
    return gelu(gate) * matmul(x, g.param("up", f32, {8, 12}));
  };
  check_recognised("normed_linear", {"gelu", gated_behind_norm}, kPortable);
  const Write behind_norm = [](Builder& g) {
    return gelu(matmul(layer_norm(x_of(g), g.param("s", f32, {8})), g.param("w", f32, {8, 12})) +
                g.param("b", f32, {12}));
  };
  Builder g;
  g.output("y", behind_norm(g));
  CHECK(ops_of(recognised(g.graph(), kPortable)).contains("normed_linear"));
  Target many = cpu();
  CHECK(!ops_of(recognised(g.graph(), many)).contains("normed_linear"));  // 15 rows
  CHECK(difference(g.graph(), recognised(g.graph(), kPortable)) < kRounding);
}

TEST_CASE("a norm that others read is kept by the product that is first", "[recognise]") {
  Builder g;
  const Tensor n = layer_norm(x_of(g)), hidden = gelu(matmul(n, g.param("w", f32, {8, 12})) + g.param("b", f32, {12}));
  g.output("y", n + matmul(hidden, g.param("v", f32, {12, 8})));
  const Graph found = recognised(g.graph(), kPortable);
  const auto ops = ops_of(found);
  CHECK(ops.at("normed_linear") == 1);
  CHECK(!ops.contains("layer_norm"));
  CHECK(!ops.contains("gelu"));
  CHECK(difference(g.graph(), found) < kRounding);
  CHECK(compiled(found).steps.size() == 2);
}

inline constexpr OpDef kTwice = [] {
  OpDef op = kNeg;
  op.name = "twice";
  op.fold = nullptr;
  op.at = [](At& at) { at.result() << "(2.0 * " << at.operand(0) << ")"; };
  op.reference = [](reference::Call& call) {
    for (int64_t i = 0; i < call.result().count(); ++i) call.result()[i] = 2 * call.operand(0)[i];
  };
  return op;
}();
inline constexpr WrittenOut kMyForms[] = {{"twice", &kAdd,
                                           [](GraphPattern& p) {
                                             const Tensor x = p.any("x");
                                             return x + x;
                                           },
                                           [](Match& m) { return apply(kTwice, {m["x"]}, m.site()); }}};

TEST_CASE("a user's own op is recognised, too, and told where", "[recognise]") {
  Builder g;
  const Tensor x = x_of(g);
  g.output("y", x + x);
  Vec<Recognition> found;
  CHECK(ops_of(recognised(g.graph(), cpu(), {.own = kMyForms, .found = &found})).contains("twice"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "twice");
  CHECK(found[0].site.line > 0);
}

TEST_CASE("what has been recognised stays as it is", "[recognise]") {
  Builder g;
  const Tensor x = x_of(g), y = x * sigmoid(x);
  g.output("y", y);
  const Graph once = recognised(g.graph(), cpu()), twice = recognised(once, cpu());
  CHECK(ops_of(once) == ops_of(twice));
}

}  // namespace
}  // namespace rlxgpu::core::testing

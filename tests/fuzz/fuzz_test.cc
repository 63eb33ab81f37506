// Random programs agree with the reference; and a wrong op would not get away.
//
// RLXGPU_FUZZ_SEED and RLXGPU_FUZZ_GRAPHS change the first seed and the number of programs.
#include "tests/fuzz/fuzz.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "rlxgpu/kernels/pool/pool.h"
#include "rlxgpu/kernels/rope/rope.h"
#include "rlxgpu/kernels/sort/sort.h"
#include "rlxgpu/reference/interpreter.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::fuzz {
namespace {

using testing::device_or_skip;

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

constexpr uint64_t kGraphs = 200;

TEST_CASE("random programs agree with the reference", "[fuzz][gpu]") {
  const uint64_t seed = number_from("RLXGPU_FUZZ_SEED", 20260101), graphs = number_from("RLXGPU_FUZZ_GRAPHS", kGraphs);
  Fuzzer fuzzer(device_or_skip());
  for (uint64_t i = 0; i < graphs && fuzzer.failures().size() < 3; ++i) fuzzer.run(seed + i);
  for (const std::string& failure : fuzzer.failures()) FAIL_CHECK(failure);
  WARN("seed " << seed << ": " << fuzzer.graphs() << " programs, " << fuzzer.elements() << " elements, "
               << 100 * fuzzer.skipped_share() << " % of them without a bound");
  CHECK(fuzzer.skipped_share() < 0.03);  // else the comparison would say little
  CHECK(fuzzer.elements() > 50 * fuzzer.graphs());
}

// Ops with a mistake in what the device computes; the reference is right.
inline constexpr OpDef kSwappedSub = [] {
  OpDef op = kSub;
  op.name = "swapped_sub";
  op.fold = nullptr;
  op.at = [](At& at) { at.result() << '(' << at.operand(1) << " - " << at.operand(0) << ')'; };
  return op;
}();
inline constexpr OpDef kSlipped = [] {  // a view that starts one element late
  OpDef op = kSlice;
  op.name = "slipped";
  op.fold = nullptr;
  op.view = [](const Call& call, const View& operand, View& result) {
    internal::slice_view(call, operand, result);
    if (call.result().shape.count() > 1) ++result.offset;
    return true;
  };
  return op;
}();

inline constexpr OpDef kFarsighted = [] {  // the device takes a window for one that is wider by one key
  OpDef op = kAttention;
  op.name = "farsighted";
  op.reference = [](reference::Call& call) {
    std::vector<int64_t> attrs(call.attrs.begin(), call.attrs.end());
    --attrs[2];
    call.attrs = attrs;
    attention_reference(call);
  };
  return op;
}();

Tensor make_farsighted(Generator& f) {
  const Tensor x = f.source(f32, {1, 2, 5, 8});
  if (!f.moderate({x})) return x;
  return apply(kFarsighted, {x, x, x}, {0, 0, 3, attr_of(0.5f), 0, 0, 0, 0}, kHere);
}
Tensor make_swapped_sub(Generator& f) {
  const Tensor a = f.any_float();
  return apply(kSwappedSub, {a, f.beside(a)}, kHere);
}
Tensor make_slipped(Generator& f) {
  const Tensor x = f.source(f32, {4, 5});
  return apply(kSlipped, {x}, {1, 4, 1, 0, 4, 1}, kHere);
}

void check_is_found(const Maker& wrong) {
  std::vector<Maker> makers(std::begin(kMakers), std::end(kMakers));
  makers.push_back(wrong);
  Fuzzer fuzzer(device_or_skip(), makers);
  for (uint64_t seed = 1; seed <= 60 && fuzzer.failures().empty(); ++seed) {
    if (!is_large(seed)) fuzzer.run(seed);  // those do not draw from `makers`
  }
  REQUIRE(fuzzer.failures().size() == 1);
  INFO(fuzzer.failures()[0]);
  CHECK(op_count(fuzzer.smallest().graph()) <= 3);
  CHECK(fuzzer.smallest().graph().outputs.size() == 1);
}

TEST_CASE("a wrong map is found and shrunk", "[fuzz][gpu]") { check_is_found({12, make_swapped_sub}); }
TEST_CASE("a wrong view is found and shrunk", "[fuzz][gpu]") { check_is_found({12, make_slipped}); }
TEST_CASE("a wrong window of attention is found and shrunk", "[fuzz][gpu]") { check_is_found({12, make_farsighted}); }

TEST_CASE("what networks are made of is in the programs", "[fuzz]") {
  std::map<std::string_view, int> uses;
  for (uint64_t seed = 20260101; seed < 20260101 + kGraphs; ++seed) {
    const DynamicGraph graph = random_graph(seed);
    for (const Node& node : graph.graph().nodes) uses[node.kind == NodeKind::op ? node.op->name : ""] += 1;
  }
  for (const OpDef* op :
       {&kAttention, &kLayerNorm, &kRmsNorm, &kRope, &kConv, &kPool, &kArgsort, &kGatedMatmul, &kNormedLinear}) {
    CAPTURE(op->name);
    CHECK(uses[op->name] >= 2);
  }
}

// The largest images are not left out because their references take longest, and sizes are baked as often as free.
TEST_CASE("large programs have the sizes of real networks", "[fuzz]") {
  int programs = 0, products = 0, many_columns = 0, largest = 0, baked = 0;
  for (uint64_t seed = 20260101; programs < 60; ++seed) {
    if (!is_large(seed)) continue;
    const DynamicGraph graph = random_graph(seed);
    const Graph& g = graph.graph();
    ++programs;
    baked += random_setting(g, seed).baked;
    for (const Node& node : g.nodes) {
      if (node.kind != NodeKind::op || node.op != &kMatmul) continue;
      const Shape& y = g.value(node.results.first).shape;
      ++products;
      many_columns += y[y.rank() - 1] >= 1000;
      largest += y[y.rank() - 1] >= 3000;
    }
  }
  CHECK(products >= 30);
  CHECK(many_columns >= 5);
  CHECK(largest >= 2);
  CHECK(baked > programs / 3);
  CHECK(baked < 2 * programs / 3);
}

TEST_CASE("values without errors are those of the interpreter", "[fuzz]") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const DynamicGraph graph = random_graph(seed);
    const Graph& g = graph.graph();
    REQUIRE(g.ok());
    Evaluator exact(g, seed);
    exact.run();
    reference::Arrays inputs, states;
    reference::RunOptions options;
    options.states = &states;
    for (const Node& node : g.nodes) {
      if (node.kind == NodeKind::op || node.kind == NodeKind::constant) continue;
      const Array& value = exact.value(node.results.first);
      const std::string name(g.name(node.name));
      if (node.kind == NodeKind::scalar) {
        options.numbers[name] = value[0];
      } else {
        (node.kind == NodeKind::state ? states : inputs)[name] = value;
      }
    }
    const reference::Arrays outputs = reference::run(g, inputs, options);
    for (const Output& output : g.outputs) {
      const Array& mine = exact.value(output.value);
      const Array& theirs = outputs.at(std::string(g.name(output.name)));
      REQUIRE(mine.data.size() == theirs.data.size());
      bool same = true;
      for (size_t i = 0; i < mine.data.size(); ++i)
        same = same && same_kind(mine.data[i], theirs.data[i]) &&
               !(mine.data[i] < theirs.data[i] || mine.data[i] > theirs.data[i]);
      CHECK(same);
    }
  }
}

TEST_CASE("a program is a function of its seed", "[fuzz]") {
  CHECK(code_of(random_graph(7).graph()) == code_of(random_graph(7).graph()));
  CHECK(code_of(random_graph(7).graph()) != code_of(random_graph(8).graph()));
}

TEST_CASE("a program prints as code", "[fuzz]") {
  DynamicGraph graph;
  const Tensor x = graph->input("x", f16, {2, 3});
  graph->output("y", leaky_relu(x * 0.5, 0.5f));
  CHECK(code_of(graph.graph()) ==
        "DynamicGraph graph;\n"
        "Builder& g = *graph;\n"
        "const Site here = std::source_location::current();\n"
        "Tensor t0 = g.input(\"x\", f16, {2, 3});\n"
        "Tensor t1 = g.literal(0.5, f16);\n"
        "Tensor t2 = apply(kMul, {t0, t1}, here);  // f16[2,3]\n"
        "Tensor t3 = apply(kLeakyRelu, {t2}, {1056964608}, here);  // f16[2,3]\n"
        "g.output(\"y\", t3);\n");
}

}  // namespace
}  // namespace rlxgpu::core::fuzz

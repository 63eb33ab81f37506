// Verification names the step that is wrong, and no other; and finds nothing where nothing is wrong.
#include "rlxgpu/runtime/verify.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/pool/pool.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/runtime/switches.h"
#include "tests/executable/accumulate.h"
#include "tests/runtime/hasty_sum.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Kind = StepVerdict::Kind;

DynamicOptions verified(Sizes sizes) {
  DynamicOptions options;
  options.engine.verify = true;
  options.sizes = sizes;
  return options;
}

void set_inputs(Executable<DynamicGraph>& executable, const Graph& graph, const Agreement& agreement = {}) {
  for (const auto& [name, value] : agreement.numbers) REQUIRE(executable.set(name, value).ToString() == "OK");
  for (const auto& [name, array] : inputs_of(graph, agreement))
    REQUIRE(executable.set_elements(name, array.dtype, array.count(), pack(array).data()).ToString() == "OK");
}

// Runs the graph and returns its verdicts. What switches say is kept in `said`.
struct Verified {
  Status status;
  std::vector<StepVerdict> verdicts;
  std::string said;
};
Verified verify(const DynamicGraph& graph, const DynamicOptions& options, const Agreement& agreement = {}) {
  INFO(graph.graph().error.view());
  REQUIRE(graph.graph().ok());
  Verified result;
  Switches quiet;
  quiet.verify = !options.engine.verify;  // in one way or the other
  quiet.print = [&](std::string_view line) { result.said += std::string(line) + "\n"; };
  const ScopedSwitches scoped(quiet);
  auto executable = Executable<DynamicGraph>::create(device_or_skip(), graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  set_inputs(*executable, graph.graph(), agreement);
  result.status = executable->run().wait();
  result.verdicts = executable->engine().verdicts();
  return result;
}

void check_all_right(const Verified& run) {
  CHECK(run.status.ToString() == "OK");
  CHECK(run.said.empty());
  CHECK(!run.verdicts.empty());
  for (const StepVerdict& verdict : run.verdicts) {
    INFO(verdict.text());
    CHECK(verdict.kind == Kind::right);
  }
}

// Something before it and something behind it that uses all of its results.
DynamicGraph with_fault(int64_t rows, int64_t cols, int64_t millionths) {
  DynamicGraph graph;
  Tensor x = graph->input("x", f32, {rows, cols});
  Tensor sums = hasty_sum(matmul(x, graph->param("w", f32, {cols, cols})), millionths) + graph->param("b", f32, {rows});
  graph->output("y", softmax(sums * 0.01f, 0));
  return graph;
}

TEST_CASE("a wrong kernel is named, with the switch that avoids it; those around it are not", "[gpu][verify]") {
  const Sizes sizes = GENERATE(Sizes::free, Sizes::baked);
  const DynamicGraph graph = with_fault(64, 48, 100);
  const Verified run = verify(graph, verified(sizes));
  CHECK(run.status.ToString().starts_with("DATA_LOSS"));
  const std::string text(run.status.message());
  CHECK_THAT(text, ContainsSubstring("step 1, hasty_sum/f32/hasty, is wrong: hasty_sum f32[64,48] -> f32[64]: "));
  CHECK_THAT(text, ContainsSubstring("1 of 64 elements; first [5]: "));
  CHECK_THAT(text, ContainsSubstring("verify_test.cc:"));
  CHECK_THAT(text, ContainsSubstring("RLXGPU_FORBID=hasty_sum/hasty avoids it"));
  CHECK_THAT(run.said, ContainsSubstring(text));
  REQUIRE(run.verdicts.size() == 3);
  CHECK(run.verdicts[0].kind == Kind::right);
  CHECK(run.verdicts[1].kind == Kind::wrong);
  CHECK(run.verdicts[2].kind == Kind::right);
}

TEST_CASE("the switch asks for it, too, and the way out leads out", "[gpu][verify]") {
  const DynamicGraph graph = with_fault(64, 48, 100);
  CHECK(verify(graph, {}).status.ToString().starts_with("DATA_LOSS"));
  DynamicOptions options = verified(Sizes::free);
  const std::vector<Choice> plain = {{"hasty_sum", "plain"}};
  options.compile.choices = plain;
  check_all_right(verify(graph, options));
}

TEST_CASE("an error of one part in ten thousand is found, one of rounding's size is not", "[gpu][verify]") {
  CHECK(!verify(with_fault(64, 48, 100), verified(Sizes::free)).status.ok());
  CHECK(!verify(with_fault(64, 48, 1000000), verified(Sizes::free)).status.ok());
  check_all_right(verify(with_fault(64, 48, 0), verified(Sizes::free)));
}

// What rounding explains is a few ulps for each of 48 terms: faults of ten times that are found, and those of a tenth
// of it are not. Between the two a fault cannot be told from rounding.
TEST_CASE("faults near the size of rounding: the larger are found, the smaller are none", "[gpu][verify]") {
  for (const int64_t millionths : {30, 50, 100}) {
    CAPTURE(millionths);
    const Verified run = verify(with_fault(64, 48, millionths), verified(Sizes::baked));
    CHECK_THAT(std::string(run.status.message()), ContainsSubstring("hasty_sum/f32/hasty, is wrong"));
    REQUIRE(run.verdicts.size() == 3);
    CHECK(run.verdicts[0].kind == Kind::right);
    CHECK(run.verdicts[2].kind == Kind::right);
  }
}

// A view that begins one element late, on the device alone: what an output copies is wrong, and no group of ops is.
inline constexpr OpDef kLateView = [] {
  OpDef op = kSlice;
  op.name = "late_view";
  op.fold = nullptr;
  op.view = [](const Call& call, const View& operand, View& result) {
    internal::slice_view(call, operand, result);
    ++result.offset;
    return true;
  };
  return op;
}();
TEST_CASE("the copy that an output needs is compared, too", "[gpu][verify]") {
  const bool wrong = GENERATE(false, true);
  DynamicGraph g;
  Tensor x = g->input("x", f32, {4, 5});
  Tensor part = apply(wrong ? kLateView : kSlice, {x}, {1, 4, 1, 0, 4, 1}, Site(std::source_location::current()));
  Tensor sums = sum(x, 1);
  g->output("part", part);
  g->output("turned", transpose(x));
  g->output("same", x);
  g->output("sums", sums);
  g->output("again", sums);
  g->output("wide", expand(reshape(sums, {4, 1}), {4, 3}));
  const Verified run = verify(g, verified(GENERATE(Sizes::free, Sizes::baked)));
  if (!wrong) return check_all_right(run);
  CHECK(run.verdicts.size() == 6);
  int found = 0;
  for (const StepVerdict& verdict : run.verdicts) found += verdict.kind != Kind::right;
  CHECK(found == 1);
  CHECK_THAT(std::string(run.status.message()), ContainsSubstring("is wrong: map f32[4,5] -> f32[3,4]"));
}

// A copy of x by its kernel; by its reference nothing that a result could be compared with.
inline constexpr OpDef kUnjudged = {
    .name = "unjudged",
    .infer = [](Infer& infer) { infer.result(infer.dtype(0), infer.shape(0)); },
    .at = [](At& at) { at.result() << at.operand(0); },
    .reference =
        [](reference::Call& call) {
          for (int64_t i = 0; i < call.result().count(); ++i) call.result()[i] = std::nan("");
        },
    .accuracy = {0},
};
TEST_CASE("what is NaN by the reference is not called right", "[gpu][verify]") {
  DynamicGraph g;
  g->output("y", apply(kUnjudged, {g->input("x", f32, {5, 3})}, Site(std::source_location::current())));
  const Verified run = verify(g, verified(Sizes::free));
  CHECK(run.status.ToString() == "OK");
  REQUIRE(run.verdicts.size() == 1);
  CHECK(run.verdicts[0].kind == Kind::unverified);
  CHECK_THAT(run.verdicts[0].findings, ContainsSubstring("NaN by the reference"));
}

TEST_CASE("large kernels are compared with their simplest variant, small ones with the reference", "[gpu][verify]") {
  DynamicGraph graph;
  graph->output("y", hasty_sum(graph->input("x", f32, {2048, 1200}), GENERATE(0, 300)));
  const Verified run = verify(graph, verified(Sizes::free));
  REQUIRE(run.verdicts.size() == 1);
  const bool right = run.verdicts[0].kind == Kind::right;
  CHECK(run.status.ok() == right);
  CHECK(run.verdicts[0].against == (right ? "hasty_sum/plain" : "the reference"));
  CHECK(run.verdicts[0].findings.empty() == right);
  CHECK(verify(with_fault(64, 48, 0), verified(Sizes::free)).verdicts[1].against == "the reference");
}

TEST_CASE("a right program of many families verifies", "[gpu][verify]") {
  DynamicGraph graph;
  Builder& g = *graph;
  Tensor image = g.input("image", f32, {1, 3, 24, 24});
  Tensor seen = relu(conv(image, g.param("filters", f32, {16, 3, 3, 3})));
  Tensor pooled = max_pool(seen, {.kernel = {2, 2}, .strides = {2, 2}});
  const int64_t pixels = pooled.shape()[2] * pooled.shape()[3];
  Tensor x = transpose(reshape(pooled, {16, pixels}), {1, 0});  // (pixel, channel)
  x = layer_norm(gelu(matmul(x, g.param("w", f32, {16, 32})) + g.param("b", f32, {32})), g.param("s", f32, {32}),
                 g.param("t", f32, {32}));
  Tensor heads = reshape(x, {1, pixels, 2, 16});
  heads = transpose(heads, {0, 2, 1, 3});
  Tensor mixed = attention(heads, heads, heads);
  Tensor scores = softmax(reshape(transpose(mixed, {0, 2, 1, 3}), {pixels, 32}) * 0.5f, 1);
  g.output("scores", scores);
  g.output("best", argmax(scores, 1));
  g.output("halves", cast(tanh(x), f16) * cast(sum(x, 1, {.keep_dims = true}), f16));
  g.output("large", gt(sum(x, 0), 0.0f));
  check_all_right(verify(graph, verified(GENERATE(Sizes::free, Sizes::baked))));
}

TEST_CASE("kernels of several steps verify in every variant", "[gpu][verify]") {
  const auto [op, variant] = GENERATE(table<std::string, std::string>(
      {{"matmul", "packed"}, {"matmul", "tiled"}, {"matmul", "plain"}, {"sum", "split"}, {"", ""}}));
  CAPTURE(op, variant);
  DynamicGraph graph;
  Tensor y =
      reshape(matmul(graph->param("a", f32, {42, 192}), reshape(graph->input("x", f32, {1, 192, 7, 7}), {192, 49})),
              {1, 42, 7, 7});
  graph->output("y", relu(y + graph->param("c", f32, {42, 1, 1})));
  graph->output("z", sum(graph->input("v", f32, {70000}), 0));
  DynamicOptions options = verified(Sizes::free);
  const std::vector<Choice> choices = {{op, variant}};
  options.compile.choices = choices;
  check_all_right(verify(graph, options));
}

TEST_CASE("run-time extents and numbers are those of the run", "[gpu][verify]") {
  DynamicGraph graph;
  Dim rows = graph->extent("rows", 40);
  Tensor x = graph->input("x", f32, {rows, 24});
  Tensor scaled = x * graph->scalar("factor", f32);
  graph->output("y", softmax(matmul(scaled, graph->param("w", f32, {24, 24})), 1));
  graph->output("z", sum(scaled, 0));
  const double count = GENERATE(40.0, 17.0, 1.0);
  check_all_right(verify(graph, verified(GENERATE(Sizes::free, Sizes::baked)),
                         {.bound = {}, .numbers = {{"rows", count}, {"factor", 0.5}}}));
}

TEST_CASE("a state changes once a run, and what it becomes is compared", "[gpu][verify]") {
  DynamicGraph graph;
  Tensor x = graph->input("x", f32, {32});
  Tensor total = accumulate(graph->state("total", f32, {32}), x * 2.0f);
  graph->output("y", total + 1.0f);
  auto executable = Executable<DynamicGraph>::create(device_or_skip(), graph, verified(Sizes::free));
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", std::vector<float>(32, 3.0f)).ok());
  for (int run = 1; run <= 3; ++run) {
    REQUIRE(executable->run().wait().ToString() == "OK");
    for (const StepVerdict& verdict : executable->engine().verdicts()) {
      INFO(verdict.text());
      CHECK(verdict.kind == Kind::right);
    }
    const Result<std::vector<float>> total_now = executable->get<float>("total"), y = executable->get<float>("y");
    REQUIRE(total_now.ok());
    REQUIRE(y.ok());
    CHECK((*total_now)[7] == 6.0f * static_cast<float>(run));
    CHECK((*y)[7] == 6.0f * static_cast<float>(run) + 1.0f);
  }
}

struct Small {
  static constexpr void build(Builder& g) { g.output("y", hasty_sum(g.input("x", f32, {16, 8}), 1000)); }
};

TEST_CASE("a graph type is verified; a constant program says that it is not", "[gpu][verify]") {
  std::string said;
  Switches quiet;
  quiet.print = [&](std::string_view line) { said += line; };
  const ScopedSwitches scoped(quiet);
  const std::vector<float> x(128, 1.5f);
  Executable<Small> planned(device_or_skip(), {.verify = true});
  planned.set<"x">(x);
  CHECK_THAT(std::string(planned.run().wait().message()), ContainsSubstring("RLXGPU_FORBID=hasty_sum/hasty"));
  CHECK(!planned.get<"y">().ok());
  said.clear();
  Executable<Small, kPortable> constant(device_or_skip(), {.verify = true});
  constant.set<"x">(x);
  CHECK(constant.run().wait().ok());
  CHECK_THAT(said, ContainsSubstring("verify does nothing for a program without its graph"));
}

}  // namespace
}  // namespace rlxgpu::core::testing

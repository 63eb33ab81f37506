// Tensors that need more than 65535 workgroups along one axis: grids are folded, and nothing is missing.
#include <cstdint>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core {
namespace {

Executable<DynamicGraph> make(const DynamicGraph& graph) {
  auto exe = Executable<DynamicGraph>::create(testing::device_or_skip(), graph);
  INFO(exe.status().ToString());
  REQUIRE(exe.ok());
  return *std::move(exe);
}

bool folds(const DynamicGraph& graph) {
  const Program program = testing::compiled(graph.graph());
  for (const Step& step : program.steps) {
    if (step.grid[1] > 1) return true;
  }
  return false;
}

TEST_CASE("a map of more than 65535 workgroups", "[gpu]") {
  constexpr int64_t kCount = 65536 * 64 + 3;
  DynamicGraph graph;
  graph->output("y", bit_xor(iota(*graph, u32, kCount), 5));
  REQUIRE(folds(graph));
  Executable<DynamicGraph> exe = make(graph);
  exe.run();
  auto y = exe.get<uint32_t>("y");
  REQUIRE(y.ok());
  int64_t wrong = 0;
  for (int64_t i = 0; i < kCount; ++i) wrong += (*y)[static_cast<size_t>(i)] != (static_cast<uint32_t>(i) ^ 5u);
  CHECK(wrong == 0);
}

TEST_CASE("a reduction of more than 65535 rows of one workgroup each", "[gpu]") {
  constexpr int64_t kRows = 66000, kCols = 1024;
  DynamicGraph graph;
  graph->output("sum", sum(expand(reshape(iota(*graph, u32, kRows), {kRows, 1}), {kRows, kCols}), {1}));
  REQUIRE(folds(graph));
  Executable<DynamicGraph> exe = make(graph);
  exe.run();
  auto sums = exe.get<uint32_t>("sum");
  REQUIRE(sums.ok());
  int64_t wrong = 0;
  for (int64_t row = 0; row < kRows; ++row)
    wrong += (*sums)[static_cast<size_t>(row)] != static_cast<uint32_t>(row * kCols);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace rlxgpu::core

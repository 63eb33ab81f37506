// Which uses of an op are not needed: only those that change no bit of any operand, -0 and NaN included. No GPU.
#include "rlxgpu/compile/fold.h"

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"

namespace rlxgpu::core::testing {
namespace {

enum class Folded { no, operand, number };

// What the op of step(x) folds to.
constexpr Folded folded(Tensor (*step)(Tensor), DType dtype = f32, const Shape& shape = {2, 2},
                        double* number = nullptr) {
  Builder g;
  const Tensor y = step(g.input("x", dtype, shape));
  const Graph& graph = g.graph();
  const Node& node = graph.producer(y.id());
  Call call;
  call.op = node.op;
  call.operand_count = node.operands.count;
  for (int k = 0; k < node.operands.count; ++k) {
    call.operand_types[static_cast<size_t>(k)] = &graph.value(graph.operand(node, k));
  }
  call.result_types[0] = &graph.value(y.id());
  call.attrs = graph.attributes(node);
  Fold fold(graph, call, {graph.operands.data() + node.operands.first, static_cast<size_t>(node.operands.count)});
  if (node.op->fold == nullptr || !node.op->fold(fold)) return Folded::no;
  if (fold.same_as() >= 0) return Folded::operand;
  if (number != nullptr) *number = fold.number();
  return Folded::number;
}

TEST_CASE("neutral elements") {
  STATIC_REQUIRE(folded([](Tensor x) { return x * 1.0f; }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return 1.0f * x; }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return x / 1.0f; }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return x - 0.0f; }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return x + -0.0f; }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return x + 0.0f; }) == Folded::no);  // -0 + 0 is 0
  STATIC_REQUIRE(folded([](Tensor x) { return x - -0.0f; }) == Folded::no);
  STATIC_REQUIRE(folded([](Tensor x) { return x * 0.0f; }) == Folded::no);  // NaN
  STATIC_REQUIRE(folded([](Tensor x) { return x + 0; }, i32) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return reshape(x, {1, 1}) * expand(x, {3, 1}); }, f32, {1, 1}) == Folded::no);
}

TEST_CASE("known numbers") {
  double value = 0;
  CHECK(folded([](Tensor x) { return x.builder().literal(3, f32) + 4; }, f32, {}, &value) == Folded::number);
  CHECK(value == 7);
  CHECK(folded([](Tensor x) { return -x.builder().literal(3, f32); }, f32, {}, &value) == Folded::number);
  CHECK(value == -3);
  CHECK(folded([](Tensor x) { return max(x.builder().literal(3, i8), 5); }, f32, {}, &value) == Folded::number);
  CHECK(value == 5);
  STATIC_REQUIRE(folded([](Tensor x) { return x.builder().literal(1, f32) / 0.0f; }) == Folded::no);
  STATIC_REQUIRE(folded([](Tensor x) { return x.builder().literal(1e30, f32) * 1e30f; }) == Folded::no);
  STATIC_REQUIRE(folded([](Tensor x) { return x.builder().literal(100, i8) + 100; }) == Folded::no);
}

TEST_CASE("moves that move nothing") {
  STATIC_REQUIRE(folded([](Tensor x) { return cast(x, f32); }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return reshape(x, {2, -1}); }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return transpose(x, {0, 1}); }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return transpose(x); }) == Folded::no);
  STATIC_REQUIRE(folded([](Tensor x) { return slice(x, {0}, {kEnd}); }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return reverse(x, {0}); }) == Folded::no);
  STATIC_REQUIRE(folded([](Tensor x) { return pad(x, {0}, {0}); }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return pad(x, {1}, {-1}); }) == Folded::no);
  STATIC_REQUIRE(folded([](Tensor x) { return expand(x, {1, 2}); }) == Folded::operand);
  STATIC_REQUIRE(folded([](Tensor x) { return tile(x, {1, 1}); }) == Folded::operand);
}

}  // namespace
}  // namespace rlxgpu::core::testing

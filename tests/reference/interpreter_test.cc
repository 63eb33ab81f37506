// The interpreter rounds, follows run-time extents, and keeps states. No GPU.
#include "rlxgpu/reference/interpreter.h"

#include <stdexcept>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/base/half.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"

namespace rlxgpu::core::testing {
namespace {

using reference::array_of;

TEST_CASE("every result is rounded to its type, unless asked not to") {
  Builder g;
  const Tensor x = g.input("x", f16, {1});
  g.output("y", (x + 0.001f) - x);
  const reference::Arrays inputs = {{"x", array_of(f16, {1}, {1.0})}};
  const double step = Half(0.001f);  // the number is an f16, too
  CHECK(reference::run(g.graph(), inputs).at("y")[0] == 0x1p-10);
  CHECK(reference::run(g.graph(), inputs, {.round = false}).at("y")[0] == 1 + step - 1);
}

TEST_CASE("arrays have the extents of the run") {
  Builder g;
  const Dim n = g.extent("n", 8);
  const Tensor x = g.input("x", f32, {n, 2});
  g.output("y", transpose(x) + cast(iota(g, i32, n), f32));
  const reference::Array y =
      reference::run(g.graph(), {{"x", array_of(f32, {3, 2}, {1, 2, 3, 4, 5, 6})}}, {.numbers = {{"n", 3}}}).at("y");
  CHECK(y.shape == Shape{2, 3});
  CHECK(y.data == std::vector<double>{1, 4, 7, 2, 5, 8});
  std::string error;
  CHECK(reference::run(g.graph(), {}, {.numbers = {{"n", 9}}, .error = &error}).empty());
  CHECK(error == "a run-time extent is too large");
  CHECK(reference::run(g.graph(), {}, {.numbers = {{"n", 3}}, .error = &error}).empty());
  CHECK(error == "no values for \"x\"");
}

// Adds its second operand to the first, in place.
constexpr OpDef kAccumulate = {
    .name = "accumulate",
    .infer = [](Infer& infer) { infer.result(infer.dtype(0), infer.shape(0)); },
    .in_place = 0,
    .reference = internal::map_reference<reference::add>,
};

TEST_CASE("a state keeps what ops that work in place leave in it") {
  Builder g;
  const Tensor total = g.state("total", f32, {2}), x = g.input("x", f32, {2});
  g.output("y", apply(kAccumulate, {total, x}, Site()) * 10.0f);
  reference::Arrays states;
  const reference::Arrays inputs = {{"x", array_of(f32, {2}, {1, 2})}};
  reference::run(g.graph(), inputs, {.states = &states});
  CHECK(states.at("total").data == std::vector<double>{1, 2});
  CHECK(reference::run(g.graph(), inputs, {.states = &states}).at("y").data == std::vector<double>{20, 40});
  CHECK(states.at("total").data == std::vector<double>{2, 4});
}

TEST_CASE("results can be disturbed after each op") {
  Builder g;
  g.output("y", exp(g.input("x", f32, {1})) * 2.0f);
  int ops = 0;
  const reference::Arrays y = reference::run(g.graph(), {{"x", array_of(f32, {1}, {0})}},
                                             {.after_each = [&](const Node&, reference::Array& result) {
                                               ++ops;
                                               result[0] += 1;
                                             }});
  CHECK(ops == 2);
  CHECK(y.at("y")[0] == 5);
}

TEST_CASE("constants are unpacked") {
  Builder g;
  const uint32_t words[] = {0xff80017fu, 0x00000005u};
  g.output("y", cast(g.constant(i8, {5}, words), i32));
  CHECK(reference::run(g.graph(), {}).at("y").data == std::vector<double>{127, 1, -128, -1, 5});
}

TEST_CASE("what does not fit is said") {
  Builder g;
  g.output("y", exp(g.input("x", f32, {2})));
  std::string message;
  CHECK(reference::run(g.graph(), {{"x", array_of(f32, {3}, {1, 2, 3})}}, {.error = &message}).empty());
  CHECK(message == "\"x\" is f32[2], not f32[3]");
}

}  // namespace
}  // namespace rlxgpu::core::testing

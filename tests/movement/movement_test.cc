// Data movement on the device: every type, alone and before and after arithmetic, fused or one by one.
#include "rlxgpu/kernels/movement/movement.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

struct Move {
  std::string name;
  Shape shape;
  std::function<Tensor(Tensor)> step;
};

// Every move of one tensor.
std::vector<Move> moves() {
  return {
      {"reshape", {6, 4}, [](Tensor x) { return reshape(x, {3, -1}); }},
      {"transpose", {5, 7}, [](Tensor x) { return transpose(x); }},
      {"transpose of rank 5", {2, 3, 4, 1, 5}, [](Tensor x) { return transpose(x, {4, 2, 0, 3, 1}); }},
      {"merged after transpose", {5, 7}, [](Tensor x) { return reshape(transpose(x), {35}); }},
      {"slice", {6, 9}, [](Tensor x) { return slice(x, {1, 2}, {5, kEnd}, {2, 3}); }},
      {"slice backwards", {6, 9}, [](Tensor x) { return slice(x, {-2, 7}, {kBegin, 1}, {-1, -2}); }},
      {"empty slice", {6, 9}, [](Tensor x) { return slice(x, {3}, {3}); }},
      {"reverse", {6, 9}, [](Tensor x) { return reverse(x); }},
      {"reverse of reverse", {6, 9}, [](Tensor x) { return reverse(reverse(x, {0}), {1}); }},
      {"expand", {3, 1}, [](Tensor x) { return expand(x, {2, 1, 5}); }},
      {"tile", {3, 2}, [](Tensor x) { return tile(x, {2, 3}); }},
      {"roll", {3, 7}, [](Tensor x) { return roll(roll(x, 9, 1), -1, 0); }},
      {"concat", {3, 5}, [](Tensor x) { return concat({x, narrow(x, 1, 0, 2), narrow(x, 1, 2, 0), reverse(x)}, 1); }},
      {"concat of ten", {3}, [](Tensor x) { return concat({x, x, x, reverse(x), x, x, x, x, x, reverse(x)}, 0); }},
      {"pad with a number", {3, 5}, [](Tensor x) { return pad(x, {1, 2}, {0, 3}, PadMode::constant, 1.0f); }},
      {"pad and crop", {3, 5}, [](Tensor x) { return pad(x, {-1, 2}, {2, -4}); }},
      {"pad nothing", {0, 5}, [](Tensor x) { return pad(x, {1, 0}, {1, 0}); }},
      {"pad reflected", {3, 5}, [](Tensor x) { return pad(x, {2, 11}, {5, 4}, PadMode::reflect); }},
      {"pad reflected, one element", {1}, [](Tensor x) { return pad(x, {2}, {1}, PadMode::reflect); }},
      {"pad with the edge", {3, 5}, [](Tensor x) { return pad(x, {2, 1}, {5, 4}, PadMode::edge); }},
      {"pad around", {3, 5}, [](Tensor x) { return pad(x, {4, 1}, {5, 7}, PadMode::wrap); }},
      {"tril", {2, 5, 7}, [](Tensor x) { return tril(x, 1); }},
      {"triu", {7, 5}, [](Tensor x) { return triu(x, -2); }},
      {"depth to space", {2, 8, 3, 2}, [](Tensor x) { return depth_to_space(x, 2); }},
      {"depth to space, CRD", {2, 8, 3, 2}, [](Tensor x) { return depth_to_space(x, 2, DepthOrder::CRD); }},
      {"space to depth", {2, 3, 4, 6}, [](Tensor x) { return space_to_depth(x, 2); }},
      {"there and back",
       {2, 3, 4, 6},
       [](Tensor x) { return depth_to_space(space_to_depth(x, 2, DepthOrder::CRD), 2, DepthOrder::CRD); }},
  };
}

TEST_CASE("every move, of every type, alone", "[gpu][movement]") {
  const DType dtype = GENERATE(f32, f16, i32, i8, u8, boolean, c64);
  const bool fuse = GENERATE(true, false);
  for (const Move& move : moves()) {
    CAPTURE(move.name, name_of(dtype), fuse);
    check_agrees(device_or_skip(), [&](Builder& g) { g.output("y", move.step(g.input("x", dtype, move.shape))); },
                 {.bound = {}, .fuse = fuse});
  }
}

TEST_CASE("every move between arithmetic", "[gpu][movement]") {
  const bool fuse = GENERATE(true, false);
  for (const Move& move : moves()) {
    CAPTURE(move.name, fuse);
    check_agrees(device_or_skip(),
                 [&](Builder& g) {
                   const Tensor x = g.input("x", i32, move.shape);
                   const Tensor moved = move.step(x * 3 + 1);
                   g.output("y", moved * 2 - 5);
                   g.output("z", moved + max(moved, 4));
                 },
                 {.bound = {}, .fuse = fuse});
  }
}

// Half of them on either adapter: there are 729 kernels to compile, and what is in question is how indices are put
// together.
TEST_CASE("every two moves, one after the other", "[gpu][movement]") {
  const Device device = device_or_skip();
  unsigned turn = device.target().subgroup_max < 8 ? 1 : 0;
  for (const Move& first : moves()) {
    for (const Move& second : moves()) {
      if (++turn % 2 == 0) continue;
      CAPTURE(first.name, second.name);
      check_agrees(device,
                   [&](Builder& g) {
                     const Tensor moved = first.step(g.input("x", i32, first.shape));
                     // As many elements as the second move needs, whatever the first one left.
                     const Tensor flat = pad(reshape(moved, {-1}), {0}, {second.shape.count() - moved.shape().count()});
                     g.output("y", second.step(reshape(flat, second.shape)));
                   },
                   {.bound = {}});
    }
  }
}

TEST_CASE("gather by indices inside, negative and outside", "[gpu][movement]") {
  const auto [shape, indices, axis] = GENERATE(table<Shape, Shape, int64_t>({
      {{7}, {5}, 0},
      {{7, 3}, {2, 5}, 0},
      {{2, 7, 3}, {5}, 1},
      {{2, 3, 7}, {4, 2}, -1},
      {{7, 3}, {}, 0},
      {{7, 3}, {0}, 0},
      {{0, 3}, {0}, 0},
  }));
  const DType type = GENERATE(f32, f16, i8);
  const DType index_type = GENERATE(i32, u32);
  CAPTURE(axis, name_of(type), name_of(index_type));
  check_agrees(  // random indices lie in [-9, 9] or [0, 9]: some are outside
      device_or_skip(),
      [&](Builder& g) { g.output("y", gather(g.input("x", type, shape), g.input("i", index_type, indices), axis)); },
      {.bound = {}});
}

TEST_CASE("gather_elements, gather_nd, one_hot", "[gpu][movement]") {
  const bool fuse = GENERATE(true, false);
  const DType index_type = GENERATE(i32, u32);
  CAPTURE(fuse, name_of(index_type));
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Tensor x = g.input("x", f32, {4, 5, 6});
                 g.output("elements", gather_elements(x, g.input("e", index_type, {4, 2, 3}), 1));
                 g.output("nd 1", gather_nd(x, g.input("a", index_type, {7, 1})));
                 g.output("nd 3", gather_nd(x, g.input("b", index_type, {2, 7, 3})));
                 g.output("nd batch", gather_nd(x, g.input("c", index_type, {4, 3, 1}), 1));
                 const Tensor labels = g.input("d", index_type, {3, 4});
                 g.output("hot", one_hot(labels, 5));
                 g.output("hot first", one_hot(labels, 5, 0, i32, 7, -1));
                 g.output("computed indices", gather(x, clamp(labels, 1, 3) + 1, 2));
               },
               {.bound = {}, .fuse = fuse});
}

TEST_CASE("iota and range", "[gpu][movement]") {
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 g.output("i32", iota(g, i32, 300, -7, 3));
                 g.output("u8", iota(g, u8, 300));
                 g.output("i8", iota(g, i8, 300, 5, -2));
                 g.output("u32", iota(g, u32, 300, 100, -1));
                 g.output("f32", range(g, f32, 1, 2, 0.25));
                 g.output("none", range(g, i32, 3, 3));
                 g.output("sum", iota(g, f16, 9) + unsqueeze(iota(g, f16, 5), {1}));
               },
               {.bound = {}});
}

TEST_CASE("run-time extents pass through moves of the other axes", "[gpu][movement]") {
  const double n = GENERATE(0.0, 1.0, 5.0, 8.0);
  const bool fuse = GENERATE(true, false);
  CAPTURE(n, fuse);
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Dim rows = g.extent("n", 8);
                 const Tensor x = g.input("x", f32, {rows, 12});
                 g.output("heads", transpose(reshape(x, {rows, 3, 4}), {1, 0, 2}));
                 g.output("concat", concat({x, reverse(x, {1}), x * 2.0f}, 1));
                 g.output("slice", slice(x, {0, 1}, {kEnd, kEnd}, {1, 2}));
                 g.output("positions", iota(g, i32, rows));
                 g.output("scores", tril(x));
                 g.output("rows", gather(g.input("table", f32, {9, 5}), g.input("i", i32, {rows}), 0));
               },
               {.bound = {}, .numbers = {{"n", n}}, .fuse = fuse});
}

TEST_CASE("large transpositions are turned in squares", "[movement][gpu]") {
  const Device device = device_or_skip();
  struct Row {
    Shape x;
    IntList order;
    const char* step;
  };
  const Row row = GENERATE(values<Row>({
      {{100, 68}, {1, 0}, "copy/f32/transposed"},
      {{3, 36, 2, 44}, {3, 2, 0, 1}, "copy/f32/transposed"},
      {{3, 36, 5, 44}, {0, 3, 1, 2}, "copy/f32/map"},  // of 5 there are no whole vectors
      {{99, 68}, {1, 0}, "copy/f32/map"},
      {{4, 40, 52}, {1, 0, 2}, "copy/f32/map"},  // the last axis stays
  }));
  const auto build = [&](Builder& g) { g.output("y", transpose(g.input("x", f32, row.x), row.order)); };
  const Program program = compiled(build);
  REQUIRE(program.steps.size() == 1);
  CHECK(view_of(program, kPortable).name(program.steps[0].label) == row.step);
  check_agrees(device, build, {.bound = {}});
  check_agrees(
      device, [](Builder& g) { g.output("y", transpose(narrow(g.input("x", i32, {3, 64, 80}), 2, 8, 72), {0, 2, 1})); },
      {.bound = {}});
}

}  // namespace
}  // namespace rlxgpu::core::testing

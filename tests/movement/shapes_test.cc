// What the compiler knows of data movement: shapes, views, and the sentence for each mistake. No GPU.
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/movement/movement.h"

namespace rlxgpu::core::testing {
namespace {

using Step = Tensor (*)(Tensor);

constexpr Shape shape_of(Step step, const Shape& shape) {
  Builder g;
  const Tensor y = step(g.input("x", f32, shape));
  return g.ok() ? y.shape() : Shape{-1};
}

std::string error_of(Step step, const Shape& shape) {
  Builder g;
  step(g.input("x", f32, shape));
  const std::string text(g.graph().error.view());
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// The same, with a run-time extent of at most 8 as the first axis.
std::string dynamic_error_of(Step step, const Shape& rest) {
  Builder g;
  Shape shape = {g.extent("n", 8)};
  for (int axis = 0; axis < rest.rank(); ++axis) shape.push_back(rest.dim(axis));
  step(g.input("x", f32, shape));
  const std::string text(g.graph().error.view());
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

TEST_CASE("shapes of moved tensors") {
  STATIC_REQUIRE(shape_of([](Tensor x) { return reshape(x, {4, -1, 2}); }, {6, 4}) == Shape{4, 3, 2});
  STATIC_REQUIRE(shape_of([](Tensor x) { return squeeze(x); }, {1, 4, 1}) == Shape{4});
  STATIC_REQUIRE(shape_of([](Tensor x) { return unsqueeze(squeeze(x, {-1}), {0, 2}); }, {3, 1}) == Shape{1, 3, 1});
  STATIC_REQUIRE(shape_of([](Tensor x) { return flatten(x, 2); }, {2, 3, 4, 5}) == Shape{6, 20});
  STATIC_REQUIRE(shape_of([](Tensor x) { return transpose(x, {2, 0, -2}); }, {2, 3, 4}) == Shape{4, 2, 3});
  STATIC_REQUIRE(shape_of([](Tensor x) { return transpose(x); }, {2, 3, 4}) == Shape{2, 4, 3});
  STATIC_REQUIRE(shape_of([](Tensor x) { return slice(x, {1}, {kEnd}, {2}); }, {6, 4}) == Shape{3, 4});
  STATIC_REQUIRE(shape_of([](Tensor x) { return slice(x, {-2, 3}, {kBegin, 0}, {-2, -1}); }, {6, 4}) == Shape{3, 3});
  STATIC_REQUIRE(shape_of([](Tensor x) { return slice(x, {4}, {2}); }, {6}) == Shape{0});
  STATIC_REQUIRE(shape_of([](Tensor x) { return expand(x, {5, 1, 3}); }, {4, 1}) == Shape{5, 4, 3});
  STATIC_REQUIRE(shape_of([](Tensor x) { return tile(x, {2, 3}); }, {4, 1}) == Shape{8, 3});
  STATIC_REQUIRE(shape_of([](Tensor x) { return concat({x, x, narrow(x, 1, 0, 1)}, -1); }, {4, 2}) == Shape{4, 5});
  STATIC_REQUIRE(shape_of([](Tensor x) { return stack({x, x}, 1); }, {4, 2}) == Shape{4, 2, 2});
  STATIC_REQUIRE(shape_of([](Tensor x) { return split(x, {1, 3}, 0)[1]; }, {4, 2}) == Shape{3, 2});
  STATIC_REQUIRE(shape_of([](Tensor x) { return chunk(x, 2, 0)[1]; }, {4, 2}) == Shape{2, 2});
  STATIC_REQUIRE(shape_of([](Tensor x) { return pad(x, {1, -1}, {2, 0}); }, {4, 2}) == Shape{7, 1});
  STATIC_REQUIRE(shape_of([](Tensor x) { return depth_to_space(x, 2); }, {1, 8, 2, 3}) == Shape{1, 2, 4, 6});
  STATIC_REQUIRE(shape_of([](Tensor x) { return space_to_depth(x, 2); }, {1, 2, 4, 6}) == Shape{1, 8, 2, 3});
  STATIC_REQUIRE(shape_of([](Tensor x) { return one_hot(iota(x.builder(), i32, 4), 3, 0); }, {}) == Shape{3, 4});
  STATIC_REQUIRE(shape_of([](Tensor x) { return range(x.builder(), f32, 0, 1, 0.3); }, {}) == Shape{4});
  STATIC_REQUIRE(shape_of([](Tensor x) { return gather(x, range(x.builder(), i32, 0, 2), 1); }, {4, 5, 6}) ==
                 Shape{4, 2, 6});
}

TEST_CASE("twenty tensors are joined by nested calls") {
  Builder g;
  Vec<Tensor> parts;
  for (int i = 0; i < 20; ++i) parts.push_back(iota(g, i32, i));
  const Tensor y = concat(std::span<const Tensor>(parts.data(), parts.size()), 0);
  CHECK(y.shape() == Shape{190});
}

TEST_CASE("mistakes are sentences") {
  CHECK(error_of([](Tensor x) { return reshape(x, {4, -1}); }, {2, 3}) ==
        "reshape([2,3]): 6 elements are no multiple of 4, so -1 stands for nothing");
  CHECK(error_of([](Tensor x) { return reshape(x, {4, 2}); }, {2, 3}) ==
        "reshape([2,3]): the result [4,2] has 8 elements, not 6");
  CHECK(error_of([](Tensor x) { return transpose(x, {0, 0}); }, {2, 3}) == "transpose([2,3]): axis 0 is named twice");
  CHECK(error_of([](Tensor x) { return slice(x, {0}, {1}, {0}); }, {2, 3}) == "slice([2,3]): the step of axis 0 is 0");
  CHECK(error_of([](Tensor x) { return concat({x, transpose(x)}, 0); }, {2, 3}) ==
        "concat([2,3], [3,2]): operand 1 differs in axis 1, which is not joined");
  CHECK(error_of([](Tensor x) { return expand(x, {2, 4}); }, {2, 3}) == "expand([2,3]): does not stretch to [2,4]");
  CHECK(error_of([](Tensor x) { return pad(x, {-1}, {-2}); }, {2, 3}) ==
        "pad([2,3], []): axis 0 would lose more elements than it has");
  CHECK(error_of([](Tensor x) { return gather(x, x, 0); }, {2, 3}) ==
        "gather([2,3], [2,3]): indices are i32 or u32, not f32");
  CHECK(error_of([](Tensor x) { return split(x, {1, 2}, 0)[0]; }, {2, 3}) ==
        "split([2,3]): the lengths add up to 3, but axis 0 has 2");
  CHECK(error_of([](Tensor x) { return tril(x); }, {3}) == "tril([3]): takes matrices: two axes or more");
  CHECK(error_of([](Tensor x) { return narrow(x, 1, 2, 2); }, {2, 3}) == "narrow([2,3]): elements 2 to 4 leave axis 1");
}

TEST_CASE("run-time extents pass or are refused with a reason") {
  CHECK(dynamic_error_of([](Tensor x) { return reshape(transpose(reshape(x, {-1, 3, 4}), {1, 0, 2}), {3, -1, 2, 2}); },
                         {12})
            .empty());
  CHECK(dynamic_error_of([](Tensor x) { return concat({x, x}, 1); }, {12}).empty());
  CHECK(dynamic_error_of([](Tensor x) { return slice(x, {0, 1}, {kEnd, 3}); }, {12}).empty());
  CHECK(dynamic_error_of([](Tensor x) { return iota(x.builder(), i32, x.shape().dim(0)); }, {12}).empty());
  CHECK(dynamic_error_of([](Tensor x) { return reshape(x, {96}); }, {12}) ==
        "reshape([n<=8,12]): the run-time extent of axis 0 must stay an axis of its own in [96]");
  CHECK(dynamic_error_of([](Tensor x) { return reshape(x, {8, 12}); }, {12}) ==
        "reshape([n<=8,12]): the run-time extent of axis 0 must stay an axis of its own in [8,12]");
  CHECK(dynamic_error_of([](Tensor x) { return reverse(x, {0}); }, {12}) ==
        "slice([n<=8,12]): axis 0 has a run-time extent and must be taken whole");
  CHECK(dynamic_error_of([](Tensor x) { return roll(x, 1, 0); }, {12}) ==
        "roll([n<=8,12]): axis 0 has a run-time extent and cannot be rolled");
  CHECK(dynamic_error_of([](Tensor x) { return concat({x, x}, 0); }, {12}) ==
        "concat([n<=8,12], [n<=8,12]): the joined axis 0 has a run-time extent");
}

// The view of reshape from `from` with the given strides to `to`.
constexpr bool reshape_is_view(const Shape& from, const Strides& strides, const Shape& to, Strides& result) {
  const TensorType operand{f32, from}, target{f32, to};
  Call call;
  call.operand_types[0] = &operand;
  call.result_types[0] = &target;
  View view;
  const bool is_view = kReshape.view(call, {0, strides}, view);
  result = view.strides;
  return is_view;
}

TEST_CASE("reshape is a view exactly where memory allows it") {
  Strides got;
  CHECK(reshape_is_view({6, 4}, {{4, 1}}, {2, 3, 2, 2}, got));
  CHECK(got == Strides{{12, 4, 2, 1}});
  CHECK(reshape_is_view({6, 4}, {{1, 6}}, {2, 3, 2, 2}, got));  // a transposed matrix: its axes may be split
  CHECK(got == Strides{{3, 1, 12, 6}});
  CHECK_FALSE(reshape_is_view({6, 4}, {{1, 6}}, {24}, got));  // but not merged
  CHECK(reshape_is_view({6, 4}, {{8, 2}}, {24}, got));        // every second element
  CHECK(got == Strides{{2}});
  CHECK(reshape_is_view({6, 4}, {{0, 0}}, {24}, got));  // one element, stretched
  CHECK(reshape_is_view({6, 4}, {{-4, -1}}, {24}, got));
  CHECK(got == Strides{{-1}});
  CHECK(reshape_is_view({1, 6, 1}, {{99, 3, 77}}, {6}, got));
  CHECK(got == Strides{{3}});
  CHECK(reshape_is_view({}, {}, {1, 1}, got));
}

}  // namespace
}  // namespace rlxgpu::core::testing

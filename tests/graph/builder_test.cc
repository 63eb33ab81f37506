// Mistakes that a graph built at run time can hold and a compiler never sees: they are errors, not crashes.
#include "rlxgpu/graph/builder.h"

#include <string>
#include <string_view>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {
namespace {

std::string error_of(const Builder& g) {  // without file and line
  const std::string error(g.graph().error.view());
  return error.substr(error.find(": ") + 2);
}

TEST_CASE("ops on a tensor that no graph has made do nothing, and its use as an output is an error", "[builder]") {
  Builder g;
  const Tensor x = g.input("x", f32, {4});
  CHECK_FALSE(exp(Tensor()).valid());
  CHECK_FALSE((Tensor() + 1.0f).valid());
  CHECK_FALSE((Tensor() * Tensor()).valid());
  CHECK_FALSE(sum(Tensor(), 0).valid());
  CHECK_FALSE(matmul(Tensor(), Tensor()).valid());
  CHECK(g.ok());
  g.output("y", exp(Tensor()));
  CHECK(error_of(g) == "output \"y\": the tensor belongs to no graph");
  CHECK_FALSE((x + Tensor()).valid());  // after an error nothing is recorded
}

TEST_CASE("a tensor of another graph is no operand and no output", "[builder]") {
  Builder g, other;
  const Tensor x = g.input("x", f32, {4}), stranger = other.input("x", f32, {4});
  SECTION("operand") {
    CHECK_FALSE((x + stranger).valid());
    CHECK(error_of(g) == "add: operand 1 belongs to no graph or to another one");
  }
  SECTION("output") {
    g.output("y", stranger);
    CHECK(error_of(g) == "output \"y\": the tensor belongs to another graph");
  }
}

constexpr void silent_infer(Infer&) {}
inline constexpr OpDef kSilent{.name = "silent", .infer = silent_infer};

TEST_CASE("a shape rule that says nothing is an error of the op", "[builder]") {
  Builder g;
  const Tensor x = g.input("x", f32, {4});
  CHECK_FALSE(apply(kSilent, {x}, std::source_location::current()).valid());
  CHECK(error_of(g) == "silent([4]): its shape rule gave neither a result nor an error");
}

}  // namespace
}  // namespace rlxgpu::core

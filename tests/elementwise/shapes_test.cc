// What the compiler knows of elementwise ops: shapes, types, and the sentence for each mistake. No GPU.
#include <algorithm>
#include <string>
#include <string_view>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"

namespace rlxgpu::core::testing {
namespace {

using BuildStep = Tensor (*)(Tensor, Tensor);

// The type of step(a, b).
constexpr TensorType type_of(BuildStep step, DType a_type, const Shape& a, DType b_type, const Shape& b) {
  Builder g;
  const Tensor y = step(g.input("a", a_type, a), g.input("b", b_type, b));
  return g.ok() ? TensorType{y.dtype(), y.shape()} : TensorType{f32, {-1}};
}

// What is wrong with step(a, b), without file and line.
std::string error_of(BuildStep step, DType a_type, const Shape& a, DType b_type, const Shape& b) {
  Builder g;
  step(g.input("a", a_type, a), g.input("b", b_type, b));
  const std::string text(g.graph().error.view());
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

constexpr Tensor add_both(Tensor a, Tensor b) { return a + b; }
constexpr Tensor compare(Tensor a, Tensor b) { return lt(a, b); }
constexpr Tensor choose(Tensor a, Tensor b) { return where(eq(a, b), a, 0.0f); }
constexpr Tensor take_exp(Tensor a, Tensor) { return exp(a); }

TEST_CASE("operands broadcast as in NumPy") {
  STATIC_REQUIRE(type_of(add_both, f32, {4, 1, 3}, f32, {5, 1}) == TensorType{f32, {4, 5, 3}});
  STATIC_REQUIRE(type_of(add_both, f16, {}, f16, {2, 2}) == TensorType{f16, {2, 2}});
  STATIC_REQUIRE(type_of(add_both, i8, {0, 3}, i8, {1}) == TensorType{i8, {0, 3}});
  STATIC_REQUIRE(type_of(add_both, f32, {1, 1, 1, 1, 1, 1, 1, 2}, f32, {2, 1, 1, 1, 1, 1, 1, 1}) ==
                 TensorType{f32, {2, 1, 1, 1, 1, 1, 1, 2}});
  STATIC_REQUIRE(type_of(compare, u32, {3}, u32, {2, 1}) == TensorType{boolean, {2, 3}});
  STATIC_REQUIRE(type_of(choose, f32, {3}, f32, {2, 1}) == TensorType{f32, {2, 3}});
}

TEST_CASE("numbers take the type of the tensor beside them") {
  STATIC_REQUIRE(type_of([](Tensor a, Tensor) { return 2.0f * a + 1; }, bf16, {3}, f32, {}) == TensorType{bf16, {3}});
  STATIC_REQUIRE(type_of([](Tensor a, Tensor) { return 1 - a; }, i32, {3}, f32, {}) == TensorType{i32, {3}});
  STATIC_REQUIRE(type_of([](Tensor a, Tensor) { return where(a, 1.0f, 2.0f); }, boolean, {3}, f32, {}) ==
                 TensorType{f32, {3}});
}

TEST_CASE("complex numbers") {
  STATIC_REQUIRE(type_of([](Tensor a, Tensor b) { return a * conj(b) / a - b; }, c64, {3}, c64, {2, 1}) ==
                 TensorType{c64, {2, 3}});
  STATIC_REQUIRE(type_of([](Tensor a, Tensor) { return abs(a); }, c64, {3}, f32, {}) == TensorType{f32, {3}});
  STATIC_REQUIRE(type_of([](Tensor a, Tensor) { return real(a) + imag(a); }, c64, {3}, f32, {}) ==
                 TensorType{f32, {3}});
  STATIC_REQUIRE(type_of([](Tensor a, Tensor b) { return complex(a, b); }, f32, {3}, f32, {}) == TensorType{c64, {3}});
  STATIC_REQUIRE(type_of([](Tensor a, Tensor) { return cast(a, c64); }, f16, {3}, f32, {}) == TensorType{c64, {3}});
}

TEST_CASE("a mistake is one sentence with the types and the way out") {
  CHECK(error_of(add_both, f32, {2, 3}, f32, {2, 4}) ==
        "add([2,3], [2,4]): the shapes do not broadcast: aligned at the end, extents must be equal or 1");
  CHECK(error_of(add_both, f32, {2}, i32, {2}) ==
        "add([2], i32[2]): operands of f32 and i32 do not mix: cast one of them");
  CHECK(error_of(take_exp, i32, {2}, f32, {}) ==
        "exp(i32[2]): takes f32, f16 or bf16, not i32: cast the operand first");
  CHECK(error_of([](Tensor a, Tensor) { return neg(a); }, u8, {2}, f32, {}) ==
        "neg(u8[2]): takes f32, f16, bf16, i32, i8 or c64, not u8: cast the operand first");
  CHECK(error_of([](Tensor a, Tensor b) { return where(a, b, 0.0f); }, f32, {2}, f32, {2}) ==
        "where([2], [2], []): the condition is f32, not bool");
  CHECK(error_of([](Tensor a, Tensor) { return a * 2.5f; }, i32, {2}, f32, {}) ==
        "a number beside i32[2] must be a whole number in its range");
  CHECK(error_of([](Tensor a, Tensor) { return a + 300; }, u8, {2}, f32, {}) ==
        "a number beside u8[2] must be a whole number in its range");
  CHECK(error_of([](Tensor a, Tensor) { return elu(a, 1e38f * 10); }, f32, {2}, f32, {}) ==
        "elu([2]): a parameter is not finite");
  CHECK(error_of([](Tensor a, Tensor) { return cast(a, f32); }, c64, {2}, f32, {}) ==
        "cast(c64[2]): c64 has no order to keep: use real, imag or abs first");
}

TEST_CASE("run-time extents that need not be equal are named") {
  Builder g;
  const Dim rows = g.extent("rows", 8), others = g.extent("others", 8);
  g.input("a", f32, {rows, 3}) + g.input("b", f32, {others, 3});
  const std::string_view error = g.graph().error.view();
  CHECK(error.substr(std::min(error.find("add("), error.size())) ==
        "add([rows<=8,3], [others<=8,3]): the shapes do not broadcast: aligned at the end, extents must be equal or 1, "
        "and run-time extents the same one");
}

TEST_CASE("operators name the line they stand on") {
  Builder g;
  const Tensor a = g.input("a", f32, {2}), b = g.input("b", f32, {3});
  const int line = __LINE__ + 1;
  const Tensor y = a * b;
  CHECK_FALSE(y.valid());
  const std::string error(g.graph().error.view());
  CHECK(error.find("shapes_test.cc:" + std::to_string(line) + ": mul(") != std::string::npos);

  Builder h;
  const Tensor c = h.input("c", boolean, {2});
  const int next = __LINE__ + 1;
  CHECK_FALSE((-c).valid());
  CHECK(std::string(h.graph().error.view()).find("shapes_test.cc:" + std::to_string(next) + ": neg(") !=
        std::string::npos);
}

}  // namespace
}  // namespace rlxgpu::core::testing

// Choosers decide for one call at a time, in the compiler as well, and equal groups keep the decision.
#include "rlxgpu/compile/choice.h"

#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/compiled.h"

namespace rlxgpu::core::testing {
namespace {

constexpr void two_products(Builder& g) {
  const Tensor x = g.input("x", f32, {8, 16});
  Tensor y = x;
  for (int layer = 0; layer < 3; ++layer) y = relu(matmul(y, g.param("w" + std::to_string(layer), f32, {16, 16})));
  g.output("y", matmul(y, g.param("last", f32, {16, 4})));
}

// Plain for results of 4 columns.
constexpr int plain_when_narrow(void* asked, const Call& call, std::span<const Variant* const> accepted,
                                ParameterValues&) {
  if (asked != nullptr) ++*static_cast<int*>(asked);
  if (call.result().shape[1] != 4) return -1;
  for (size_t i = 0; i < accepted.size(); ++i) {
    if (accepted[i]->name == "plain") return static_cast<int>(i);
  }
  return -1;
}

TEST_CASE("a chooser decides for one call and is asked once for equal groups", "[compile]") {
  int asked = 0;
  const Program program = compiled(two_products, {.chooser = {plain_when_narrow, &asked}});
  CHECK(steps_of(program) == "matmul+relu/f32/tiled matmul+relu/f32/tiled matmul+relu/f32/tiled matmul/f32/plain");
  CHECK(asked == 3);  // the first product reads an input, the second scratch, and the third is its twin
}

TEST_CASE("choices win over a chooser", "[compile]") {
  const Choice choices[] = {{"matmul", "tiled"}};
  const Program program = compiled(two_products, {.choices = choices, .chooser = {plain_when_narrow, nullptr}});
  CHECK(steps_of(program).find("plain") == std::string::npos);
}

TEST_CASE("an answer that is no index means the first", "[compile]") {
  for (const int answer : {-7, 99}) {
    int word = answer;
    const Chooser wrong = {[](void* context, const Call&, std::span<const Variant* const>, ParameterValues&) {
                             return *static_cast<int*>(context);
                           },
                           &word};
    CHECK(steps_of(compiled(two_products, {.chooser = wrong})) == steps_of(compiled(two_products)));
  }
}

constexpr bool chosen_by_the_compiler() {
  Builder g;
  g.output("y", matmul(g.input("a", f32, {2, 3}), g.input("b", f32, {3, 4})));
  const Program program = compile(g.graph(), kPortable, {.chooser = {plain_when_narrow, nullptr}});
  return view_of(program, kPortable).name(program.steps[0].label) == "matmul/f32/plain";
}
static_assert(chosen_by_the_compiler());

TEST_CASE("a call is one line with all that decides its kernels", "[compile]") {
  std::vector<std::string> lines;
  const Chooser record = {[](void* context, const Call& call, std::span<const Variant* const>, ParameterValues&) {
                            Text line;
                            append_call(line, call);
                            static_cast<std::vector<std::string>*>(context)->emplace_back(line.view());
                            return -1;
                          },
                          &lines};
  compiled(
      [](Builder& g) {
        const Tensor a = g.input("a", f16, {8, 16}), b = g.input("b", f16, {4, 16});
        g.output("t", matmul(a, transpose(b, {1, 0})));
        g.output("s", matmul(slice(a, {4, 0}, {8, 16}), g.input("c", f32, {16, g.extent("n", 9)})));
        g.output("e", transpose(relu(matmul(a, g.input("d", f16, {16, 4})) + 1.0f), {1, 0}));
      },
      {.chooser = record});
  CHECK(lines == std::vector<std::string>{"matmul f16[8,16] f16[16,4]:(1,16) -> f16[8,4]",
                                          "matmul f16[4,16]:(16,1)+64 f32[16,<=9] -> f16[4,<=9]",
                                          "matmul f16[8,16] f16[16,4] -> f16[8,4] +transpose +relu +add"});
}

}  // namespace
}  // namespace rlxgpu::core::testing

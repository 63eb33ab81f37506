// The program that the compiler makes is the one that is made at run time, and always the same.
#include "rlxgpu/compile/freeze.h"

#include <string>

#include "catch2/catch_test_macros.hpp"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/movement/movement.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/wgsl/render.h"
#include "tests/support/compiled.h"

namespace rlxgpu::testing {
namespace {

struct Attention {
  static constexpr void build(Builder& g) {
    const Dim n = g.extent("n", 16);
    const Tensor x = g.input("x", f16, {n, 32}), w = g.param("w", f16, {32, 32});
    const Tensor scale = g.scalar("scale", f32);
    const Tensor q = matmul(x, w), scores = matmul(q, transpose(x));
    const Tensor p = softmax(cast(scores, f32) * scale);
    g.output("y", matmul(p, x) + mean(cast(x, f32), 1, {.keep_dims = true}));
    g.output("best", reduce_max(p, 1));
  }
};

inline constexpr Target kSoftware = [] {
  Target target;
  target.adapter_class = AdapterClass::software;
  target.subgroups = true, target.subgroup_min = target.subgroup_max = 8;
  return target;
}();

// Everything that is executed: steps with their tensors and grids, and every kernel's text.
std::string text_of(const ProgramView& program) {
  Text text = listing(program);
  for (size_t k = 0; k < program.kernels.specs.size(); ++k) render_kernel(program.kernels, static_cast<int>(k), text);
  for (const TensorDecl& tensor : program.tensors)
    text << tensor.buffer << ' ' << tensor.offset << ' ' << tensor.bytes << '\n';
  for (const BufferDecl& buffer : program.buffers) text << static_cast<int>(buffer.role) << ' ' << buffer.bytes << '\n';
  for (const uint32_t word : program.words) text << word << '\n';
  return std::string(text.view());
}

template <const Target& kTarget>
void check_same() {
  constexpr const ProgramView& frozen = Frozen<Attention, kTarget>::view;
  STATIC_REQUIRE(frozen.steps.size() > 2);
  STATIC_REQUIRE(check(frozen).empty());
  const Program program = compiled(Attention::build, {}, kTarget);
  CHECK(text_of(frozen) == text_of(view_of(program, kTarget)));
}

TEST_CASE("a frozen program is the one made at run time", "[compile]") {
  check_same<kPortable>();
  check_same<kSoftware>();
}

TEST_CASE("a kernel's text is a constant", "[compile]") {
  std::string constant;
  KernelText<Attention, kPortable, 0>::append_to(constant);
  Text text;
  render_kernel(Frozen<Attention, kPortable>::view.kernels, 0, text);
  CHECK(constant == std::string(text.view()));
}

TEST_CASE("the same graph gives the same program", "[compile]") {
  const Program once = compiled(Attention::build), again = compiled(Attention::build);
  CHECK(text_of(view_of(once, kPortable)) == text_of(view_of(again, kPortable)));
}

}  // namespace
}  // namespace rlxgpu::testing

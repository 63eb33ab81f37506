// A group by itself has the kernels that it has in its graph.
#include "rlxgpu/compile/extract.h"

#include <set>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::core::testing {
namespace {

std::multiset<std::string> kernels_of(const Program& program) {
  std::multiset<std::string> texts;
  const ProgramView view = view_of(program, kPortable);
  for (const Step& step : view.steps) {
    Text text;
    render_kernel(view.kernels, step.kernel, text);
    texts.insert(std::string(view.name(step.label)) + "\n" + std::string(text.view()));
  }
  return texts;
}

// Views, broadcasts, constants, a run-time number and a run-time extent, maps before and after kernels, two users of a
// value.
void attention(Builder& g) {
  const Dim rows = g.extent("rows", 24);
  const Tensor x = g.input("x", f16, {rows, 32}), scale = g.scalar("scale", f32);
  const Tensor q = matmul(x, g.param("wq", f16, {32, 32})), k = matmul(x, g.param("wk", f16, {32, 32}));
  const Tensor scores = cast(matmul(q, transpose(k, {1, 0})), f32) * scale;
  const Tensor weights = softmax(scores + 0.5f, -1);
  const Tensor y = gelu(matmul(cast(weights, f16), x) + g.param("b", f16, {32}));
  g.output("y", y + x);
  const uint32_t words[] = {0x3f800000u, 0x40000000u, 0x40400000u, 0x40800000u};
  const Tensor w = g.param("w", f32, {32, 4});
  g.output("norm", sqrt(sum(y * y, {-1}) + 1e-3));
  const Tensor both = matmul(x, g.param("w2", f16, {32, 64})) + 1.0f;  // written in two layouts
  g.output("left", transpose(slice(both, {0, 0}, {kEnd, 32}), {1, 0}));
  g.output("right", relu(slice(both, {0, 32}, {kEnd, 64})));
  g.output("part", matmul(slice(w, {4, 0}, {8, 4}), g.constant(f32, {4}, words)));
}

TEST_CASE("groups have the same kernels alone and together", "[compile]") {
  Builder g;
  attention(g);
  INFO(g.graph().error.view());
  REQUIRE(g.ok());
  for (const bool fused : {true, false}) {
    CAPTURE(fused);
    const Graph simple = simplify(g.graph());
    const FuseOptions options = {.fuse = fused};
    const Fusion fusion = fuse(simple, kPortable, options);
    std::multiset<std::string> alone;
    int groups = 0;
    for (size_t n = 0; n < simple.nodes.size(); ++n) {
      if (!fusion.root[n]) continue;
      ++groups;
      const Program program = compile(extract_group(simple, fusion, static_cast<int32_t>(n)), kPortable,
                                      {.fuse = options, .simplify = false, .check = true});
      INFO(program.error.view());
      REQUIRE(program.error.empty());
      alone.merge(kernels_of(program));
    }
    CHECK(groups > 6);
    const Program together = compile(g.graph(), kPortable, {.fuse = options, .check = true});
    REQUIRE(together.error.empty());
    CHECK(alone == kernels_of(together));
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing

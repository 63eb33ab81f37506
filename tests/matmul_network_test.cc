// Products as networks have them: 33 to 100 rows, places of an image as columns, and bias, residual and activation
// behind a reshape. Sizes are baked and free, and the driver is as users have it: lavapipe's optimiser has lost a bias
// here that was there without it (docs/drivers.md).
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

struct Layer {
  int64_t channels, products, height, width;
  std::string_view bias;  // which axes it has: "row", "column" or "element"; or "residual": a row and what follows
};

// A 1 x 1 convolution, as loaders write it.
void pointwise(Builder& g, const Layer& layer) {
  const auto [m, k, height, width, bias] = layer;
  const Tensor a = g.param("a", f32, {m, k}), b = g.input("b", f32, {1, k, height, width});
  const Tensor y = reshape(matmul(a, reshape(b, {1, k, height * width})), {1, m, height, width});
  const bool residual = bias == "residual";
  const Shape shape = bias == "row" || residual ? Shape{m, 1, 1}
                      : bias == "column"        ? Shape{height, width}
                                                : Shape{1, m, height, width};
  const Tensor sum = y + g.param("c", f32, shape);
  if (!residual) return g.output("y", sum);
  g.output("y", relu(sum * g.param("s", f32, shape)) + g.input("r", f32, {1, m, height, width}));
}

TEST_CASE("products of networks, with what follows them", "[matmul][gpu]") {
  const Device device = device_or_skip();
  const Layer layer =
      GENERATE(Layer{42, 192, 14, 14, "row"}, Layer{40, 192, 14, 14, "row"}, Layer{42, 96, 28, 28, "row"},
               Layer{42, 192, 14, 14, "column"}, Layer{42, 192, 14, 14, "element"}, Layer{42, 192, 7, 7, "row"},
               Layer{57, 64, 13, 15, "row"}, Layer{57, 64, 13, 15, "column"}, Layer{44, 192, 13, 15, "row"},
               Layer{44, 192, 13, 17, "row"}, Layer{48, 192, 13, 17, "row"}, Layer{49, 192, 13, 17, "residual"});
  const Sizes sizes = GENERATE(Sizes::baked, Sizes::free);
  CAPTURE(layer.channels, layer.products, layer.height, layer.width, layer.bias, sizes == Sizes::baked);
  DynamicGraph graph;
  pointwise(*graph, layer);
  REQUIRE(graph.graph().ok());
  check_agrees_on(device, device.target(), graph,
                  {.bound = dot_bound(f32, layer.products + 3, layer.bias == "residual" ? 8.0 : 4.0)}, sizes);
}

}  // namespace
}  // namespace rlxgpu::core::testing

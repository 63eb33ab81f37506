// Layers written out, recognised, on the device: against the references of the ops that were written.
#include "catch2/catch_test_macros.hpp"
#include "docs/examples/encoder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/recognised.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

// Norms of rows and means of products between them, sums of some tens of terms of size one.
constexpr Bound kBound = {2e-4, 2e-4};

TEST_CASE("an encoder written out gives what it says", "[recognise][gpu]") {
  const Device device = device_or_skip();
  check_agrees(device,
               [](Builder& g) {
                 examples::Encoder<examples::EncoderSize{.layers = 1, .rows = 9, .width = 12, .heads = 3}>::build(g);
               },
               {.bound = kBound});
}

TEST_CASE("a decomposed layer with a mask, as exporters write it, gives what it says", "[recognise][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    const int64_t rows = 10, width = 12, heads = 3, head = 4;
    const Tensor x = g.input("x", f32, {1, rows, width});
    const auto linear = [&](Tensor in, const char* w, const char* b, int64_t n) {
      return matmul(in, g.param(w, f32, {in.shape()[2], n})) * 0.3 + g.param(b, f32, {n});
    };
    const auto split = [&](Tensor y) { return transpose(reshape(y, {1, rows, heads, head}), {0, 2, 1, 3}); };
    const auto norm = [&](Tensor in, const char* w, const char* b) {
      const Tensor centred = in - mean(in, -1, {.keep_dims = true});
      const Tensor variance = mean(pow(centred, g.literal(2, f32)), -1, {.keep_dims = true});
      return centred / sqrt(variance + 1e-5) * g.param(w, f32, {width}) + g.param(b, f32, {width});
    };
    const Tensor q = split(linear(x, "wq", "bq", width)), k = split(linear(x, "wk", "bk", width)),
                 v = split(linear(x, "wv", "bv", width));
    const Tensor hidden = (1.0 - cast(g.input("mask", boolean, {1, 1, 1, rows}), f32)) * -10000.0;
    const Tensor scores = matmul(q, transpose(k)) / 2.0 + hidden,
                 e = exp(scores - reduce_max(scores, -1, {.keep_dims = true}));
    const Tensor mixed = matmul(e / sum(e, -1, {.keep_dims = true}), v);
    const Tensor first =
        norm(x + linear(reshape(transpose(mixed, {0, 2, 1, 3}), {1, rows, width}), "wo", "bo", width), "g1", "s1");
    const Tensor up = linear(first, "w1", "b1", 20);
    g.output("y", norm(first + linear(up * 0.5 * (1 + erf(up / 1.4142135)), "w2", "b2", width), "g2", "s2"));
  };
  check_agrees(device, build, {.bound = kBound});
  Builder g;
  build(g);
  CHECK(compiled(recognised(g.graph(), kPortable)).steps.size() <= 9);
}

TEST_CASE("dispatches of an encoder that is written out", "[recognise]") {
  const auto steps = [](const Target& target) {
    Builder g;
    examples::Encoder<examples::EncoderSize{.layers = 2, .rows = 32, .width = 64, .heads = 4}>::build(g);
    return compiled(recognised(g.graph(), target), {}, target).steps.size();
  };
  CHECK(steps(kPortable) <= 2 * 7);
}

}  // namespace
}  // namespace rlxgpu::core::testing

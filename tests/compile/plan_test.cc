// Slots are used again, and never where it would hurt: every program here passes check().
#include <algorithm>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/support/compiled.h"

namespace rlxgpu::core::testing {
namespace {

// Something like an encoder: attention over one head, then two products, with a residual around each.
auto encoder(int layers) {
  return [layers](Builder& g) {
    Tensor x = g.input("x", f32, {32, 64});
    for (int layer = 0; layer < layers; ++layer) {
      const auto weight = [&](std::string_view part, const Shape& shape) {
        Text name;
        name << part << layer;
        return g.param(name.view(), f32, shape);
      };
      const Tensor q = matmul(x, weight("q", {64, 64})), k = matmul(x, weight("k", {64, 64})),
                   v = matmul(x, weight("v", {64, 64}));
      x = x + matmul(softmax(matmul(q, transpose(k)) * 0.125), v);
      x = x + matmul(gelu(matmul(x, weight("up", {64, 256}))), weight("down", {256, 64}));
    }
    g.output("y", x);
  };
}

uint64_t scratch_bytes(const Program& program) {
  uint64_t bytes = 0;
  for (const BufferDecl& buffer : program.buffers) bytes += buffer.role == BufferRole::scratch ? buffer.bytes : 0;
  return bytes;
}

TEST_CASE("memory does not grow with depth", "[compile]") {
  const Program one = compiled(encoder(2)), many = compiled(encoder(12));
  CHECK(many.steps.size() == 12 * one.steps.size() / 2);
  CHECK(slots_of(many) == slots_of(one));
  CHECK(slots_of(many) <= 5);
  CHECK(scratch_bytes(many) == scratch_bytes(one));
  CHECK(many.kernels.specs.size() == one.kernels.specs.size());  // equal layers share their kernels
}

TEST_CASE("a chain needs two slots", "[compile]") {
  const Program program = compiled([](Builder& g) {
    Tensor x = g.input("x", f32, {16, 16});
    for (int i = 0; i < 12; ++i) x = softmax(transpose(x));
    g.output("y", x);
  });
  CHECK(slots_of(program) == 2);
}

TEST_CASE("a slot grows to its largest tenant", "[compile]") {
  const Program program = compiled([](Builder& g) {
    Tensor x = g.input("x", f32, {4, 4});
    x = softmax(x);
    x = softmax(matmul(x, g.param("wide", f32, {4, 100})));
    x = softmax(matmul(x, g.param("narrow", f32, {100, 4})));
    g.output("y", x);
  });
  CHECK(slots_of(program) <= 3);
  for (const BufferDecl& buffer : program.buffers) CHECK((buffer.bytes >= 16 && buffer.bytes % 16 == 0));
}

TEST_CASE("constants share one buffer, each at an aligned place", "[compile]") {
  const std::vector<uint32_t> words = {1, 2, 3};
  const Program program = compiled([&](Builder& g) {
    const Tensor a = g.constant(u32, {3}, words), b = g.constant(u32, {1, 3}, words);
    g.output("y", a + b + g.input("x", u32, {3}));
  });
  int buffers = 0;
  for (const BufferDecl& buffer : program.buffers) buffers += buffer.role == BufferRole::constant;
  CHECK(buffers == 1);
  CHECK(program.words.size() == 256 / 4 + 3);
}

TEST_CASE("a tensor larger than a binding is an error that says so", "[compile]") {
  Builder g;
  const Tensor x = g.input("x", f16, {1 << 26});
  constexpr int kLine = __LINE__ + 1;
  g.output("y", cast(x, f32));
  const auto error_of_plan = [](const Builder& builder) {
    const std::string error(compile(builder.graph(), kPortable).error.view());
    return error.substr(std::min(error.find("plan_test.cc:"), error.size()));
  };
  const std::string size =
      "f32[67108864] takes 268435456 bytes; one binding of this target holds at most 134217728: "
      "make it in parts, of a type with fewer bytes, or run it on a device with larger bindings";
  CHECK(error_of_plan(g) == "plan_test.cc:" + std::to_string(kLine) + ": output \"y\", " + size);
  Builder input;
  input.output("y", sum(input.input("x", f32, {1 << 26}), {0}));
  CHECK(error_of_plan(input) == "plan_test.cc:" + std::to_string(__LINE__ - 1) + ": input \"x\", " + size);
  Builder between;
  between.output(
      "y", sum(softmax(between.input("x", f32, {1 << 13, 1}) + between.param("w", f32, {1, 1 << 13}), 1), {0, 1}));
  const std::string step = error_of_plan(between);
  CAPTURE(step);
  CHECK(step.starts_with("plan_test.cc:" + std::to_string(__LINE__ - 3) + ": the result of step 0 ("));
  CHECK(step.ends_with(size.substr(size.find("] takes"))));
}

}  // namespace
}  // namespace rlxgpu::core::testing

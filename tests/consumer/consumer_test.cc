// A program outside rlxgpu, with a graph and two ops of its own. It uses nothing that is not public.
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "moving_average.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/rlxgpu.h"
#include "swish.h"

namespace consumer {
namespace {

struct Smoother {
  static constexpr void build(rlxgpu::Builder& g) {
    const Tensor x = g.input("x", rlxgpu::f32, {3, 50});
    const Tensor bias = g.param("bias", rlxgpu::f32, {50});
    g.output("y", swish(moving_average(x * 2.0f, 4) + bias, 1.5f));
  }
};

// The product joins the user's kernel before it, the sum and the user's map after it: one dispatch.
static_assert(rlxgpu::Executable<Smoother>::program.steps.size() == 1);

std::vector<double> numbers(int count, double scale) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(scale * ((i * 37) % 101 - 50));
  return result;
}

template <size_t kCount>
std::array<float, kCount> floats(const std::vector<double>& values) {
  std::array<float, kCount> result;
  for (size_t i = 0; i < kCount; ++i) result[i] = static_cast<float>(values[i]);
  return result;
}

void check_close(const std::vector<float>& found, const rlxgpu::core::reference::Array& expected) {
  REQUIRE(found.size() == expected.data.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, found[i], expected.data[i]);
    // Four sums, one division, one exp: a few units in the last place of what was summed, at most 4 here.
    CHECK(std::abs(found[i] - expected.data[i]) <= 16 * 4 * 0x1p-24);
  }
}

TEST_CASE("a graph with the user's own ops agrees with its reference", "[gpu]") {
  const std::vector<double> x = numbers(150, 0.01), bias = numbers(50, 0.02);
  rlxgpu::Builder builder;
  Smoother::build(builder);
  const auto expected =
      rlxgpu::core::reference::run(builder.graph(), {{"x", rlxgpu::core::reference::array_of(rlxgpu::f32, {3, 50}, x)},
                                               {"bias", rlxgpu::core::reference::array_of(rlxgpu::f32, {50}, bias)}});
  auto device = rlxgpu::open_device();
  INFO(device.status().ToString());
  REQUIRE(device.ok());

  rlxgpu::Executable<Smoother> smoother(*device);
  smoother.set<"x">(floats<150>(x));
  smoother.set<"bias">(floats<50>(bias));
  smoother.run();
  auto y = smoother.get<"y">();
  INFO(y.status().ToString());
  REQUIRE(y.ok());
  check_close(*y, expected.at("y"));
}

TEST_CASE("the user's ops work in graphs built at run time, errors included", "[gpu]") {
  rlxgpu::DynamicGraph right;
  const Tensor x = right->input("x", rlxgpu::f32, {5, 7});
  right->output("y", moving_average(swish(x, 2.0f), 3));
  auto device = rlxgpu::open_device();
  REQUIRE(device.ok());
  auto executable = rlxgpu::Executable<rlxgpu::DynamicGraph>::create(*device, right);
  INFO(executable.status().ToString());
  REQUIRE(executable.ok());
  const std::vector<double> values = numbers(35, 0.03);
  CHECK(executable->set("x", floats<35>(values)).ok());
  executable->run();
  auto y = executable->get<float>("y");
  REQUIRE(y.ok());
  check_close(*y, rlxgpu::core::reference::run(right.graph(),
                                               {{"x", rlxgpu::core::reference::array_of(rlxgpu::f32, {5, 7}, values)}})
                      .at("y"));

  rlxgpu::DynamicGraph wrong;
  moving_average(wrong->input("x", rlxgpu::f32, {5, 7}), 0);
  const std::string error(wrong.graph().error.view());
  INFO(error);
  CHECK(error.ends_with("moving_average([5,7]): a window of 0 elements"));
  CHECK(error.find("consumer_test.cc:") != std::string::npos);
}

}  // namespace
}  // namespace consumer

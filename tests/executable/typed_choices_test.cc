// Executables whose kernels are chosen by template arguments give what the references give, planned by the compiler or
// for the device.
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/reference/interpreter.h"
#include "tests/executable/kernels_chapter.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

// Runs it with made-up elements, given by name, and compares "y".
template <typename E, typename G, FixedString... kNames>
void check_typed(const Device& device, const Bound& bound) {
  DynamicGraph graph;
  G::build(*graph);
  const reference::Arrays inputs = inputs_of(graph.graph(), {.bound = bound});
  const reference::Arrays expected = reference::run(graph.graph(), inputs);
  E executable(device);
  const auto set = [&]<FixedString kName>() {
    constexpr DType kDType = find_tensor<G>(kName.view()).type.dtype;
    using T = typename internal::ElementOf<kDType>::Type;
    const std::vector<uint32_t> words = reference::pack(inputs.at(std::string(kName.view())));
    const auto* const elements = reinterpret_cast<const T*>(words.data());
    executable.template set<kName>(
        std::vector<T>(elements, elements + find_tensor<G>(kName.view()).type.shape.count()));
  };
  (set.template operator()<kNames>(), ...);
  executable.run();
  const auto y = executable.template get<"y">();
  REQUIRE(y.status().ToString() == "OK");
  std::vector<double> actual;
  for (const auto& element : *y) {
    if constexpr (requires { element.re; }) {
      actual.push_back(element.re), actual.push_back(element.im);
    } else {
      actual.push_back(static_cast<double>(element));
    }
  }
  CHECK_THAT(actual, CloseTo(expected.at("y").data, bound));
}

TEST_CASE("products with kernels that a template argument chooses", "[executable][gpu]") {
  const Device device = device_or_skip();
  const Bound bound = dot_bound(f32, 64, 4);
  check_typed<chapter::Plain, chapter::Product, "a", "b">(device, bound);
  check_typed<chapter::Tiled, chapter::Product, "a", "b">(device, bound);
  using OnDevice = Executable<chapter::Product, kThisDevice, choose<"matmul/tiled{rows_each=1}">>;
  check_typed<OnDevice, chapter::Product, "a", "b">(device, bound);
  OnDevice executable(device);
  executable.set<"a">(std::vector<float>(96 * 64, 1.0f));
  executable.set<"b">(std::vector<float>(64 * 80, 1.0f));
  const auto profile = executable.engine().profile();
  REQUIRE(profile.ok());
  CHECK(profile->at(0).label.ends_with("/tiled"));
}

TEST_CASE("attention and transforms with kernels that a template argument chooses", "[executable][gpu]") {
  const Device device = device_or_skip();
  check_typed<chapter::FewQueries, chapter::Attend, "q", "k", "v">(device, dot_bound(f32, 40 + 16 * 16, 4));
  check_typed<chapter::ShortRadix, chapter::Transform, "x">(device, {0x1p-23 * 6 * 4 * 8, 0});
}

TEST_CASE("reports of an executable's kernels", "[executable]") {
  std::vector<std::string> report;
  for_each_step<chapter::Tiled>([&]<typename Step>() { report.emplace_back(Step::Kernel::spec); });
  CHECK(report == std::vector<std::string>{"matmul/tiled{rows_each=2,cols_each=4,tile_k=8}"});
}

}  // namespace
}  // namespace rlxgpu::core::testing

// Steps as types: what the compiler knows of a program's kernels, with choices that are template arguments.
#include "rlxgpu/compile/typed_steps.h"

#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/matmul/matmul.h"

namespace rlxgpu::core::testing {
namespace {

struct Layer {
  static constexpr void build(Builder& g) {
    const Tensor q = g.input("q", f16, {1, 2, 64, 32}), k = g.input("k", f16, {1, 2, 64, 32});
    const Tensor y = attention(q, k, g.input("v", f16, {1, 2, 64, 32}));
    g.output("y", matmul(y, g.param("w", f16, {32, 32})) + 1.0f);
  }
};
struct Transform {
  static constexpr void build(Builder& g) { g.output("y", fft(g.input("x", c64, {4, 64}))); }
};

inline constexpr Target kUnits = [] {
  Target target;
  target.shader_f16 = target.subgroups = true;
  target.subgroup_min = target.subgroup_max = 32;
  target.matrix[0] = {f16, f32, 16, 16, 16};
  target.matrix_count = 1;
  return target;
}();

template <typename G, const auto& kPlan, auto... kChoices>
struct Planned {  // as Executable does it, without a device
  using Steps = StepTuple<Frozen<G, kPlanWith<kPlan, kChoices...>>>;
};

using Chosen =
    Planned<Layer, kUnits, choose<"attention/streaming{queries=4}">, choose<"matmul/subgroup_matrix{each_m=2}">>;
static_assert(std::tuple_size_v<Chosen::Steps> == 2);
using Attend = std::tuple_element_t<0, Chosen::Steps>;
static_assert(Attend::Kernel::op == "attention" && Attend::Kernel::variant == "streaming");
static_assert(Attend::Kernel::parameter<"queries"> == 4 && Attend::Kernel::parameter<"lanes"> == 64);
static_assert(Attend::Kernel::workgroup.count() == 64 && Attend::grid[0] == 2 * 64 / 4);
static_assert(Attend::operand<0>::dtype == f16 && !Attend::operand<0>::writes);
static_assert(Attend::flops == 2.0 * 2 * 64 * 64 * (32 + 32));
using Product = std::tuple_element_t<1, Chosen::Steps>;
static_assert(Product::Kernel::spec.starts_with("matmul/subgroup_matrix{frag_m=16,"));
static_assert(Product::Kernel::parameter<"each_m"> == 2 && Product::Kernel::parameter<"each_n"> == 4);
static_assert(Product::Kernel::workgroup.count() == 4 * 32);
static_assert(Product::Kernel::wgsl.find("subgroupMatrixMultiplyAccumulate") != std::string_view::npos);
static_assert(Product::Kernel::bindings.back().writes);

using Short = Planned<Transform, kPortable, choose<"fft/workgroup{radix=4}">>;
static_assert(std::tuple_element_t<0, Short::Steps>::Kernel::parameter<"radix"> == 4);

static_assert(workgroup_size("@compute @workgroup_size(8, 4u) fn").count() == 32);
static_assert(workgroup_size("const kA = 3u; const kB = (kA + 1u) * 2u;  // eight\n@workgroup_size(kB)").x == 8);
static_assert(!workgroup_size("const kA = max(1u, 2u); @workgroup_size(kA)").found);
static_assert(!workgroup_size("@workgroup_size(kMissing)").found && !workgroup_size("fn main()").found);
static_assert(!workgroup_size("const kA = kA; @workgroup_size(kA)").found);

TEST_CASE("a loop over typed steps sees what the program lists", "[compile]") {
  std::vector<std::string> specs;
  for_each_step<Chosen>([&]<typename Step>() { specs.emplace_back(Step::Kernel::spec); });
  CHECK(specs == std::vector<std::string>{"attention/streaming{queries=4,keys=1,lanes=64}",
                                          "matmul/subgroup_matrix{frag_m=16,frag_n=16,frag_k=16,subgroup=32,subs_m=2,"
                                          "subs_n=2,each_m=2,each_n=4,tile_k=16}"});
}

TEST_CASE("a choice fits what names its op, variant and values", "[compile]") {
  const std::string_view spec = "matmul/tiled{rows_each=4,cols_each=2,tile_k=16}";
  CHECK(fits(spec, {"matmul", "tiled"}));
  CHECK(fits(spec, {"matmul", "tiled{cols_each=2}"}));
  CHECK(fits(spec, {"matmul", "tiled{tile_k=16,rows_each=4}"}));
  CHECK_FALSE(fits(spec, {"matmul", "tiled{tile_k=1}"}));
  CHECK_FALSE(fits(spec, {"matmul", "tiled_8x8"}));
  CHECK_FALSE(fits(spec, {"grouped_matmul", "tiled"}));
}

std::string error_with(const Choice& choice) {
  const PlanWith<1> plan = {kPortable, {choice}};
  return std::string(internal::build_program<Transform>(plan).error.view());
}

TEST_CASE("what is chosen and taken by no call is an error", "[compile]") {
  CHECK(error_with(choose<"fft/workgroup">.choice()) == "");
  CHECK(error_with(choose<"fft/wrong">.choice()) ==
        "fft/wrong is chosen, but no call of the graph takes it on this target");
  CHECK(error_with(choose<"fft/workgroup{radix=3}">.choice()) == "fft/workgroup: radix is 3; it may be 4, 8, 16");
}

}  // namespace
}  // namespace rlxgpu::core::testing

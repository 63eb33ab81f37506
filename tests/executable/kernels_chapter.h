// The code that docs/kernels.md quotes: a product, grown from what is chosen by default to a kernel of one's own
// choice.
#ifndef RLXGPU_TESTS_EXECUTABLE_KERNELS_CHAPTER_H_
#define RLXGPU_TESTS_EXECUTABLE_KERNELS_CHAPTER_H_

#include <string_view>
#include <tuple>

#include "rlxgpu/graph/targets.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/rlxgpu.h"

namespace chapter {

using namespace rlxgpu;  // NOLINT: as a user writes

struct Product {
  static constexpr void build(Builder& g) {
    const Tensor a = g.input("a", f32, {96, 64});
    g.output("y", matmul(a, g.param("b", f32, {64, 80})));
  }
};

using Plain = Executable<Product, kPortable, choose<"matmul/plain">>;
using Tiled = Executable<Product, kPortable, choose<"matmul/tiled{rows_each=2,tile_k=8}">>;

using Multiply = std::tuple_element_t<0, Tiled::Steps>;
static_assert(Multiply::Kernel::op == "matmul" && Multiply::Kernel::variant == "tiled");
static_assert(Multiply::Kernel::parameter<"rows_each"> == 2);
static_assert(Multiply::Kernel::parameter<"cols_each"> == 4);  // the default for this call
static_assert(Multiply::Kernel::workgroup.count() == 256);
static_assert(Multiply::grid[0] == 3 * 2);  // blocks of 32 rows and 64 columns
static_assert(Multiply::flops == 2.0 * 96 * 80 * 64);

struct HalfProduct {
  static constexpr void build(Builder& g) {
    const Tensor a = g.input("a", f16, {96, 64});
    g.output("y", matmul(a, g.param("b", f16, {64, 80})));
  }
};

inline constexpr Target kUnits = find_target("rdna3")->target;
using OnUnits = Executable<HalfProduct, kUnits, choose<"matmul/subgroup_matrix{each_m=2}">>;
using Accumulate = std::tuple_element_t<0, OnUnits::Steps>;
static_assert(Accumulate::Kernel::wgsl.find("subgroupMatrixMultiplyAccumulate") != std::string_view::npos);

struct Attend {
  static constexpr void build(Builder& g) {
    const Tensor q = g.input("q", f32, {1, 2, 24, 16});
    g.output("y", attention(q, g.input("k", f32, {1, 2, 40, 16}), g.input("v", f32, {1, 2, 40, 16})));
  }
};
struct Transform {
  static constexpr void build(Builder& g) { g.output("y", fft(g.input("x", c64, {3, 64}))); }
};
using FewQueries = Executable<Attend, kPortable, choose<"attention/streaming{queries=4}">>;
using ShortRadix = Executable<Transform, kPortable, choose<"fft/workgroup{radix=4}">>;

}  // namespace chapter

#endif  // RLXGPU_TESTS_EXECUTABLE_KERNELS_CHAPTER_H_

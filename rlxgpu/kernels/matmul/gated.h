// gated_matmul(x, gate, up): act(x gate) (x up), both products in one dispatch.
//
//   Tensor hidden = gated_matmul(rms_norm(x), w_gate, w_up, Activation::silu);   // what swiglu makes of two products
//
// x: (..., m, k)   gate, up: (k, n)   result: (..., m, n). Floats, summed in f32; the result has x's type. What follows
// joins the dispatch. A few rows with a norm before them are better off with normed_linear.
#ifndef RLXGPU_KERNELS_MATMUL_GATED_H_
#define RLXGPU_KERNELS_MATMUL_GATED_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/activation_slot.h"
#include "rlxgpu/kernels/matmul/layout.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/matmul/packed.h"
#include "rlxgpu/kernels/matmul/tiled_8x8.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

constexpr void gated_matmul_infer(Infer& infer) {
  const Shape &x = infer.shape(0), &gate = infer.shape(1);
  for (int k = 0; k < 3; ++k) {
    if (!is_float(infer.dtype(k))) return infer.fail("needs floats, not ", name_of(infer.dtype(k)));
  }
  if (x.rank() < 2 || gate.rank() != 2) return infer.fail("needs rows and two matrices");
  if (!(infer.shape(2) == gate)) return infer.fail("the two matrices differ");
  if (!(x.dim(x.rank() - 1) == gate.dim(0)) || gate.dynamic()) {
    return infer.fail("rows of ", x[x.rank() - 1], " for matrices of ", gate[0]);
  }
  Shape y = x;
  y.set(x.rank() - 1, gate.dim(1));
  infer.result(infer.dtype(0), y);
}

inline void gated_matmul_reference(reference::Call& call) {
  const reference::Array &x = call.operand(0), &gate = call.operand(1), &up = call.operand(2);
  const int64_t k = gate.shape[0], n = gate.shape[1];
  for (int64_t row = 0; row < (n == 0 ? 0 : call.result().count() / n); ++row) {
    std::vector<double> sums(static_cast<size_t>(n)), others(static_cast<size_t>(n));
    for (int64_t j = 0; j < k; ++j) {
      const double v = x[row * k + j];
      for (int64_t col = 0; col < n; ++col) {
        sums[static_cast<size_t>(col)] += v * gate[j * n + col];
        others[static_cast<size_t>(col)] += v * up[j * n + col];
      }
    }
    for (int64_t col = 0; col < n; ++col)
      call.result()[row * n + col] = activated(static_cast<Activation>(call.attr(0)), sums[static_cast<size_t>(col)]) *
                                     others[static_cast<size_t>(col)];
  }
}

namespace gated_internal {

constexpr Activation activation_of(const Call& call) { return static_cast<Activation>(call.attr(0)); }

// The product with one of the two matrices.
constexpr MatmulLayout layout_of(const Call& call, int matrix, const View& x, const View& w) {
  Call product = call;
  product.operand_types[1] = &call.operand(matrix);
  return matmul_layout(product, x, w);
}
constexpr MatmulLayout sizes_of(const Call& call) {
  return layout_of(call, 1, {0, dense_strides(call.operand(0).shape)}, {0, dense_strides(call.operand(1).shape)});
}

constexpr std::string_view vector_gate(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "fn gate(s : vec4f, up : vec4f) -> vec4f {\n"
             "  return vec4f(rlx_gelu(s.x), rlx_gelu(s.y), rlx_gelu(s.z), rlx_gelu(s.w)) * up;\n}";
    case Activation::gelu_tanh:
      return "fn gate(s : vec4f, up : vec4f) -> vec4f {\n"
             "  let t = s * (-1.59576912f - 0.0713548163f * (s * s));\n"
             "  return s / (1.0f + vec4f(rlx_exp(t.x), rlx_exp(t.y), rlx_exp(t.z), rlx_exp(t.w))) * up;\n}";
    case Activation::silu:
      return "fn gate(s : vec4f, up : vec4f) -> vec4f {\n"
             "  return s / (1.0f + vec4f(rlx_exp(-s.x), rlx_exp(-s.y), rlx_exp(-s.z), rlx_exp(-s.w))) * up;\n}";
    default:
      return {};
  }
}
constexpr std::string_view gate_text(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "fn gate(sum : f32, up : f32) -> f32 { return rlx_gelu(sum) * up; }";
    case Activation::gelu_tanh:
      return "fn gate(sum : f32, up : f32) -> f32 {\n"
             "  return sum / (1.0f + rlx_exp(sum * (-1.59576912f - 0.0713548163f * (sum * sum)))) * up;\n}";
    case Activation::silu:
      return "fn gate(sum : f32, up : f32) -> f32 { return sum / (1.0f + rlx_exp(-sum)) * up; }";
    default:
      return "fn gate(sum : f32, up : f32) -> f32 { return sum * up; }";
  }
}

}  // namespace gated_internal

constexpr void gated_matmul_packed_emit(Emit& e) {
  const MatmulLayout layout = gated_internal::layout_of(e.call(), 1, e.view(0), e.view(1));
  const Activation activation = gated_internal::activation_of(e.call());
  packed::emit(e, layout, packed::tiling_of(layout, 1, e.parameter("rows")),
               {2, gated_internal::layout_of(e.call(), 2, e.view(0), e.view(2)),
                gated_internal::vector_gate(activation), act_functions(activation)});
}
// As of one product; half as many rows, each of which has two sums.
inline constexpr Parameter kGatedPackedParameters[] = {
    {"rows", 4, 32, 4, "rows of a workgroup; it has 32 columns of either product"},
    packed::kParameters[2],
};
constexpr bool gated_matmul_in_place(const Call& call, const Parameters& p) {
  const packed::Tiling tiling = packed::tiling_of(gated_internal::sizes_of(call), 1, p["rows"]);
  for (int matrix = 1; matrix < 3; ++matrix) {
    const MatmulLayout layout = gated_internal::layout_of(call, matrix, call.view(0), call.view(matrix));
    if (!packed::b_in_place(call.operand(matrix).dtype, layout, tiling)) return false;
  }
  return true;
}
constexpr void gated_matmul_packed_defaults(const Call& call, const Target&, Parameters& p) {
  const MatmulLayout layout = gated_internal::layout_of(call, 1, call.view(0), call.view(1));
  p.fill("rows", packed::rows_for(layout.m, 16));
  p.fill("copy_b", !gated_matmul_in_place(call, p) ||
                       packed::copies_b(call.operand(1).dtype, layout, packed::tiling_of(layout, 1, p["rows"])));
}
constexpr bool gated_matmul_packed_valid(const Call& call, const Target& target, const Parameters& p) {
  const packed::Tiling tiling = packed::tiling_of(gated_internal::sizes_of(call), 1, p["rows"]);
  const auto most = static_cast<int64_t>(target.max_binding_bytes / 16);
  return tiling.a_vectors() <= most && tiling.b_vectors() <= most &&
         (p["copy_b"] != 0 || gated_matmul_in_place(call, p));
}
constexpr bool gated_matmul_packed_accepts(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software && target.adapter_class != AdapterClass::unknown) return false;
  const MatmulLayout sizes = gated_internal::sizes_of(call);
  const packed::Tiling tiling = packed::tiling_of(sizes, 1, packed::rows_for(sizes.m, 16));
  const auto most = static_cast<int64_t>(target.max_binding_bytes / 16);
  return target.subgroups && tiling.a_vectors() <= most && tiling.b_vectors() <= most;
}
constexpr bool gated_matmul_packed_prefers(const Call& call, const Target& target) {
  return target.adapter_class == AdapterClass::software && gated_matmul_packed_accepts(call, target);
}

// Half as many rows for Intel's GPUs, whose registers do not hold the sums of two matrices (bmg: 89 in memory).
constexpr void gated_matmul_tiled_defaults(const Call& call, const Target& target, Parameters& p) {
  if (target.vendor == Vendor::intel) p.fill("rows_each", each_of(gated_internal::sizes_of(call).m, 16, 2));
  tiled_defaults(gated_internal::sizes_of(call), p);
}
constexpr bool gated_matmul_tiled_valid(const Call&, const Target& target, const Parameters& p) {
  return tiled_valid(target, 2, p);
}
constexpr void gated_matmul_tiled_emit(Emit& e) {
  const View view = e.view(2);
  const Activation activation = gated_internal::activation_of(e.call());
  const MatmulLayout layout = gated_internal::layout_of(e.call(), 1, e.view(0), e.view(1)),
                     up = gated_internal::layout_of(e.call(), 2, e.view(0), view);
  tiled_emit(e, layout, 2, up, [&](Dispatch& dispatch) {
    dispatch.place("u_begin", Shape(), {up.b_offset, {}})
        .buffer("u", e.operand(2))
        .slot("fetch",
              "fn fetch(matrix : u32, begin : u32, k : u32, n : u32) -> Acc {\n"
              "  if (matrix == 1u) { return u_load(u_begin(0u) + k * kURow + n * kUCol); }\n"
              "  return b_load(begin + k * kBRow + n * kBCol);\n}")
        .slot("gate", gated_internal::gate_text(activation));
    give_functions(dispatch, act_functions(activation));
  });
}

// Both matrices are read in one way.
constexpr bool gated_matmul_tiled_8x8_accepts(const Call& call, const Target& target) {
  if (!matmul_tiled_8x8_accepts(call, target) || call.operand_views[2] == nullptr) return false;
  const View &gate = *call.operand_views[1], &up = *call.operand_views[2];
  return gate.strides[0] == up.strides[0] && gate.strides[1] == up.strides[1] && up.offset % 4 == gate.offset % 4;
}
constexpr bool gated_matmul_tiled_8x8_prefers(const Call& call, const Target& target) {
  return matmul_tiled_8x8_prefers(call, target) && gated_matmul_tiled_8x8_accepts(call, target);
}
constexpr void gated_matmul_tiled_8x8_defaults(const Call& call, const Target&, Parameters& p) {
  tiled_8x8::fill_defaults(gated_internal::sizes_of(call), 2, p);
}
constexpr void gated_matmul_tiled_8x8_emit(Emit& e) {
  const Activation activation = gated_internal::activation_of(e.call());
  const int64_t offset = e.view(2).offset;
  tiled_8x8_emit(
      e, gated_internal::layout_of(e.call(), 1, e.view(0), e.view(1)), 2, [&](Dispatch& dispatch, int width) {
        dispatch.place("u_begin", Shape(), {offset, {}})
            .buffer("u", e.operand(2), width)
            .slot("fetch",
                  "fn fetch_begin(n : u32, begin : u32) -> u32 { return select(begin, u_begin(0u), n >= kOwnN); }\n"
                  "fn fetch_four(n : u32, i : u32) -> vec4f {\n"
                  "  if (n >= kOwnN) { return u_four(i); }\n  return b_four(i);\n}\n"
                  "fn fetch_some(n : u32, i : u32, count : u32) -> vec4f {\n"
                  "  if (n >= kOwnN) { return u_some(i, count); }\n  return b_some(i, count);\n}")
            .slot("gate", gated_internal::gate_text(activation));
        give_functions(dispatch, act_functions(activation));
      });
}

inline constexpr Variant kGatedMatmulVariants[] = {
    {.name = "packed",
     .accepts = gated_matmul_packed_accepts,
     .emit = gated_matmul_packed_emit,
     .prefers = gated_matmul_packed_prefers,
     .parameters = {kGatedPackedParameters, gated_matmul_packed_defaults, gated_matmul_packed_valid}},
    {.name = "tiled_8x8",
     .accepts = gated_matmul_tiled_8x8_accepts,
     .emit = gated_matmul_tiled_8x8_emit,
     .prefers = gated_matmul_tiled_8x8_prefers,
     .parameters = {tiled_8x8::kParameters, gated_matmul_tiled_8x8_defaults, tiled_8x8::valid}},
    {.name = "tiled",
     .emit = gated_matmul_tiled_emit,
     .parameters = {kTiledParameters, gated_matmul_tiled_defaults, gated_matmul_tiled_valid}},
};

constexpr Cost gated_matmul_cost(const Call& call) {
  return {4.0 * static_cast<double>(call.result().shape.count()) * static_cast<double>(call.operand(1).shape[0]), 0};
}

inline constexpr OpDef kGatedMatmul{
    .name = "gated_matmul",
    .infer = gated_matmul_infer,
    .variants = kGatedMatmulVariants,
    .absorbs_after = true,
    .cost = gated_matmul_cost,
    .reference = gated_matmul_reference,
    .accuracy = {8, 0x1p-22},  // of activations whose tails cancel (gelu), and what they are multiplied by
};

constexpr Tensor gated_matmul(Tensor x, Tensor gate, Tensor up, Activation activation,
                              Site site = std::source_location::current()) {
  return apply(kGatedMatmul, {x, gate, up}, {static_cast<int64_t>(activation)}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::gated_matmul;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_MATMUL_GATED_H_

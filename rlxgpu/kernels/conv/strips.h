// The variant "strips" of conv: an implicit product from registers without barriers. For adapters that run on a CPU.
#ifndef RLXGPU_KERNELS_CONV_STRIPS_H_
#define RLXGPU_KERNELS_CONV_STRIPS_H_

#include <cstdint>
#include <span>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/kernels/conv/layout.h"
#include "rlxgpu/kernels/matmul/packed.h"

namespace rlxgpu::core {

inline constexpr KernelFile kConvPaddedFile(
#include "rlxgpu/kernels/conv/padded.wgsl"
);
inline constexpr KernelFile kConvStripsFile(
#include "rlxgpu/kernels/conv/strips.wgsl"
);

namespace conv_strips {

// x as the kernel reads it: 32-bit elements, zeros around them.
struct Padded {
  int64_t extent[kWindowAxes] = {};
  constexpr Padded(const ConvLayout& layout) {
    for (int axis = 0; axis < kWindowAxes; ++axis) extent[axis] = layout.window.padded(axis, spatial(layout.in, axis));
  }
  constexpr int64_t plane() const { return extent[0] * extent[1] * extent[2]; }
  constexpr int64_t step(int axis) const { return axis == 0 ? extent[1] * extent[2] : axis == 1 ? extent[2] : 1; }
};

// How far behind the first element under the window tap k is, from channel to channel. Arguments: taps along the last
// two axes and in all; elements of a plane; between neighbouring taps along each axis.
inline void fill_steps(std::span<const int64_t> args, std::span<uint32_t> words) {
  const int64_t kernel1 = args[0] >> 32, kernel2 = args[0] & 0xffffffff, taps = args[1];
  for (size_t i = 0; i < words.size(); ++i) {
    const auto k = static_cast<int64_t>(i), tap = k % taps;
    words[i] = static_cast<uint32_t>(k / taps * args[2] + tap / (kernel1 * kernel2) * args[3] +
                                     tap / kernel2 % kernel1 * args[4] + tap % kernel2 * args[5]);
  }
}

constexpr Ref padded(Emit& e, const ConvLayout& layout, const Padded& to, DType stored) {
  const int64_t count = layout.images * layout.groups * layout.c * to.plane();
  const Ref copy = e.scratch(stored, {count});
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  const SlidingWindow& window = layout.window;
  e.dispatch(kConvPaddedFile)
      .type("Acc", register_of(stored))
      .number("kBefore0", window.before[0])
      .number("kBefore1", window.before[1])
      .number("kBefore2", window.before[2])
      .number("kIn0", spatial(layout.in, 0))
      .number("kIn1", spatial(layout.in, 1))
      .number("kIn2", spatial(layout.in, 2))
      .number("kPadded0", to.extent[0])
      .number("kPadded1", to.extent[1])
      .number("kPadded2", to.extent[2])
      .number("kCount", count)
      .number("kRow", grid.row * 64)
      .input("x", e.operand(0))
      .raw("padded", copy, true)
      .grid(grid.row, grid.rows);
  return copy;
}

// The weights as the left operand of a product, one matrix for each group.
constexpr MatmulLayout weights_of(const ConvLayout& layout) {
  MatmulLayout product;
  product.m = layout.m, product.n = layout.places, product.k = layout.products();
  product.products = Dim(product.k);
  product.a_row = product.k, product.a_col = 1;
  product.batches = layout.groups;
  product.batch[MatmulLayout::kBatchAxes - 1] = {layout.groups, product.m * product.k, 0};
  return product;
}

inline constexpr Parameter kParameters[] = {
    {"rows", 4, 32, 4, "channels of a workgroup; it has 32 places"},
};
constexpr void defaults(const Call& call, const Target&, Parameters& p) {
  p.fill("rows", packed::rows_for(conv_layout(call).m));
}
constexpr bool valid(const Call& call, const Target& target, const Parameters& p) {
  const packed::Tiling tiling = packed::tiling_of(weights_of(conv_layout(call)), 1, p["rows"]);
  return tiling.a_vectors() * 16 <= static_cast<int64_t>(target.max_binding_bytes);
}

}  // namespace conv_strips

constexpr bool conv_strips_accepts(const Call& call, const Target& target) {
  if (target.adapter_class != AdapterClass::software && target.adapter_class != AdapterClass::unknown) return false;
  if (!target.subgroups) return false;
  const ConvLayout layout = conv_layout(call);
  const MatmulLayout product = conv_strips::weights_of(layout);
  const auto most = static_cast<int64_t>(target.max_binding_bytes);
  const int64_t x_bytes = 4 * layout.images * layout.groups * layout.c * conv_strips::Padded(layout).plane();
  return layout.products() > 0 && x_bytes <= most && packed::tiling_of(product, 1).a_vectors() * 16 <= most;
}

constexpr bool conv_strips_prefers(const Call& call, const Target& target) {
  return target.adapter_class == AdapterClass::software && conv_strips_accepts(call, target);
}

constexpr void conv_strips_emit(Emit& e) {
  const ConvLayout layout = conv_layout(e.call());
  const SlidingWindow& window = layout.window;
  const conv_strips::Padded in(layout);
  const DType stored = is_float(e.call().result().dtype) ? f32 : e.call().result().dtype;
  const bool direct = e.call().operand(0).dtype == stored && is_dense(e.view(0), layout.in) &&
                      in.plane() == layout.in.count(2, layout.in.rank());
  const Ref x = direct ? e.operand(0) : conv_strips::padded(e, layout, in, stored);

  const MatmulLayout product = conv_strips::weights_of(layout);
  const packed::Tiling tiling = packed::tiling_of(product, 1, e.parameter("rows"));
  const Ref dense = e.dense(1);
  const Ref weights = packed::pack(e, product, tiling, true, dense, stored);

  const Ref steps = e.table(u32, {tiling.steps * 4},
                            {conv_strips::fill_steps,
                             {window.kernel[1] << 32 | window.kernel[2], window.taps(), in.plane(),
                              window.dilation[0] * in.step(0), window.dilation[1] * in.step(1), window.dilation[2]}});
  const int64_t tiles = layout.images * layout.groups * tiling.tiles_m * tiling.tiles_n;
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  e.dispatch(kConvStripsFile)
      .type("Acc", register_of(stored))
      .number("kGroups", layout.groups)
      .number("kM", layout.m)
      .number("kK", product.k)
      .number("kSteps", tiling.steps)
      .number("kOut1", spatial(layout.out, 1))
      .number("kOut2", spatial(layout.out, 2))
      .number("kN", layout.places)
      .number("kStep0", window.stride[0] * in.step(0))
      .number("kStep1", window.stride[1] * in.step(1))
      .number("kStep2", window.stride[2])
      .number("kGroup", layout.c * in.plane())
      .number("kWeights", tiling.a_vectors())
      .number("kRows", tiling.rows)
      .number("kTiles", tiles)
      .number("kGridRow", grid.row)
      .raw("weights", weights)
      .raw("x", x)
      .raw("steps", steps)
      .flag("KEPT", layout.places % 4 != 0 || e.has_maps_behind())
      .flag("RAGGED", layout.places % 4 != 0)
      .output("y", e.result())
      .grid(grid.row, grid.rows);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_CONV_STRIPS_H_

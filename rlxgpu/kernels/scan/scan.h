// Running sums, products, maxima and minima along one axis: cumsum cumprod cummax cummin.
//
//   Tensor y = cumsum(x, 1);                          // y[:, i] = x[:, 0] + ... + x[:, i]
//   Tensor z = cumsum(x, 1, {.exclusive = true});     // without x[:, i]: z[:, 0] = 0
//   Tensor r = cumsum(x, 1, {.reverse = true});       // x[:, i] + ... + x[:, last]
//
// The result has x's type; floats are combined in f32, integers wrap. The first of an exclusive scan is 0, 1, the
// least value of the type (-infinity) or the greatest. From a NaN on every cummax and cummin is NaN.
#ifndef RLXGPU_KERNELS_SCAN_SCAN_H_
#define RLXGPU_KERNELS_SCAN_SCAN_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/reduce/combine.h"
#include "rlxgpu/kernels/reduce/lanes.h"
#include "rlxgpu/kernels/scan/reference.h"

namespace rlxgpu::core {

struct ScanOptions {
  bool exclusive = false;
  bool reverse = false;
};

inline constexpr KernelFile kScanFile(
#include "rlxgpu/kernels/scan/scan.wgsl"
);

// Attributes: the axis, exclusive, reverse.
constexpr void scan_infer(Infer& infer) {
  const Shape& shape = infer.shape(0);
  if (!is_float(infer.dtype(0)) && !is_integer(infer.dtype(0)))
    return infer.fail("needs a real number, not ", name_of(infer.dtype(0)));
  if (normalise_axis(infer.attr(0), shape.rank()) < 0) {
    return infer.fail("axis ", infer.attr(0), " does not exist in rank ", shape.rank());
  }
  infer.result(infer.dtype(0), shape);
}

inline constexpr Parameter kScanParameters[] = {
    kLanesParameters[0],
    kLanesParameters[1],
    {"each", 1, 16, kPowersOfTwo, "neighbouring elements of an invocation"},
};
constexpr RowsOf scan_rows(const Call& call) {
  const Shape& shape = call.operand(0).shape;
  const int axis = normalise_axis(call.attr(0), shape.rank());
  const int64_t inner = shape.count(axis + 1, shape.rank());
  return {shape.count(0, axis) * inner, shape[axis], inner};
}
constexpr void scan_defaults(const Call& call, const Target& target, Parameters& p) {
  fill_lanes(scan_rows(call), target, p);
  p.fill("each", 4);
}

template <Combine kCombine>
constexpr void scan_emit(Emit& e) {
  const Shape& shape = e.call().operand(0).shape;
  const DType dtype = e.call().operand(0).dtype;
  const int axis = normalise_axis(e.attr(0), shape.rank());
  const auto [rows, cols, inner] = scan_rows(e.call());
  const Lanes lanes = lanes_of({rows, cols, inner}, e);
  const int row_symbol = axis > 0 && lanes.grid.rows == 1 ? shape.symbol(0) : -1;
  Dispatch dispatch = e.dispatch(kScanFile);
  give_lanes(dispatch, lanes);
  dispatch.type("Acc", register_of(dtype))
      .number("kRows", rows)
      .number("kCols", shape[axis])
      .number("kInner", inner)
      .number("kExclusive", e.attr(1))
      .number("kReverse", e.attr(2))
      .number("kEach", e.parameter("each"))
      .extent("cols", shape.dim(axis))
      .input("x", e.operand(0))
      .output("y", e.result())
      .slot("identity", identity_text(kCombine, dtype))
      .slot("combine", combine_text(kCombine, dtype))
      .slot("finish", wrap_text(dtype))
      .grid(lanes.grid.row, lanes.grid.rows, 1, row_symbol);
}

template <Combine kCombine>
inline constexpr Variant kScanVariants[] = {
    {.name = "rows", .emit = scan_emit<kCombine>, .parameters = {kScanParameters, scan_defaults, lanes_valid}}};

template <Combine kCombine>
constexpr OpDef scan_op(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = scan_infer;
  op.variants = kScanVariants<kCombine>;
  op.absorbs = 1;
  op.absorbs_after = true;
  op.reference = scan_reference<kCombine>;
  return op;
}

inline constexpr OpDef kCumsum = scan_op<Combine::sum>("cumsum");
inline constexpr OpDef kCumprod = scan_op<Combine::prod>("cumprod");
inline constexpr OpDef kCummax = scan_op<Combine::max>("cummax");
inline constexpr OpDef kCummin = scan_op<Combine::min>("cummin");

constexpr Tensor cumsum(Tensor x, int axis = -1, ScanOptions options = {},
                        Site site = std::source_location::current()) {
  return apply(kCumsum, {x}, {axis, options.exclusive, options.reverse}, site);
}
constexpr Tensor cumprod(Tensor x, int axis = -1, ScanOptions options = {},
                         Site site = std::source_location::current()) {
  return apply(kCumprod, {x}, {axis, options.exclusive, options.reverse}, site);
}
constexpr Tensor cummax(Tensor x, int axis = -1, ScanOptions options = {},
                        Site site = std::source_location::current()) {
  return apply(kCummax, {x}, {axis, options.exclusive, options.reverse}, site);
}
constexpr Tensor cummin(Tensor x, int axis = -1, ScanOptions options = {},
                        Site site = std::source_location::current()) {
  return apply(kCummin, {x}, {axis, options.exclusive, options.reverse}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::ScanOptions, core::cummax, core::cummin, core::cumprod, core::cumsum;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SCAN_SCAN_H_

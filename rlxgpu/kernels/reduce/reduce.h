// Reductions over any axes: sum mean prod reduce_max reduce_min l1 l2 sum_square log_sum_exp any all.
//
//   Tensor m = mean(x, {1, 2}, {.keep_dims = true});   // [8, 16, 16, 3] -> [8, 1, 1, 3]
//   Tensor s = sum(x * x);                             // all axes: a scalar; the product joins the kernel
//
// The result has x's dtype. Floats are summed in f32 whatever their storage type; integers wrap (an i8
// sum wraps to i8). mean, l1, l2, sum_square and log_sum_exp need a float, any and all a bool. Over no
// elements: sum 0, prod 1, mean NaN, log_sum_exp -infinity, reduce_max the least value of the type
// (-infinity), reduce_min the greatest, any false, all true. A NaN wins reduce_max and reduce_min. At most
// one of the reduced axes may have a run-time extent.
#ifndef RLXGPU_KERNELS_REDUCE_REDUCE_H_
#define RLXGPU_KERNELS_REDUCE_REDUCE_H_

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/reduce/axes.h"
#include "rlxgpu/kernels/reduce/combine.h"
#include "rlxgpu/kernels/reduce/lanes.h"
#include "rlxgpu/kernels/reduce/layout.h"
#include "rlxgpu/kernels/reduce/log_sum_exp.h"
#include "rlxgpu/kernels/reduce/reference.h"
#include "rlxgpu/kernels/reduce/shape.h"

namespace rlxgpu::core {

struct ReduceOptions {
  bool keep_dims = false;  // reduced axes stay, with extent 1
};

inline constexpr KernelFile kReduceFile(
#include "rlxgpu/kernels/reduce/reduce.wgsl"
);

// How a reduction differs from the others: what it makes of an element, how it combines two, and what
// the result is in the end.
struct Reduction {
  Reduce kind;
  Register element, acc;
  std::string_view identity, lift, combine, finish;
};

inline constexpr std::string_view kKeepText = "fn lift(v : Elem) -> Acc { return v; }";
inline constexpr std::string_view kHandOnText = "fn finish(acc : Acc) -> Result { return acc; }";

constexpr Reduction reduction_of(Reduce kind, DType dtype) {
  const Register reg = register_of(dtype);
  const auto make = [&](Combine combine, std::string_view lift, std::string_view finish) {
    return Reduction{kind, reg, reg, identity_text(combine, dtype), lift, combine_text(combine, dtype), finish};
  };
  switch (kind) {
    case Reduce::sum:
      return make(Combine::sum, kKeepText, wrap_text(dtype));
    case Reduce::prod:
      return make(Combine::prod, kKeepText, wrap_text(dtype));
    case Reduce::max:
      return make(Combine::max, kKeepText, kHandOnText);
    case Reduce::min:
      return make(Combine::min, kKeepText, kHandOnText);
    case Reduce::mean:
      return make(Combine::sum, kKeepText, "fn finish(acc : Acc) -> Result { return acc / f32(count()); }");
    case Reduce::l1:
      return make(Combine::sum, "fn lift(v : Elem) -> Acc { return abs(v); }", kHandOnText);
    case Reduce::l2:
      return make(Combine::sum, "fn lift(v : Elem) -> Acc { return v * v; }",
                  "fn finish(acc : Acc) -> Result { return sqrt(acc); }");
    case Reduce::sum_square:
      return make(Combine::sum, "fn lift(v : Elem) -> Acc { return v * v; }", kHandOnText);
    case Reduce::any:
      return {kind,
              reg,
              Register::u32,
              "fn identity() -> Acc { return 0u; }",
              "fn lift(v : Elem) -> Acc { return u32(v); }",
              "fn combine(a : Acc, b : Acc) -> Acc { return a | b; }",
              "fn finish(acc : Acc) -> Result { return acc != 0u; }"};
    case Reduce::all:
      return {kind,
              reg,
              Register::u32,
              "fn identity() -> Acc { return 1u; }",
              "fn lift(v : Elem) -> Acc { return u32(v); }",
              "fn combine(a : Acc, b : Acc) -> Acc { return a & b; }",
              "fn finish(acc : Acc) -> Result { return acc != 0u; }"};
    case Reduce::log_sum_exp:
      return {kind, reg, Register::vec2f, kLogSumExpIdentity, kLogSumExpLift, kLogSumExpCombine, kLogSumExpFinish};
  }
  return {};
}

constexpr void reduce_rows(Emit& e, const Reduction& r) {
  const ReduceLayout layout = reduce_layout(e.call());
  const Lanes lanes = lanes_of(reduce_rows_of(layout), e);
  Dispatch dispatch = e.dispatch(kReduceFile);
  give_lanes(dispatch, lanes);
  dispatch.type("Elem", r.element)
      .type("Acc", r.acc)
      .type("Result", register_of(e.call().result().dtype))
      .number("kRows", layout.rows)
      .number("kCols", layout.cols)
      .number("kSplits", 1)
      .number("kChunk", layout.cols)
      .extent("steps", layout.steps)
      .number("kInner", layout.inner)
      .extent("counted", layout.steps)
      .number("kInnerCount", layout.inner)
      .input("x", e.operand(0), layout.axes())
      .output("y", e.result())
      .slot("identity", r.identity)
      .slot("lift", r.lift)
      .slot("combine", r.combine)
      .slot("finish", r.finish)
      .grid(lanes.grid.row, lanes.grid.rows, 1, lanes.grid.rows == 1 ? layout.row_symbol : -1);
}

constexpr DType scratch_dtype(Register reg) {
  return reg == Register::f32 ? f32 : reg == Register::i32 ? i32 : reg == Register::u32 ? u32 : c64;
}

constexpr void reduce_parts(Emit& e, const Reduction& r, const ReduceLayout& layout, const Split& split, Ref parts) {
  const Lanes lanes = lanes_of({layout.rows * split.splits, split.chunk, 1}, e);
  Dispatch dispatch = e.dispatch(kReduceFile);
  give_lanes(dispatch, lanes);
  dispatch.type("Elem", r.element)
      .type("Acc", r.acc)
      .type("Result", r.acc)
      .number("kRows", layout.rows)
      .number("kCols", layout.cols)
      .number("kSplits", split.splits)
      .number("kChunk", split.chunk)
      .extent("steps", layout.steps)
      .number("kInner", layout.inner)
      .extent("counted", 1)
      .number("kInnerCount", 1)
      .input("x", e.operand(0), layout.axes())
      .output("y", parts)
      .slot("identity", r.identity)
      .slot("lift", r.lift)
      .slot("combine", r.combine)
      .slot("finish", kHandOnText)
      .grid(lanes.grid.row, lanes.grid.rows);
}

constexpr void reduce_split(Emit& e, const Reduction& r) {
  const ReduceLayout layout = reduce_layout(e.call());
  const Split split = split_of(layout, e);
  const Ref parts = e.scratch(scratch_dtype(r.acc), {layout.rows, split.splits});
  reduce_parts(e, r, layout, split, parts);

  const Lanes lanes = lanes_of({layout.rows, split.splits, 1}, e.target());
  const bool counts = r.kind == Reduce::mean;  // a run-time number that nobody reads is not declared
  Dispatch dispatch = e.dispatch(kReduceFile);
  give_lanes(dispatch, lanes);
  dispatch.type("Elem", r.acc)
      .type("Acc", r.acc)
      .type("Result", register_of(e.call().result().dtype))
      .number("kRows", layout.rows)
      .number("kCols", split.splits)
      .number("kSplits", 1)
      .number("kChunk", split.splits)
      .extent("steps", split.splits)
      .number("kInner", 1)
      .extent("counted", counts ? layout.steps : Dim(1))
      .number("kInnerCount", layout.inner)
      .input("x", parts)
      .output("y", e.result())
      .slot("identity", r.identity)
      .slot("lift", kKeepText)
      .slot("combine", r.combine)
      .slot("finish", r.finish)
      .grid(lanes.grid.row, lanes.grid.rows);
}

template <Reduce kKind>
constexpr void reduce_rows_emit(Emit& e) {
  reduce_rows(e, reduction_of(kKind, e.call().operand(0).dtype));
}
template <Reduce kKind>
constexpr void reduce_split_emit(Emit& e) {
  reduce_split(e, reduction_of(kKind, e.call().operand(0).dtype));
}
template <Reduce kKind>
inline constexpr Variant kReduceVariants[] = {
    {"split", split_accepts, reduce_split_emit<kKind>, nullptr, nullptr, kReduceSplitRules},
    {"rows", nullptr, reduce_rows_emit<kKind>, nullptr, nullptr, kReduceRowsRules},
};

constexpr Cost reduce_cost(const Call& call) { return {static_cast<double>(call.operand(0).shape.count()), 0}; }

template <Reduce kKind>
constexpr OpDef reduce_op(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = reduce_infer<kKind>;
  op.variants = kReduceVariants<kKind>;
  op.absorbs = 1;
  op.absorbs_after = true;
  op.axis_attrs = 1;
  op.cost = reduce_cost;
  if (kKind == Reduce::log_sum_exp) op.accuracy = {8, 0x1p-22};  // of the logarithm of a sum near 1
  op.reference = reduce_reference<kKind>;
  return op;
}

inline constexpr OpDef kSum = reduce_op<Reduce::sum>("sum");
inline constexpr OpDef kMean = reduce_op<Reduce::mean>("mean");
inline constexpr OpDef kProd = reduce_op<Reduce::prod>("prod");
inline constexpr OpDef kReduceMax = reduce_op<Reduce::max>("reduce_max");
inline constexpr OpDef kReduceMin = reduce_op<Reduce::min>("reduce_min");
inline constexpr OpDef kL1 = reduce_op<Reduce::l1>("l1");
inline constexpr OpDef kL2 = reduce_op<Reduce::l2>("l2");
inline constexpr OpDef kSumSquare = reduce_op<Reduce::sum_square>("sum_square");
inline constexpr OpDef kLogSumExp = reduce_op<Reduce::log_sum_exp>("log_sum_exp");
inline constexpr OpDef kAny = reduce_op<Reduce::any>("any");
inline constexpr OpDef kAll = reduce_op<Reduce::all>("all");

constexpr Tensor reduce(const OpDef& op, Tensor x, const Axes& axes, ReduceOptions options, Site site) {
  int64_t attrs[kMaxRank + 1] = {options.keep_dims};
  const int given = axes.count < kMaxRank ? axes.count : kMaxRank;
  for (int i = 0; i < given; ++i) attrs[1 + i] = axes.axis[i];
  int count = given;
  if (axes.count == 0) {
    for (; count < x.shape().rank(); ++count) attrs[1 + count] = count;
  }
  return apply(op, {x}, Span<int64_t>(attrs, static_cast<size_t>(count + 1)), site);
}

constexpr Tensor sum(Tensor x, Axes axes = {}, ReduceOptions options = {},
                     Site site = std::source_location::current()) {
  return reduce(kSum, x, axes, options, site);
}
constexpr Tensor mean(Tensor x, Axes axes = {}, ReduceOptions options = {},
                      Site site = std::source_location::current()) {
  return reduce(kMean, x, axes, options, site);
}
constexpr Tensor prod(Tensor x, Axes axes = {}, ReduceOptions options = {},
                      Site site = std::source_location::current()) {
  return reduce(kProd, x, axes, options, site);
}
// Not max and min, which are of two tensors, element by element.
constexpr Tensor reduce_max(Tensor x, Axes axes = {}, ReduceOptions options = {},
                            Site site = std::source_location::current()) {
  return reduce(kReduceMax, x, axes, options, site);
}
constexpr Tensor reduce_min(Tensor x, Axes axes = {}, ReduceOptions options = {},
                            Site site = std::source_location::current()) {
  return reduce(kReduceMin, x, axes, options, site);
}
// The sum of magnitudes; the root of the sum of squares; the sum of squares.
constexpr Tensor l1(Tensor x, Axes axes = {}, ReduceOptions options = {}, Site site = std::source_location::current()) {
  return reduce(kL1, x, axes, options, site);
}
constexpr Tensor l2(Tensor x, Axes axes = {}, ReduceOptions options = {}, Site site = std::source_location::current()) {
  return reduce(kL2, x, axes, options, site);
}
constexpr Tensor sum_square(Tensor x, Axes axes = {}, ReduceOptions options = {},
                            Site site = std::source_location::current()) {
  return reduce(kSumSquare, x, axes, options, site);
}
// log(sum(exp(x))), without overflow.
constexpr Tensor log_sum_exp(Tensor x, Axes axes = {}, ReduceOptions options = {},
                             Site site = std::source_location::current()) {
  return reduce(kLogSumExp, x, axes, options, site);
}
constexpr Tensor any(Tensor x, Axes axes = {}, ReduceOptions options = {},
                     Site site = std::source_location::current()) {
  return reduce(kAny, x, axes, options, site);
}
constexpr Tensor all(Tensor x, Axes axes = {}, ReduceOptions options = {},
                     Site site = std::source_location::current()) {
  return reduce(kAll, x, axes, options, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::ReduceOptions, core::all, core::any, core::l1, core::l2, core::log_sum_exp, core::mean, core::prod,
    core::reduce_max, core::reduce_min, core::sum, core::sum_square;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_REDUCE_REDUCE_H_

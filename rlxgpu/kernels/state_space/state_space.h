// Recurrences along time with a state: selective_scan (Mamba), mamba2 and gated_delta_net.
//
//   Tensor y = selective_scan(x, softplus(dt + bias), a, b, c, {.skip = d});                // one dispatch
//   Tensor z = mamba2(x, dt, a, b, c, {.state = g.state("h", f32, {1, heads, 64, 128})});   // goes on from run to run
//   Tensor o = gated_delta_net(q, k, v, decay, beta, {.state = h});
//
// For every channel or column, with h of n numbers, zero at first or where the last run left .state:
//   selective_scan   h = exp(delta a) h + delta b x;  y = c . h + skip x
//                    x, delta: (batch, time, channel)   a: (channel, n)   b, c: (batch, time, n)
//                    state: (batch, channel, n)
//   mamba2           the same with one rate for each head: x: (batch, time, head, p)   delta: (batch, time, head)
//                    a: (head)   b, c: (batch, time, group, n)   state: (batch, head, p, n)
//   gated_delta_net  h *= exp(g);  d = (v - h . k) beta;  h += k d;  o = h . q / sqrt(n)
//                    q, k: (batch, time, group, n)   v: (batch, time, head, p)   g, beta: (batch, time, head)
//                    state: as mamba2's
// Heads are a multiple of groups: neighbours share one. x, steps and rates are computed on the fly from the maps before
// them. Floats of any type, computed in f32; a state is f32. Time may be a run-time extent. n to 256.
#ifndef RLXGPU_KERNELS_STATE_SPACE_STATE_SPACE_H_
#define RLXGPU_KERNELS_STATE_SPACE_STATE_SPACE_H_

#include <string_view>

#include "rlxgpu/base/math.h"
#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/softmax/decay.h"
#include "rlxgpu/kernels/state_space/layout.h"
#include "rlxgpu/kernels/state_space/reference.h"

namespace rlxgpu::core {

inline constexpr KernelFile kRecurrenceFile(
#include "rlxgpu/kernels/state_space/recurrence.wgsl"
);
inline constexpr KernelFile kChainFile(
#include "rlxgpu/kernels/state_space/chain.wgsl"
);

constexpr void state_space_infer(Infer& infer) {
  const StateSpace kind = StateSpaceSizes::kind_of(infer.call().attrs);
  const bool one = kind == StateSpace::selective, delta = kind == StateSpace::delta;
  for (int k = 0; k < infer.count(); ++k) {
    if (!is_float(infer.dtype(k))) return infer.fail("needs floats, not ", name_of(infer.dtype(k)));
  }
  const Shape &x = infer.shape(0), &b = infer.shape(3);
  if (x.rank() != (one ? 3 : 4)) {
    return infer.fail(delta ? "values are" : "x is", one ? " (batch, time, channel)" : " (batch, time, head, column)");
  }
  if (b.rank() != x.rank() || !(b.dim(0) == x.dim(0)) || !(b.dim(1) == x.dim(1)) || !(infer.shape(4) == b)) {
    return infer.fail(delta ? "keys and queries are" : "b and c are",
                      one ? " (batch, time, n)" : " (batch, time, group, n)");
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != 1 && (x.symbol(axis) >= 0 || b.symbol(axis) >= 0))
      return infer.fail("only time may be a run-time extent");
  }
  const StateSpaceSizes sizes(kind, x, b);
  if (sizes.n < 1 || sizes.n > 256) return infer.fail("a state has 1 to 256 numbers, not ", sizes.n);
  if (sizes.groups < 1 || sizes.heads % sizes.groups != 0) {
    return infer.fail(sizes.heads, " heads are no multiple of ", sizes.groups, " groups");
  }
  Shape steps = x, rates = {Dim(sizes.heads)};
  if (one) {
    rates = {Dim(sizes.width), Dim(sizes.n)};
  } else {
    steps = {x.dim(0), x.dim(1), x.dim(2)};
  }
  if (!(infer.shape(1) == steps)) return infer.fail(delta ? "decays" : "steps", " are of ", steps);
  if (!(infer.shape(2) == (delta ? steps : rates))) {
    return infer.fail(delta ? "betas are of " : "rates are of ", delta ? steps : rates);
  }
  if (infer.count() > 5) {
    Shape state = {x.dim(0)};
    for (int axis = 2; axis < x.rank(); ++axis) state.push_back(x.dim(axis));
    state.push_back(Dim(sizes.n));
    if (infer.dtype(5) != f32 || !(infer.shape(5) == state)) return infer.fail("the state is f32", state);
    infer.result(f32, state);
  }
  infer.result(infer.dtype(0), x);
}

namespace state_space_internal {

// How columns are given to workgroups.
struct Shares {
  int64_t cols = 8, parts = 1, fours = 1;
  // Where a barrier costs as much as hundreds of products nobody shares a column. Elsewhere 32 numbers stay in
  // registers.
  constexpr Shares(const StateSpaceSizes& sizes, const Target& target) {
    if (target.adapter_class != AdapterClass::software) {
      while (cols < 64 && cols < sizes.width) cols *= 2;
      while (parts < 4 && parts * 32 < sizes.n) parts *= 2;
    }
    fours = ceil_div(ceil_div(sizes.n, 4), parts);
  }
};

inline constexpr int64_t kChunk = 64;

struct Pass {
  int64_t chunks = 1;
  bool leaves = false;  // only what chunks do to states
  Ref memory = {};      // where that is left; or how chunks begin
};

// Every row begins at a whole vector, and is made of such.
constexpr bool in_fours(const View& view, const Shape& shape) {
  bool whole = view.offset % 4 == 0 && view.strides[shape.rank() - 1] == 1 && shape[shape.rank() - 1] % 4 == 0;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis)
    whole = whole && (shape[axis] == 1 || view.strides[axis] % 4 == 0);
  return whole;
}

constexpr View without_last(View view, int rank) {
  view.strides[rank - 1] = 0;
  return view;
}

constexpr void recurrence(Emit& e, const Pass& pass) {
  const StateSpace kind = StateSpaceSizes::kind_of(e.call().attrs);
  const Shape &x = e.call().operand(0).shape, &b = e.call().operand(3).shape;
  const StateSpaceSizes sizes(kind, x, b);
  const Shares shares(sizes, e.target());
  const bool one_pass = pass.chunks == 1, keeps = e.call().operand_count > 5, state = keeps && one_pass;
  const int64_t tiles_each = ceil_div(sizes.width, shares.cols);
  const int64_t tiles = tiles_each * sizes.heads * pass.chunks * sizes.batches;
  const FoldedGrid grid = fold_grid(tiles, e.target().max_groups);
  const View in_b = e.view(3), in_c = e.view(4);
  const int last = b.rank() - 1;
  Shape rows;
  for (int axis = 0; axis < last; ++axis) rows.push_back(Dim(b[axis]));
  Dispatch dispatch = e.dispatch(kRecurrenceFile);
  dispatch.number("kTime", sizes.time.extent)
      .number("kHeads", sizes.heads)
      .number("kWidth", sizes.width)
      .number("kN", sizes.n)
      .number("kGroups", sizes.groups)
      .boolean("kDelta", kind == StateSpace::delta)
      .boolean("kOwn", kind == StateSpace::selective)
      .real("kScale", kind == StateSpace::delta ? static_cast<float>(1 / square_root(static_cast<double>(sizes.n))) : 1)
      .number("kBStep", static_cast<uint32_t>(in_b.strides[last]))
      .number("kCStep", static_cast<uint32_t>(in_c.strides[last]))
      .number("kCols", shares.cols)
      .number("kParts", shares.parts)
      .number("kFours", shares.fours)
      .number("kTilesEach", tiles_each)
      .number("kTiles", tiles)
      .number("kChunks", pass.chunks)
      .number("kChunk", one_pass ? sizes.time.extent : kChunk)
      .number("kStates", sizes.states())
      .number("kGridRow", grid.row)
      .extent("steps", sizes.time)
      .input("x", e.operand(0))
      .input("step", e.operand(1))
      .input("other", e.operand(2))
      .place("b_begin", rows, without_last(in_b, b.rank()))
      .flag("B_WIDE", in_fours(in_b, b))
      .buffer("b", e.operand(3), in_fours(in_b, b) ? 4 : 1)
      .flag("GIVES", !pass.leaves)
      .flag("C_WIDE", in_fours(in_c, b));
  if (!pass.leaves) {
    dispatch.place("c_begin", rows, without_last(in_c, b.rank()))
        .buffer("c", e.operand(4), in_fours(in_c, b) ? 4 : 1)
        .output("y", e.result(keeps ? 1 : 0));
  }
  dispatch.flag("STATE", state);
  if (state) dispatch.raw("state", e.result(), true);
  dispatch.flag("STARTS", !one_pass && !pass.leaves);
  if (!one_pass && !pass.leaves) dispatch.raw("starts", pass.memory);
  dispatch.flag("LEAVES", pass.leaves);
  if (pass.leaves) dispatch.raw("parts", pass.memory, true);
  constexpr std::string_view kZero = "fn start_of(i : u32, chunk : u32) -> f32 { return 0.0f; }",
                             kFromState = "fn start_of(i : u32, chunk : u32) -> f32 { return state[i]; }",
                             kFromStarts =
                                 "fn start_of(i : u32, chunk : u32) -> f32 { return starts[chunk * kStates + i]; }",
                             kNothing = "fn leave(i : u32, chunk : u32, h : f32, factor : f32) {}",
                             kToParts =
                                 "fn leave(i : u32, chunk : u32, h : f32, factor : f32) {\n"
                                 "  let at = 2u * (chunk * kStates + i);\n"
                                 "  parts[at] = h;\n  parts[at + 1u] = factor;\n}";
  dispatch.slot("start_of", state                     ? kFromState
                            : one_pass || pass.leaves ? kZero
                                                      : kFromStarts)
      .slot("leave", state         ? std::string_view()
                     : pass.leaves ? kToParts
                                   : kNothing)
      .slot("exponential", "")
      .slot("total", shares.parts > 1
                         ? std::string_view()
                         : std::string_view("fn total(half : u32, id : u32, v : f32) -> f32 { return v; }"))
      .functions(kDecayText)
      .grid(grid.row, grid.rows);
}

constexpr void chain(Emit& e, int64_t chunks, int64_t states, Ref parts, Ref starts) {
  const bool keeps = e.call().operand_count > 5;
  const FoldedGrid grid = fold_grid(ceil_div(states, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kChainFile);
  dispatch.number("kStates", states)
      .number("kChunks", chunks)
      .number("kRow", grid.row * 64)
      .raw("parts", parts)
      .raw("starts", starts, true)
      .flag("STATE", keeps);
  if (keeps) dispatch.raw("state", e.result(), true);
  dispatch
      .slot("start_of", keeps ? std::string_view() : std::string_view("fn start_of(i : u32) -> f32 { return 0.0f; }"))
      .slot("leave", keeps ? std::string_view() : std::string_view("fn leave(i : u32, h : f32) {}"))
      .grid(grid.row, grid.rows);
}

}  // namespace state_space_internal

constexpr void recurrence_serial_emit(Emit& e) {
  if (e.call().operand(0).shape.count() == 0) return;  // no time passes
  state_space_internal::recurrence(e, {});
}

// Time in chunks that run at once: what each does to a state, from where each begins, its results.
constexpr void recurrence_chunked_emit(Emit& e) {
  const Shape& x = e.call().operand(0).shape;
  const StateSpaceSizes sizes(StateSpaceSizes::kind_of(e.call().attrs), x, e.call().operand(3).shape);
  const int64_t chunks = ceil_div(x[1], state_space_internal::kChunk), states = sizes.states();
  const Ref parts = e.scratch(f32, {chunks, states, 2}), starts = e.scratch(f32, {chunks, states});
  state_space_internal::recurrence(e, {chunks, true, parts});
  state_space_internal::chain(e, chunks, states, parts, starts);
  state_space_internal::recurrence(e, {chunks, false, starts});
}
// A delta net's steps do not combine into a factor and a sum.
constexpr bool recurrence_chunked_accepts(const Call& call, const Target& target) {
  const StateSpace kind = StateSpaceSizes::kind_of(call.attrs);
  const Shape& x = call.operand(0).shape;
  const StateSpaceSizes sizes(kind, x, call.operand(3).shape);
  const int64_t chunks = ceil_div(x[1], state_space_internal::kChunk);
  return kind != StateSpace::delta && chunks > 1 && x.count() > 0 &&
         static_cast<uint64_t>(chunks * sizes.states() * 8) <= target.max_binding_bytes;
}
// It computes every state twice: where columns alone do not fill a GPU, and there is much time.
constexpr bool recurrence_chunked_prefers(const Call& call, const Target& target) {
  const Shape& x = call.operand(0).shape;
  return target.adapter_class != AdapterClass::software && recurrence_chunked_accepts(call, target) && x[1] >= 256 &&
         x.count() / x[1] < 16384;
}

inline constexpr Variant kStateSpaceVariants[] = {
    {"chunked", recurrence_chunked_accepts, recurrence_chunked_emit, recurrence_chunked_prefers},
    {"serial", nullptr, recurrence_serial_emit},
};

// For each number of a state in each step a factor, a product added to it and one to the result; the factor itself, or
// a delta net's product with the keys, counts as two.
constexpr Cost state_space_cost(const Call& call) {
  const Shape& b = call.operand(3).shape;
  return {7.0 * static_cast<double>(call.operand(0).shape.count()) * static_cast<double>(b[b.rank() - 1]), 0};
}

constexpr OpDef state_space_op(std::string_view name, bool keeps) {
  OpDef op;
  op.name = name;
  op.infer = state_space_infer;
  op.variants = kStateSpaceVariants;
  op.absorbs = 0b111;
  op.absorbs_after = true;
  op.in_place = keeps ? 5 : -1;
  op.cost = state_space_cost;
  op.reference = state_space_reference;
  return op;
}
inline constexpr OpDef kSelectiveScan = state_space_op("selective_scan", false),
                       kSelectiveScanKept = state_space_op("selective_scan", true),
                       kMamba2 = state_space_op("mamba2", false), kMamba2Kept = state_space_op("mamba2", true),
                       kGatedDeltaNet = state_space_op("gated_delta_net", false),
                       kGatedDeltaNetKept = state_space_op("gated_delta_net", true);

struct StateSpaceOptions {
  Tensor skip = {};   // (channel) or (head): y + skip x; not for delta nets
  Tensor state = {};  // changed in place; without it every run begins at zero
};

namespace state_space_internal {

constexpr Tensor append(const OpDef& op, const OpDef& kept, StateSpace kind, const Tensor (&operands)[5], Tensor state,
                        Site site) {
  const int64_t attrs[] = {static_cast<int64_t>(kind)};
  const auto& [x, step, other, b, c] = operands;
  if (!state.given()) return apply(op, {x, step, other, b, c}, attrs, site);
  return result_of(apply(kept, {x, step, other, b, c, state}, attrs, site), 1);
}

}  // namespace state_space_internal

constexpr Tensor selective_scan(Tensor x, Tensor delta, Tensor a, Tensor b, Tensor c, StateSpaceOptions options = {},
                                Site site = std::source_location::current()) {
  const Tensor y = state_space_internal::append(kSelectiveScan, kSelectiveScanKept, StateSpace::selective,
                                                {x, delta, a, b, c}, options.state, site);
  return options.skip.given() ? y + Rhs(x * Rhs(options.skip, site), site) : y;
}

constexpr Tensor mamba2(Tensor x, Tensor delta, Tensor a, Tensor b, Tensor c, StateSpaceOptions options = {},
                        Site site = std::source_location::current()) {
  const Tensor y =
      state_space_internal::append(kMamba2, kMamba2Kept, StateSpace::mamba2, {x, delta, a, b, c}, options.state, site);
  return options.skip.given() ? y + Rhs(x * Rhs(unsqueeze(options.skip, {-1}, site), site), site) : y;
}

constexpr Tensor gated_delta_net(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, StateSpaceOptions options = {},
                                 Site site = std::source_location::current()) {
  if (options.skip.given()) {
    v.builder().fail(site, "gated_delta_net(", v.shape(), "): takes no skip");
    return {&v.builder(), -1};
  }
  return state_space_internal::append(kGatedDeltaNet, kGatedDeltaNetKept, StateSpace::delta, {v, g, beta, k, q},
                                      options.state, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::StateSpaceOptions, core::gated_delta_net, core::mamba2, core::selective_scan;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_STATE_SPACE_STATE_SPACE_H_

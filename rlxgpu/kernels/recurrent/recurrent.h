// lstm, gru and rnn over whole sequences, as ONNX defines them, in one or two directions.
//
//   auto [y, h, c] = lstm(x, {.w = w, .r = r, .bias = b}, {.direction = Direction::both});
//
// x: (time, batch, input)   w: (directions, gates * hidden, input)   r: (directions, gates * hidden, hidden)
// bias: (directions, 2 gates * hidden), that of w, then that of r   initial_h, initial_c: (directions, batch, hidden)
// lengths: i32 (batch)      peepholes: (directions, 3 hidden), i, o, f
// y: (time, directions, batch, hidden), zero beyond a sequence's end   h, c: (directions, batch, hidden), the last ones
// Gates are i, o, f, c for lstm, z, r, h for gru. What the input adds to all gates is one product over all times; all
// steps are one dispatch, in which a workgroup owns a few sequences of a direction; or one dispatch for each, of few
// sequences of wide layers. Computed in f32 whatever the storage type.
#ifndef RLXGPU_KERNELS_RECURRENT_RECURRENT_H_
#define RLXGPU_KERNELS_RECURRENT_RECURRENT_H_

#include <cstdint>
#include <source_location>
#include <string_view>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/functions.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/concat.h"
#include "rlxgpu/kernels/movement/expand.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/slice.h"
#include "rlxgpu/kernels/movement/transpose.h"
#include "rlxgpu/kernels/recurrent/attributes.h"
#include "rlxgpu/kernels/recurrent/reference.h"

namespace rlxgpu::core {

enum class Direction { forward, reverse, both };

struct RecurrentWeights {
  Tensor w, r;
  Tensor bias = {}, initial_h = {}, initial_c = {}, lengths = {}, peepholes = {};  // may be left out
};
struct RecurrentOptions {
  Direction direction = Direction::forward;
  bool linear_before_reset = false;  // gru: the reset gate is applied to the product, not to h
  bool coupled = false;              // lstm: the forget gate is 1 - i
  float clip = 0;                    // above 0: sums are clamped to [-clip, clip] before gates' activations
  std::span<const CellActivation> activations =
      {};  // f, g, h (gru: f, g; rnn: f) of each direction; empty: sigmoid and tanh
};
struct Recurrent {
  Tensor y, h, c;  // c: lstm only
};

inline constexpr KernelFile kRecurrentFile(
#include "rlxgpu/kernels/recurrent/recurrent.wgsl"
);
inline constexpr KernelFile kRecurrentStepFile(
#include "rlxgpu/kernels/recurrent/step.wgsl"
);
inline constexpr KernelFile kRecurrentCopyFile(
#include "rlxgpu/kernels/recurrent/copy.wgsl"
);

namespace internal {

constexpr void recurrent_infer(Infer& infer) {
  const RecurrentAttributes a(infer.call().attrs);
  const Shape &x = infer.shape(0), &r = infer.shape(1);
  if (!is_float(infer.dtype(0)) || !is_float(infer.dtype(1))) return infer.fail("takes floats");
  const int64_t gates = gates_of(a.kind);
  if (r.rank() != 3 || r[2] != gates * r[1])
    return infer.fail("recurrent weights need ", gates, " hidden x hidden matrices for each direction");
  if (x.rank() != 3 || x[2] != r[0] * r[2])
    return infer.fail("what the input gives does not fit ", r[0], " directions of ", r[2], " sums");
  if (x.dynamic()) return infer.fail("run-time extents are not possible: give lengths");
  const int states = a.kind == RecurrentKind::lstm ? 2 : 1;
  const auto wants = [&](int bit, const Shape& shape, std::string_view what) {
    if ((a.given & bit) == 0 || infer.shape(a.operand(bit)) == shape) return true;
    infer.fail(what, " must be ", shape);
    return false;
  };
  if (!wants(kHasInitial, {states, r[0], x[1], r[1]}, "initial states")) return;
  if (!wants(kHasLengths, {x[1]}, "lengths")) return;
  if (!wants(kHasExtra, {r[0], (a.kind == RecurrentKind::lstm ? 3 : 1) * r[1]}, "peepholes")) return;
  if ((a.given & kHasLengths) != 0 && infer.dtype(a.operand(kHasLengths)) != i32) return infer.fail("lengths are i32");
  infer.result(infer.dtype(0), {x[0], r[0], x[1], r[1]});
  infer.result(infer.dtype(0), {states, r[0], x[1], r[1]});
}

// One activation of f32 v, as WGSL.
constexpr void write_activation(Text& out, const CellActivation& a) {
  const auto number = [](float v) { return Hex{std::bit_cast<uint32_t>(v)}; };
  const auto alpha = [&]() -> Text& { return out << "bitcast<f32>(" << number(a.alpha) << "u)"; };
  const auto beta = [&]() -> Text& { return out << "bitcast<f32>(" << number(a.beta) << "u)"; };
  switch (a.kind) {
    case CellActivationKind::sigmoid:
      out << "1.0f / (1.0f + rlx_exp(-v))";
      break;
    case CellActivationKind::tanh:
      out << "rlx_tanh(v)";
      break;
    case CellActivationKind::relu:
      out << "max(v, 0.0f)";
      break;
    case CellActivationKind::affine:
      alpha() << " * v + ", beta();
      break;
    case CellActivationKind::leaky_relu:
      out << "select(v, ", alpha() << " * v, v < 0.0f)";
      break;
    case CellActivationKind::thresholded_relu:
      out << "select(v, 0.0f, v < ", alpha() << ')';
      break;
    case CellActivationKind::scaled_tanh:
      alpha() << " * rlx_tanh(", beta() << " * v)";
      break;
    case CellActivationKind::hard_sigmoid:
      out << "clamp(", alpha() << " * v + ", beta() << ", 0.0f, 1.0f)";
      break;
    case CellActivationKind::elu:
      out << "select(v, ", alpha() << " * rlx_expm1(v), v < 0.0f)";
      break;
    case CellActivationKind::softsign:
      out << "v / (1.0f + abs(v))";
      break;
    case CellActivationKind::softplus:
      out << "rlx_softplus(v)";
      break;
  }
}
constexpr void write_activations(Text& out, const RecurrentAttributes& a) {
  for (int which = 0; which < 3; ++which) {
    const CellActivation &first = a.activation(0, which), &second = a.activation(1, which);
    out << "fn act_" << "fgh"[which] << "(d : u32, v : f32) -> f32 {\n  ";
    if (!(first == second)) {
      out << "if (d == 1u) { return ";
      write_activation(out, second);
      out << "; }\n  ";
    }
    out << "return ";
    write_activation(out, first);
    out << ";\n}\n";
  }
  out << "fn clipped(v : f32) -> f32 { return ";
  if (a.clip > 0) {
    const Hex clip{std::bit_cast<uint32_t>(a.clip)};
    out << "clamp(v, -bitcast<f32>(" << clip << "u), bitcast<f32>(" << clip << "u)); }\n";
  } else {
    out << "v; }\n";
  }
}

// The function `cell` of the kernel files: h and c of one unit after a step.
constexpr void write_cell(Text& out, std::span<const int64_t> attrs) {
  const RecurrentAttributes a(attrs);
  const bool extra = (a.given & kHasExtra) != 0;
  write_activations(out, a);
  const auto sum = [&](int gate) -> Text& {
    out << "x_at(at";
    if (gate > 0) out << " + " << gate << "u * kHidden";
    return out << ") + sums[" << gate << "][b]";
  };
  const auto named = [&](std::string_view name, int gate) {
    out << "  let " << name << " = act_f(d, clipped(", sum(gate) << "));\n";
  };
  const bool reset_first = a.kind == RecurrentKind::gru && !a.linear_before_reset;
  if (reset_first) {
    out << "fn reset_gates(d : u32, at : u32, sums : Sums, b : u32) -> vec2f {\n";
    named("z", 0), named("reset", 1);
    out << "  return vec2f(z, reset);\n}\n";
  }
  out << "fn cell(d : u32, unit : u32, at : u32, sums : Sums, b : u32, before : f32, memory : f32) -> vec2f {\n";
  if (a.kind == RecurrentKind::rnn) {
    named("h", 0);
    out << "  return vec2f(h, 0.0f);\n}\n";
  } else if (a.kind == RecurrentKind::gru) {
    if (!reset_first) {
      named("z", 0), named("reset", 1);
      out << "  let linear = sums[2][b]" << (extra ? " + extra_at(d * kHidden + unit)" : "") << ";\n";
    }
    out << "  let fresh = act_g(d, clipped(x_at(at + 2u * kHidden) + "
        << (reset_first ? "sums[2][b]" : "reset * linear") << "));\n";
    out << "  return vec2f(mix(fresh, before, " << (reset_first ? "memory" : "z") << "), 0.0f);\n}\n";
  } else {
    const auto peephole = [&](int which, std::string_view of) {
      if (extra) out << " + extra_at((d * 3u + " << which << "u) * kHidden + unit) * " << of;
    };
    const auto gate = [&](std::string_view name, int k, int which, std::string_view of) {
      out << "  let " << name << " = act_f(d, clipped(", sum(k), peephole(which, of);
      out << "));\n";
    };
    gate("i", 0, 0, "memory");
    if (a.coupled) {
      out << "  let f = 1.0f - i;\n";
    } else {
      gate("f", 2, 2, "memory");
    }
    out << "  let c = f * memory + i * act_g(d, clipped(", sum(3) << "));\n";
    gate("o", 1, 1, "c");
    out << "  return vec2f(o * act_h(d, c), c);\n}\n";
  }
}

struct RecurrentSizes {
  RecurrentAttributes attributes;
  int64_t steps, rows, directions, hidden, tile = 1;
  bool software, lstm, reset_first;

  // As many workgroups as fill the device, before any owns several sequences. On a CPU loads of weights cost most:
  // there a workgroup owns up to 16 sequences, which do not fit workgroup memory (lavapipe, 20 steps of 32 sequences,
  // 512 units: 113 ms, 290 with 4).
  constexpr RecurrentSizes(const Call& call, const Target& target)
      : attributes(call.attrs),
        steps(call.operand(0).shape[0]),
        rows(call.operand(0).shape[1]),
        directions(call.operand(1).shape[0]),
        hidden(call.operand(1).shape[1]),
        software(target.adapter_class == AdapterClass::software),
        lstm(attributes.kind == RecurrentKind::lstm),
        reset_first(attributes.kind == RecurrentKind::gru && !attributes.linear_before_reset) {
    const int64_t most = software ? 16 : 4, fill = software ? 2 : 64;
    const auto fits = [&] { return software || planes() * 2 * tile * hidden * 4 <= 16384; };
    while (tile < most && 2 * tile * fill <= rows * directions && fits()) tile *= 2;
  }
  // Numbers that a unit of a sequence keeps while one dispatch does all steps.
  constexpr int64_t planes() const { return lstm ? 3 : reset_first ? 4 : 2; }
  constexpr bool given(int bit) const { return (attributes.given & bit) != 0; }
};

// What both kernels have.
constexpr void give_recurrent(Dispatch& dispatch, Emit& e, const RecurrentSizes& size, Ref weights) {
  const RecurrentAttributes& a = size.attributes;
  dispatch.functions(kExpFunctions)
      .functions(kHyperbolicFunctions)
      .functions(kLogFunctions)
      .functions(kSoftplusFunctions);
  dispatch.number("kSteps", size.steps)
      .number("kRows", size.rows)
      .number("kDirections", size.directions)
      .number("kHidden", size.hidden)
      .number("kGates", gates_of(a.kind))
      .number("kTile", size.tile)
      .number("kReverse", a.reverse)
      .flag("LENGTHS", size.given(kHasLengths))
      .flag("EXTRA", size.given(kHasExtra))
      .flag("LSTM", size.lstm)
      .slot("cell", write_cell, e.call().attrs)
      .input("x", e.operand(0))
      .buffer("r", weights)
      .output("y", e.result(0));
  if (size.given(kHasLengths)) dispatch.input("lengths", e.operand(a.operand(kHasLengths)));
  if (size.given(kHasExtra)) dispatch.input("extra", e.operand(a.operand(kHasExtra)));
}

constexpr void recurrent_resident_emit(Emit& e) {
  const RecurrentSizes size(e.call(), e.target());
  int64_t lanes = 8;  // one subgroup where barriers are dear
  while (!size.software && lanes < size.hidden && lanes < 256) lanes *= 2;
  const int64_t groups = ceil_div(size.rows, size.tile), state = size.planes() * size.tile * size.hidden;
  const bool held = state * 4 <= 16384;  // workgroup memory that every device has
  const Ref weights = e.dense(1);
  const Ref scratch = held ? Ref() : e.scratch(f32, {groups * size.directions, state});
  Dispatch dispatch = e.dispatch(kRecurrentFile);
  give_recurrent(dispatch, e, size, weights);
  dispatch.number("kGroups", groups)
      .number("kLanes", lanes)
      .number("kState", state)
      .flag("INITIAL", size.given(kHasInitial))
      .flag("HELD", held)
      .flag("MEMORY", size.lstm || size.reset_first)
      .flag("RESET_FIRST", size.reset_first);
  if (size.given(kHasInitial)) dispatch.input("initial", e.operand(size.attributes.operand(kHasInitial)));
  if (!held) dispatch.raw("state", scratch, true);
  dispatch.output("last", e.result(1)).grid(groups * size.directions);
}

// The number of a step, in memory, so that all steps are one kernel.
inline void fill_number(std::span<const int64_t> args, std::span<uint32_t> words) {
  words[0] = static_cast<uint32_t>(args[0]);
}

constexpr void copy_states(Emit& e, const Ref* from, Ref to, int64_t count) {
  const FoldedGrid grid = fold_grid(ceil_div(count, 64), e.target().max_groups);
  Dispatch dispatch = e.dispatch(kRecurrentCopyFile);
  dispatch.number("kCount", count).number("kRow", grid.row * 64).flag("GIVEN", from != nullptr);
  if (from != nullptr) dispatch.input("x", *from);
  dispatch.output("y", to).grid(grid.row, grid.rows);
}

constexpr void recurrent_steps_emit(Emit& e) {
  const RecurrentSizes size(e.call(), e.target());
  const Shape& last = e.call().result(1).shape;
  const Ref weights = e.dense(1);
  Ref now = e.scratch(f32, last), next = e.scratch(f32, last);
  const Ref initial = size.given(kHasInitial) ? e.operand(size.attributes.operand(kHasInitial)) : Ref();
  copy_states(e, size.given(kHasInitial) ? &initial : nullptr, now, last.count());
  const int64_t lanes = size.software ? 8 : 32, parts = size.software ? 1 : 8, tiles = ceil_div(size.rows, size.tile);
  const FoldedGrid grid = fold_grid(size.directions * tiles * ceil_div(size.hidden, lanes), e.target().max_groups);
  for (int64_t s = 0; s < size.steps; ++s) {
    const Ref number = e.table(u32, {1}, {fill_number, {s}});
    Dispatch dispatch = e.dispatch(kRecurrentStepFile);
    give_recurrent(dispatch, e, size, weights);
    dispatch.number("kTiles", tiles)
        .number("kLanes", lanes)
        .number("kParts", parts)
        .number("kGridRow", grid.row)
        .raw("number", number)
        .raw("now", now)
        .raw("next", next, true)
        .grid(grid.row, grid.rows);
    const Ref written = next;
    next = now, now = written;
  }
  copy_states(e, &now, e.result(1), last.count());
}
// Any call but a gru's that resets before it multiplies; with all operands and the numbers of a step there are 8
// buffers.
constexpr bool recurrent_steps_accepts(const Call& call, const Target& target) {
  const RecurrentSizes size(call, target);
  return !size.reset_first && call.operand(0).shape.count() > 0;
}
// Few sequences of wide layers: one workgroup reads all weights in every step, while the others have nothing to do.
constexpr bool recurrent_steps_prefers(const Call& call, const Target& target) {
  const RecurrentSizes size(call, target);
  const bool few = size.software ? size.rows * size.directions == 1 && size.hidden >= 128
                                 : size.rows * size.directions <= 16 && size.hidden >= 256;
  return few && recurrent_steps_accepts(call, target);
}

inline constexpr Variant kRecurrentVariants[] = {
    {"steps", recurrent_steps_accepts, recurrent_steps_emit, recurrent_steps_prefers},
    {"resident", nullptr, recurrent_resident_emit},
};

constexpr Cost recurrent_cost(const Call& call) {
  return {2.0 * static_cast<double>(call.operand(0).shape.count() * call.operand(1).shape[1]), 0};
}

}  // namespace internal

inline constexpr OpDef kRecurrent = {
    .name = "recurrent",
    .infer = internal::recurrent_infer,
    .variants = internal::kRecurrentVariants,
    .cost = internal::recurrent_cost,
    .reference = reference::recurrent,
};

namespace internal {

constexpr Recurrent recurrent(Tensor x, const RecurrentWeights& weights, const RecurrentOptions& options,
                              RecurrentKind kind, Site site) {
  Builder& g = x.builder();
  const Recurrent nothing = {{&g, -1}, {&g, -1}, {&g, -1}};
  if (!g.ok() || !x.valid() || !weights.w.valid() || !weights.r.valid()) return nothing;
  const auto fail = [&](const auto&... why) {
    g.fail(site, site.called, '(', x.shape(), ", ", weights.w.shape(), ", ", weights.r.shape(), "): ", why...);
    return nothing;
  };
  const int64_t directions = options.direction == Direction::both ? 2 : 1, gates = gates_of(kind);
  const Shape in = x.shape(), w = weights.w.shape(), r = weights.r.shape();
  if (in.rank() != 3) return fail("takes (time, batch, input)");
  const int64_t hidden = r.rank() == 3 ? r[2] : 0;
  if (hidden < 1 || r != Shape{directions, gates * hidden, hidden})
    return fail("recurrent weights must be (", directions, ", ", gates, " hidden, hidden)");
  if (w != Shape{directions, gates * hidden, in[2]})
    return fail("input weights must be ", Shape{directions, gates * hidden, in[2]});
  if (in[0] < 1) return fail("there is no time");
  const int64_t sums = directions * gates * hidden;

  RecurrentAttributes a;
  a.kind = kind;
  a.reverse = options.direction == Direction::forward ? 0 : options.direction == Direction::reverse ? 1 : 2;
  a.linear_before_reset = options.linear_before_reset, a.coupled = options.coupled, a.clip = options.clip;
  const int wanted = kind == RecurrentKind::lstm ? 3 : kind == RecurrentKind::gru ? 2 : 1;
  const auto each = static_cast<int64_t>(options.activations.size());
  if (each != 0 && each != wanted * directions) return fail(each, " activations, not ", wanted * directions);
  for (int i = 0; i < 6; ++i) {
    const bool squash = kind == RecurrentKind::rnn || i % 3 != 0;
    a.activations[i] = {squash ? CellActivationKind::tanh : CellActivationKind::sigmoid};
    if (each != 0 && i % 3 < wanted && i / 3 < directions)
      a.activations[i] = options.activations[static_cast<size_t>(i / 3 * wanted + i % 3)];
  }

  // One product for all times and directions.
  Tensor given = matmul(x, transpose(reshape(weights.w, {sums, in[2]}, site), {1, 0}, site));  // (time, batch, sums)
  Tensor shift;  // gru with linear_before_reset: the recurrent bias of h, which is added before the reset
  if (weights.bias.given()) {
    if (weights.bias.shape() != Shape{directions, 2 * gates * hidden})
      return fail("the bias must be ", Shape{directions, 2 * gates * hidden});
    const Tensor halves = reshape(weights.bias, {directions, 2, gates, hidden}, site);
    Tensor of_w = reshape(narrow(halves, 1, 0, 1, site), {sums}, site),
           of_r = reshape(narrow(halves, 1, 1, 1, site), {directions, gates, hidden}, site);
    if (kind == RecurrentKind::gru && a.linear_before_reset) {
      shift = reshape(narrow(of_r, 1, 2, 1, site), {directions, hidden}, site);
      const Tensor none = expand(g.literal(0, weights.bias.dtype()), {directions, 1, hidden}, site);
      of_r = concat({narrow(of_r, 1, 0, 2, site), none}, 1, site);
    }
    given = given + (of_w + reshape(of_r, {sums}, site));
  }
  const Tensor r_by_k = transpose(weights.r, {0, 2, 1}, site);  // (direction, k, gate and unit)
  Vec<Tensor> operands = {given, r_by_k};
  const Shape state = {directions, in[1], hidden};
  if (weights.initial_h.given() || weights.initial_c.given()) {
    const Tensor zeros = expand(g.literal(0, x.dtype()), state, site);
    const Tensor h = weights.initial_h.given() ? weights.initial_h : zeros,
                 c = weights.initial_c.given() ? weights.initial_c : zeros;
    if (h.shape() != state || c.shape() != state) return fail("initial states must be ", state);
    operands.push_back(kind == RecurrentKind::lstm ? stack({h, c}, 0, site) : unsqueeze(h, {0}, site));
    a.given |= kHasInitial;
  }
  if (weights.lengths.given()) operands.push_back(weights.lengths), a.given |= kHasLengths;
  if (kind == RecurrentKind::lstm && weights.peepholes.given()) shift = weights.peepholes;
  if (shift.given()) operands.push_back(shift), a.given |= kHasExtra;
  const Vec<int64_t> attrs = a.attrs();
  const Tensor y(&g, g.append(kRecurrent, {operands.data(), operands.size()}, {attrs.data(), attrs.size()}, site));
  const Tensor last = result_of(y, 1);
  if (!g.ok()) return nothing;
  const Tensor h = reshape(narrow(last, 0, 0, 1, site), state, site);
  return {y, h, kind == RecurrentKind::lstm ? reshape(narrow(last, 0, 1, 1, site), state, site) : Tensor()};
}

}  // namespace internal

constexpr Recurrent lstm(Tensor x, const RecurrentWeights& weights, const RecurrentOptions& options = {},
                         Site site = std::source_location::current()) {
  return internal::recurrent(x, weights, options, RecurrentKind::lstm, site.as("lstm"));
}
constexpr Recurrent gru(Tensor x, const RecurrentWeights& weights, const RecurrentOptions& options = {},
                        Site site = std::source_location::current()) {
  return internal::recurrent(x, weights, options, RecurrentKind::gru, site.as("gru"));
}
constexpr Recurrent rnn(Tensor x, const RecurrentWeights& weights, const RecurrentOptions& options = {},
                        Site site = std::source_location::current()) {
  return internal::recurrent(x, weights, options, RecurrentKind::rnn, site.as("rnn"));
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Direction, core::Recurrent, core::RecurrentOptions, core::RecurrentWeights, core::gru, core::lstm,
    core::rnn;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_RECURRENT_RECURRENT_H_

// Fourier transforms along an axis: fft ifft (complex), rfft irfft (real), fftn ifftn (several axes). Any length.
//
//   Tensor X = rfft(x * window);            // x: (..., n) real, X: (..., n / 2 + 1) c64; the window joins the load
//   Tensor power = real(X * conj(X));       // joins the store
//   Tensor y = irfft(X, n);
//
// As in NumPy: the inverse is divided by n, the forward transform or both by sqrt(n) if told ({.norm =
// FftNorm::ortho}). Computed in f32; the relative error (L2) grows with the logarithm of n and stays below 1e-7 times
// it. irfft takes the first n / 2 + 1 coefficients for granted and ignores the imaginary parts that a real signal
// cannot have.
#ifndef RLXGPU_KERNELS_FFT_FFT_H_
#define RLXGPU_KERNELS_FFT_FFT_H_

#include <initializer_list>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/fft/bodies.h"
#include "rlxgpu/kernels/fft/plan.h"
#include "rlxgpu/kernels/fft/reference.h"
#include "rlxgpu/kernels/fft/tables.h"

namespace rlxgpu::core {

using FftNorm = fourier::Norm;
struct FftOptions {
  FftNorm norm = FftNorm::backward;
};

inline constexpr KernelFile kFftFile(
#include "rlxgpu/kernels/fft/fft.wgsl"
);

inline constexpr int64_t kMostFftPoints = int64_t{1} << 24;

// Attributes: fourier::Kind, axis, fourier::Norm, n (of irfft; else anything).
constexpr void fft_infer(Infer& infer) {
  const auto kind = static_cast<fourier::Kind>(infer.attr(0));
  Shape shape = infer.shape(0);
  const int axis = normalise_axis(infer.attr(1), shape.rank());
  if (axis < 0) return infer.fail("axis ", infer.attr(1), " does not exist in rank ", shape.rank());
  if (shape.symbol(axis) >= 0)
    return infer.fail("the length of axis ", axis, " must be known: it is a run-time extent");
  if (kind == fourier::Kind::real ? !is_float(infer.dtype(0)) : infer.dtype(0) != c64) {
    return infer.fail("takes ", kind == fourier::Kind::real ? "a float" : "c64", ", not ", name_of(infer.dtype(0)));
  }
  const int64_t n = infer.attr(3);
  if (n < 1 || n > kMostFftPoints) return infer.fail("a length of ", n, " is not between 1 and 2^24");
  if (kind == fourier::Kind::real_inverse && shape[axis] != n / 2 + 1) {
    return infer.fail("a result of length ", n, " has ", n / 2 + 1, " coefficients, not ", shape[axis]);
  }
  if (kind == fourier::Kind::real || kind == fourier::Kind::real_inverse)
    shape.set(axis, kind == fourier::Kind::real ? n / 2 + 1 : n);
  infer.result(kind == fourier::Kind::real_inverse ? f32 : c64, shape);
}

namespace fourier {

constexpr Job job_of(const Call& call, Family family, const Target& target) {
  const Shape& shape = call.operand(0).shape;
  const int axis = normalise_axis(call.attr(1), shape.rank());
  Job job;
  job.kind = static_cast<Kind>(call.attr(0));
  job.norm = static_cast<Norm>(call.attr(2));
  job.n = call.attr(3);
  job.outer = shape.count(0, axis), job.inner = shape.count(axis + 1, shape.rank());
  job.family = family;
  const int64_t memory = target.max_workgroup_bytes / 8;
  if (family == Family::workgroup) job.memory = memory < 4096 ? memory : 4096;
  return job;
}

inline constexpr Parameter kRegistersParameters[] = {
    {"points", 64, 1024, kPowersOfTwo, "of a transform in one dispatch, at most"},
    {"by_lanes", 0, 64, 64, "rows of 64 points below which the lanes of a subgroup share a transform; 0: never"},
};
inline constexpr Parameter kWorkgroupParameters[] = {
    {"points", 64, 4096, kPowersOfTwo, "of a transform in one dispatch, at most"},
    {"radix", 4, 16, kPowersOfTwo, "greatest radix: points that an invocation transforms in its registers"},
    {"group", 64, 2048, kPowersOfTwo, "points of a workgroup that has several short transforms"},
    {"across", 1, 64, kPowersOfTwo, "transforms of a workgroup where neighbours in memory belong to neighbouring ones"},
    {"each", 2, 32, kPowersOfTwo, "points of an invocation"},
};
constexpr void registers_defaults(const Call&, const Target&, Parameters& p) {
  p.fill("points", 1024);
  p.fill("by_lanes", 64);
}
constexpr void workgroup_defaults(const Call& call, const Target& target, Parameters& p) {
  const int64_t memory = job_of(call, Family::workgroup, target).memory;
  int64_t points = 64;
  while (2 * points <= memory) points *= 2;
  p.fill("points", points);
  p.fill("radix", 16);
  p.fill("group", 512);
  p.fill("across", 16);
  p.fill("each", 8);
}
constexpr bool valid_points(Job job, const Parameters& p) {
  job.memory = p["points"];
  return !plan(job).empty();
}
constexpr bool registers_valid(const Call& call, const Target& target, const Parameters& p) {
  return valid_points(job_of(call, Family::registers, target), p);
}
constexpr bool workgroup_valid(const Call& call, const Target& target, const Parameters& p) {
  const Job job = job_of(call, Family::workgroup, target);
  return p["points"] <= job.memory && valid_points(job, p);
}

// Of the greatest radix. A sum of four terms costs as much as two of two.
inline constexpr int kFreeBits = 2;
constexpr int bits_of(const Job& job, const Parameters& p) {
  if (job.family == Family::free) return kFreeBits;
  int bits = 4;
  while (p.has("radix") && (1 << bits) > p["radix"]) --bits;
  return bits;
}

// How the transforms of one pass share workgroups.
struct Sharing {
  int64_t together = 1, lanes = 64, memory = 16;
  bool across = false;
};
constexpr Sharing sharing_of(const Pass& pass, const Job& job, const Target& target, const Parameters& p) {
  const bool given = p.has("group");
  const int64_t group = given ? p["group"] : 512, rows_across = given ? p["across"] : 16, each = given ? p["each"] : 8;
  Sharing sharing;
  const bool is_free = job.family == Family::free;
  sharing.across = pass.in_step * pass.inner > 1;
  const int64_t wanted = sharing.across ? rows_across : group / pass.n;
  sharing.together = wanted * pass.n > job.memory ? job.memory / pass.n : wanted;
  if (sharing.together < 1) sharing.together = 1;
  if (sharing.together > pass.rows) sharing.together = pass.rows < 1 ? 1 : pass.rows;
  const int64_t points = sharing.together * pass.n;
  if (is_free) {
    sharing.memory = job.memory;
  } else {
    sharing.memory = radices_of(pass.n, bits_of(job, p)).count == 1 ? 16 : (points + 15) / 16 * 16;
    sharing.lanes = 32;
    while (sharing.lanes < points / each && sharing.lanes < 256 && sharing.lanes < target.max_invocations)
      sharing.lanes *= 2;
  }
  return sharing;
}

inline constexpr int kPlanWords = 24;

// The numbers of one pass, in the order of the text below.
struct PlanWords {
  int64_t words[kPlanWords] = {};
};
constexpr PlanWords words_of(const Pass& pass, const Sharing& sharing, const Radices& radices) {
  const FactorLayout factors = layout_of(pass);
  const int64_t all[] = {pass.n,
                         radices.packed,
                         radices.count,
                         sharing.together,
                         sharing.across,
                         pass.rows,
                         pass.inner,
                         pass.in_step,
                         pass.in_data,
                         pass.points,
                         pass.mirror,
                         pass.out_step,
                         pass.swap_a,
                         pass.swap_b,
                         pass.out_data,
                         pass.turn_in + 2 * pass.turn_before + 4 * pass.turn_after,
                         (pass.factors & kChirpBefore) != 0,
                         factors.after_at,
                         factors.step_at,
                         factors.step_low,
                         factors.order_in,
                         factors.order_out,
                         pass.alone,
                         std::bit_cast<uint32_t>(static_cast<float>(pass.scale))};
  PlanWords out;
  for (size_t i = 0; i < std::size(all); ++i) out.words[i] = all[i];
  return out;
}
inline constexpr std::string_view kSizeNames[] = {"n",       "radices",  "passes",   "together",  "across", "rows",
                                                  "inner",   "in_step",  "in_data",  "points",    "mirror", "out_step",
                                                  "swap_a",  "swap_b",   "out_data", "turns",     "before", "after_at",
                                                  "step_at", "step_low", "order_in", "order_out", "alone",  "scale"};

// The functions that return the numbers of a pass: as they are given, or (without any) from the buffer `plan`. They are
// no parameters of the file, so that they stay literals where sizes are free (compile/free_sizes.h): the bodies written
// for one length live by them.
constexpr void write_sizes(Text& out, std::span<const int64_t> args) {
  for (int i = 0; i < kPlanWords; ++i) {
    const bool is_scale = i + 1 == kPlanWords;
    out << "fn " << kSizeNames[i] << "() -> " << (is_scale ? "f32 { return bitcast<f32>(" : "u32 { return ");
    if (args.empty()) {
      out << "plan[" << i << "]";
    } else {
      out << static_cast<uint32_t>(args[static_cast<size_t>(i)]) << 'u';
    }
    out << (is_scale ? "); }\n" : "; }\n");
  }
}

// Arguments: kind and norm, n, outer, inner, which pass.
inline void fill_plan(std::span<const int64_t> args, std::span<uint32_t> words) {
  Job job;
  job.kind = static_cast<Kind>(args[0] % 4), job.norm = static_cast<Norm>(args[0] / 4);
  job.n = args[1], job.outer = args[2], job.inner = args[3];
  const Pass pass = plan(job)[static_cast<size_t>(args[4])];
  const PlanWords filled =
      words_of(pass, sharing_of(pass, job, kPortable, Parameters({})), radices_of(pass.n, kFreeBits));
  for (size_t i = 0; i < words.size() && i < static_cast<size_t>(kPlanWords); ++i)
    words[i] = static_cast<uint32_t>(filled.words[i]);
}

constexpr void emit_pass(Emit& e, const Job& job, const Pass& pass, int index, Ref from, Ref to) {
  const bool is_free = job.family == Family::free, is_registers = in_registers(job.family);
  // Of 64 points a lane of its own for each, if there are enough (lavapipe, 4096 x 64 as 64 x 64: 1.6 ms by lanes).
  const int64_t few = e.parameters().has("by_lanes") ? e.parameter("by_lanes") : 64;
  const bool by_lanes = is_registers && pass.n % 8 == 0 && (pass.n > 64 || (pass.n == 64 && pass.rows < few));
  const Sharing sharing = sharing_of(pass, job, e.target(), e.parameters());
  const Radices radices = radices_of(pass.n, bits_of(job, e.parameters()));
  const int64_t rows_each = is_registers ? (by_lanes ? 1 : 8) : sharing.together;
  const FoldedGrid grid = fold_grid(ceil_div(pass.rows, rows_each), e.target().max_groups);
  const PlanWords words = words_of(pass, sharing, radices);
  const bool has_factors = pass.factors != 0 || is_free;
  const int64_t factor_count = layout_of(pass).count;
  Dispatch dispatch = e.dispatch(kFftFile);
  dispatch.flag("SUBGROUPS", by_lanes);
  dispatch.number("kLanes", sharing.lanes)
      .number("kMemory", is_registers ? 16 : sharing.memory)
      .input("x", from)
      .output("y", to)
      .flag("FACTORS", has_factors);
  if (has_factors) dispatch.raw("factors", e.table(c64, {factor_count < 1 ? 1 : factor_count}, factor_table(pass)));
  dispatch.flag("ROOTS", !is_registers);
  if (!is_registers) dispatch.raw("roots", e.table(c64, {pass.n}, {fill_roots, {pass.n}}));
  dispatch.flag("FREE", is_free);
  if (is_free) {
    const int64_t which = static_cast<int64_t>(job.kind) + 4 * static_cast<int64_t>(job.norm);
    dispatch.raw("plan", e.table(u32, {kPlanWords}, {fill_plan, {which, job.n, job.outer, job.inner, index}}));
  }
  const bool real_in = pass.reads_operand && job.kind == Kind::real,
             real_out = pass.writes_result && job.kind == Kind::real_inverse;
  dispatch
      .slot("point_at", real_in ? "fn point_at(i : u32) -> vec2f { return vec2f(x_at(i), 0.0f); }" : std::string_view())
      .slot("point_put", real_out ? "fn point_put(i : u32, v : vec2f) { y_put(i, v.x); }" : std::string_view())
      .slot("factor_at",
            has_factors ? std::string_view() : "fn factor_at(i : u32) -> vec2f { return vec2f(1.0f, 0.0f); }");
  if (is_free) {
    dispatch.slot("sizes", write_sizes, {});
  } else {
    dispatch.slot("sizes", write_sizes, {words.words, kPlanWords});
  }
  const int64_t present = pass.mirror ? pass.points : pass.in_data;  // not zero, along the axis
  if (by_lanes) {
    dispatch.slot("body", write_lanes, {pass.n, present / pass.in_step, ceil_div(present, pass.in_step)});
  } else if (is_registers) {
    dispatch.slot("body", write_rows, {pass.n, 8, present / pass.in_step});
  } else if (is_free) {
    dispatch.slot("body");
  } else {
    dispatch.slot("body", write_passes,
                  {pass.n, radices.packed, radices.count, sharing.together, sharing.across, sharing.lanes});
  }
  dispatch.grid(grid.row, grid.rows);
}

template <Family kFamily>
constexpr void emit(Emit& e) {
  Job job = job_of(e.call(), kFamily, e.target());
  if (e.parameters().has("points")) job.memory = e.parameter("points");
  const Vec<Pass> passes = plan(job);
  Ref from = e.operand(0);
  for (size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = passes[i];
    // What a pass stores: its rows times its length, or what is wanted of them.
    const int64_t count = pass.alone == 0 ? pass.rows * pass.n : job.outer * pass.out_data * job.inner;
    const Ref to = pass.writes_result ? e.result() : e.scratch(c64, {count});
    emit_pass(e, job, pass, static_cast<int>(i), from, to);
    from = to;
  }
}

constexpr bool registers_accepts(const Call& call, const Target& target) {
  return target.adapter_class == AdapterClass::software && target.subgroups && target.subgroup_min == 8 &&
         target.subgroup_max == 8 && !plan(job_of(call, Family::registers, target)).empty();
}
constexpr bool unrolled_accepts(const Call& call, const Target& target) {
  return call.attr(3) > 1024 && is_unit(call.attr(3), Family::unrolled, 0) && registers_accepts(call, target);
}
constexpr bool workgroup_accepts(const Call& call, const Target& target) {
  return !plan(job_of(call, Family::workgroup, target)).empty();
}

inline constexpr Variant kVariants[] = {
    {.name = "registers",
     .accepts = registers_accepts,
     .emit = emit<Family::registers>,
     .parameters = {kRegistersParameters, registers_defaults, registers_valid}},
    {.name = "unrolled", .accepts = unrolled_accepts, .emit = emit<Family::unrolled>},
    {.name = "workgroup",
     .accepts = workgroup_accepts,
     .emit = emit<Family::workgroup>,
     .parameters = {kWorkgroupParameters, workgroup_defaults, workgroup_valid}},
    {.name = "free", .emit = emit<Family::free>}};

constexpr Cost cost(const Call& call) {
  const auto n = static_cast<double>(call.attr(3));
  double log = 0;
  for (int64_t i = 1; i < call.attr(3); i *= 2) ++log;
  const bool is_real = call.attr(0) >= 2;
  const Shape& shape = call.operand(0).shape;
  const int axis = normalise_axis(call.attr(1), shape.rank());
  const auto rows = static_cast<double>(shape.count(0, axis) * shape.count(axis + 1, shape.rank()));
  return {(is_real ? 2.5 : 5.0) * n * log * rows, 0};
}

constexpr OpDef op(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = fft_infer;
  op.variants = kVariants;
  op.absorbs = 1;
  op.absorbs_after = true;
  op.cost = cost;
  op.reference = fft_reference;
  return op;
}

}  // namespace fourier

inline constexpr OpDef kFft = fourier::op("fft"), kIfft = fourier::op("ifft"), kRfft = fourier::op("rfft"),
                       kIrfft = fourier::op("irfft");

namespace fourier {
constexpr Tensor transform(const OpDef& op, Kind kind, Tensor x, int axis, int64_t n, FftOptions options, Site site) {
  if (n == 0 && x.valid()) {
    const int at = normalise_axis(axis, x.shape().rank());
    n = at < 0 ? 1 : kind == Kind::real_inverse ? 2 * (x.shape()[at] - 1) : x.shape()[at];
  }
  return apply(op, {x}, {static_cast<int64_t>(kind), axis, static_cast<int64_t>(options.norm), n}, site);
}
}  // namespace fourier

constexpr Tensor fft(Tensor x, int axis = -1, FftOptions options = {}, Site site = std::source_location::current()) {
  return fourier::transform(kFft, fourier::Kind::forward, x, axis, 0, options, site);
}
constexpr Tensor ifft(Tensor x, int axis = -1, FftOptions options = {}, Site site = std::source_location::current()) {
  return fourier::transform(kIfft, fourier::Kind::inverse, x, axis, 0, options, site);
}
// Of real x (f32, f16, bf16): the coefficients 0 to n / 2; the others are their conjugates.
constexpr Tensor rfft(Tensor x, int axis = -1, FftOptions options = {}, Site site = std::source_location::current()) {
  return fourier::transform(kRfft, fourier::Kind::real, x, axis, 0, options, site);
}
// The real signal of n samples (0: an even number) that rfft gave x for.
constexpr Tensor irfft(Tensor x, int64_t n = 0, int axis = -1, FftOptions options = {},
                       Site site = std::source_location::current()) {
  return fourier::transform(kIrfft, fourier::Kind::real_inverse, x, axis, n, options, site);
}
// Over several axes, one after another.
constexpr Tensor fftn(Tensor x, std::initializer_list<int> axes, FftOptions options = {},
                      Site site = std::source_location::current()) {
  for (const int axis : axes) x = fft(x, axis, options, site);
  return x;
}
constexpr Tensor ifftn(Tensor x, std::initializer_list<int> axes, FftOptions options = {},
                       Site site = std::source_location::current()) {
  for (const int axis : axes) x = ifft(x, axis, options, site);
  return x;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::FftNorm, core::FftOptions, core::fft, core::fftn, core::ifft, core::ifftn, core::irfft, core::rfft;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_FFT_FFT_H_

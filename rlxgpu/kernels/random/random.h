// Random numbers: rng_bits, rng_uniform, rng_normal, and dropout.
//
//   Tensor seed = g.scalar("seed", u32);                    // another one for every run
//   Tensor noise = rng_normal(seed, {128, 768});
//   Tensor kept = dropout(x, 0.1f, seed, 1);                // stream 1: other numbers from the same seed
//
// A number depends on seed, stream and coordinates only (Threefry-2x32-20), so it is the same on every adapter, however
// often it is computed and whatever it is fused into: bits and uniform numbers to the last bit, normal ones as exactly as
// log and cos are. The column is one word of the counter, all axes before it are the other: at most 2^32 of each.
#ifndef RLXGPU_KERNELS_RANDOM_RANDOM_H_
#define RLXGPU_KERNELS_RANDOM_RANDOM_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/expand.h"
#include "rlxgpu/kernels/movement/generate.h"
#include "rlxgpu/kernels/random/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

enum class Draw : uint8_t {
  bits,     // u32
  uniform,  // f32 in [0, 1), multiples of 2^-24
  open,     // f32 in (0, 1), odd multiples of 2^-24
};

namespace internal {

inline constexpr std::string_view kThreefryText = R"(
fn rlx_threefry_turn(x : vec2u, by : u32) -> vec2u {
  let sum = x.x + x.y;
  return vec2u(sum, ((x.y << by) | (x.y >> (32u - by))) ^ sum);
}
fn rlx_threefry(key : vec2u, counter : vec2u) -> vec2u {
  var keys = vec3u(key, key.x ^ key.y ^ 0x1bd11bdau);
  var x = counter + key;
  for (var turn = 1u; turn <= 5u; turn++) {
    let by = select(vec4u(17u, 29u, 16u, 24u), vec4u(13u, 15u, 26u, 6u), turn % 2u == 1u);
    x = rlx_threefry_turn(rlx_threefry_turn(rlx_threefry_turn(rlx_threefry_turn(x, by.x), by.y), by.z), by.w);
    keys = keys.yzx;
    x += vec2u(keys.x, keys.y + turn);
  }
  return x;
}
)";

// Attributes: the stream, which of the two words, what to draw. Operands: the seed, the columns.
constexpr void threefry_infer(Infer& infer) {
  if (infer.dtype(0) != u32 || infer.shape(0).rank() != 0) return infer.fail("a seed is one u32, as g.scalar(\"seed\", u32) is");
  if (infer.dtype(1) != u32 && infer.dtype(1) != i32) return infer.fail("columns are i32 or u32, not ", name_of(infer.dtype(1)));
  infer.result(infer.attr(2) == static_cast<int64_t>(Draw::bits) ? u32 : f32, infer.shape(1));
}

constexpr void threefry_at(At& at) {
  Name row = at.let("0u");
  for (int axis = 0; axis + 1 < at.shape().rank(); ++axis) row = at.let(row, " * ", at.shape()[axis], "u + ", at.coord(axis));
  const Name bits = at.let("rlx_threefry(vec2u(", at.operand(0, {}), ", ", at.attr(0), "u), vec2u(bitcast<u32>(", at.operand(1), "), ", row,
                           "))", at.attr(1) == 0 ? ".x" : ".y");
  switch (static_cast<Draw>(at.attr(2))) {
    case Draw::bits: at.result() << bits; break;
    case Draw::uniform: at.result() << "f32(" << bits << " >> 8u) * 0x1p-24f"; break;
    case Draw::open: at.result() << "(f32(" << bits << " >> 9u) + 0.5) * 0x1p-23f"; break;
  }
}

}  // namespace internal

inline constexpr OpDef kThreefry = {
    .name = "threefry",
    .infer = internal::threefry_infer,
    .at = internal::threefry_at,
    .wgsl = {internal::kThreefryText},
    .reference = threefry_reference,
};

// Numbers for given columns: element [..., i] belongs to column columns[..., i].
constexpr Tensor rng_at(Tensor seed, Tensor columns, Draw draw, uint32_t stream = 0, int word = 0, Site site = std::source_location::current()) {
  return apply(kThreefry, {seed, columns}, {stream, word, static_cast<int64_t>(draw)}, site);
}

namespace internal {
constexpr Tensor random_of(Tensor seed, const Shape& shape, Draw draw, uint32_t stream, int word, Site site) {
  Builder& g = seed.builder();
  const Tensor columns = shape.rank() == 0 ? g.literal(0, u32) : expand(iota(g, u32, shape.dim(shape.rank() - 1), 0, 1, site), shape, site);
  return rng_at(seed, columns, draw, stream, word, site);
}
}  // namespace internal

constexpr Tensor rng_bits(Tensor seed, const Shape& shape, uint32_t stream = 0, Site site = std::source_location::current()) {
  return internal::random_of(seed, shape, Draw::bits, stream, 0, site.as("rng_bits"));
}
// In [0, 1).
constexpr Tensor rng_uniform(Tensor seed, const Shape& shape, uint32_t stream = 0, Site site = std::source_location::current()) {
  return internal::random_of(seed, shape, Draw::uniform, stream, 0, site.as("rng_uniform"));
}
// Of mean 0 and variance 1 (Box and Muller).
constexpr Tensor rng_normal(Tensor seed, const Shape& shape, uint32_t stream = 0, Site site = std::source_location::current()) {
  const Tensor radius = internal::random_of(seed, shape, Draw::open, stream, 0, site.as("rng_normal"));
  const Tensor turns = internal::random_of(seed, shape, Draw::uniform, stream, 1, site.as("rng_normal"));
  return sqrt(log(radius) * -2.0f) * cos(turns * 6.283185307f);
}
// Zero with probability p, else x / (1 - p).
constexpr Tensor dropout(Tensor x, float p, Tensor seed, uint32_t stream = 0, Site site = std::source_location::current()) {
  if (!(p >= 0 && p < 1)) x.builder().fail(site, "dropout: a probability from 0 to below 1 is wanted");
  const Tensor kept = ge(rng_uniform(seed, x.shape(), stream, site.as("dropout")), p);
  return where(kept, x * (1 / (1 - p)), 0.0f);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Draw, core::dropout, core::rng_at, core::rng_bits, core::rng_normal, core::rng_uniform;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_RANDOM_RANDOM_H_

// fourier::plan: the dispatches that compute a Fourier transform, as numbers.
//
//   for (const fourier::Pass& pass : fourier::plan({.kind = Kind::forward, .n = 1000, .outer = 8})) ...
//
// A length whose prime factors are at most 13 is one pass where a workgroup (or a lane's registers) can hold it, else
// two or three whose lengths multiply to it (the four-step method, columns then rows). A prime n with such an n - 1 is
// a cyclic convolution of n - 1 points in another order (Rader); any other length one of m points, the power of two
// from 2 n - 1 on (Bluestein): a transform, a product, and one back.
#ifndef RLXGPU_KERNELS_FFT_PLAN_H_
#define RLXGPU_KERNELS_FFT_PLAN_H_

#include <cstdint>

#include "rlxgpu/base/math.h"
#include "rlxgpu/base/vec.h"

namespace rlxgpu::core::fourier {

enum class Kind : uint8_t {
  forward,       // complex to complex
  inverse,       // complex to complex
  real,          // real to the first n / 2 + 1 complex results
  real_inverse,  // those to real
};
enum class Norm : uint8_t { backward, forward, ortho };

// How one pass is computed.
enum class Family : uint8_t {
  registers,  // by straight code in the registers of a lane or of a subgroup of 8: for adapters that run on a CPU
  unrolled,  // the same to 4096 points in one pass: ten seconds and more to compile, and not faster yet than two passes
  workgroup,  // through workgroup memory, with all sizes known to the compiler
  free,       // the same with sizes read from a buffer: one kernel for all lengths
};

struct Job {
  Kind kind = Kind::forward;
  int64_t n = 1;
  Norm norm = Norm::backward;
  int64_t outer = 1, inner = 1;  // the tensor is (outer, n, inner)
  Family family = Family::free;
  int64_t memory =
      1024;  // points of a pass at most: that fit in a workgroup's memory (free: in half of it) or registers
};

// What is multiplied by, entry by entry: sections of one table (tables.h).
enum Factors : uint8_t {
  kChirpBefore = 1,
  kChirpAfter = 2,
  kSpectrumAfter = 4,  // of the chirp
  kStep = 8,           // roots of unity between two passes of one transform
  kRaderSpectrum = 16,
  kRaderIn = 32,  // places
  kRaderOut = 64,
};

// One dispatch. The names are those of fft.wgsl.
struct Pass {
  int64_t n = 1, rows = 1, inner = 1;
  int64_t in_step = 1, in_data = 1, points = 1;
  bool mirror = false;
  int64_t out_step = 1, swap_a = 1, swap_b = 1, out_data = 1;
  bool turn_in = false, turn_before = false, turn_after = false;
  int factors = 0;  // of Factors
  int alone = 0;
  int64_t chirp = 0, spectrum = 0;  // n and m of a convolution
  int64_t step = 0;                 // roots of unity of this order
  double scale = 1;
  bool reads_operand = false, writes_result = false;
};

constexpr bool is_smooth(int64_t n) {
  for (const int64_t p : {2, 3, 5, 7, 11, 13}) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

constexpr bool in_registers(Family family) { return family == Family::registers || family == Family::unrolled; }
constexpr int64_t most_of(Family family, int64_t memory) {
  return family == Family::registers ? (memory < 1024 ? memory : 1024) : family == Family::unrolled ? 4096 : memory;
}

// A transform of n points that is one pass.
constexpr bool is_unit(int64_t n, Family family, int64_t memory) {
  if (in_registers(family)) return (n <= 64 || (n % 8 == 0 && n <= most_of(family, memory))) && is_smooth(n);
  return n <= memory && is_smooth(n);
}

// Lengths of passes that multiply to n, as even as possible; empty when three are not enough.
constexpr Vec<int64_t> split(int64_t n, Family family, int64_t memory) {
  if (is_unit(n, family, memory)) return {n};
  if (!is_smooth(n)) return {};
  int64_t root = 1;
  while (root * root < n) ++root;
  const int64_t most = most_of(family, memory);
  for (int64_t a = root; a <= most && a <= n; ++a) {
    if (n % a == 0 && is_unit(a, family, memory) && is_unit(n / a, family, memory)) return {n / a, a};
  }
  int64_t cube = 1;
  while (cube * cube * cube < n) ++cube;
  for (int64_t a = cube; a <= most && a <= n; ++a) {
    if (n % a != 0 || !is_unit(a, family, memory)) continue;
    const Vec<int64_t> rest = split(n / a, family, memory);
    if (rest.size() == 2) return {rest[0], rest[1], a};
  }
  return {};
}

constexpr bool is_prime(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return false;
  }
  return n > 1;
}

constexpr double scale_of(Kind kind, Norm norm, int64_t n) {
  const bool inverse = kind == Kind::inverse || kind == Kind::real_inverse;
  if (norm == Norm::ortho) return 1 / square_root(static_cast<double>(n));
  return inverse == (norm == Norm::backward) ? 1 / static_cast<double>(n) : 1;
}

// The passes of one transform of n points; only `first` reads and only `last` stores otherwise than plainly.
constexpr void add_passes(Vec<Pass>& passes, const Job& job, int64_t n, const Pass& first, const Pass& last) {
  const Vec<int64_t> lengths = split(n, job.family, job.memory);
  int64_t before = 1, after = n;  // products of the lengths before and after this one
  for (size_t i = 0; i < lengths.size(); ++i) {
    const bool is_first = i == 0, is_last = i + 1 == lengths.size();
    Pass pass;
    pass.n = lengths[i];
    after /= pass.n;
    pass.inner = job.inner;
    pass.rows = job.outer * job.inner * (n / pass.n);
    pass.in_step = after;
    pass.in_data = pass.points = pass.n * after;
    pass.out_step = after;
    pass.out_data = pass.n * after;
    if (is_first) {
      pass.in_data = first.in_data, pass.points = first.points;
      pass.mirror = first.mirror, pass.turn_in = first.turn_in;
      pass.factors |= first.factors, pass.chirp = first.chirp;
      pass.reads_operand = first.reads_operand;
    }
    if (is_last) {
      pass.out_step = before;
      if (lengths.size() == 3) pass.swap_a = lengths[0], pass.swap_b = lengths[1];
      pass.out_data = last.out_data, pass.turn_before = last.turn_before, pass.turn_after = last.turn_after;
      pass.factors |= last.factors, pass.chirp = last.chirp > 0 ? last.chirp : pass.chirp,
                                    pass.spectrum = last.spectrum;
      pass.scale = last.scale;
      pass.alone = last.alone;
      pass.writes_result = last.writes_result;
    } else {
      pass.factors |= kStep;
      pass.step = pass.n * after;
    }
    before *= pass.n;
    passes.push_back(pass);
  }
}

// Empty when the family cannot.
constexpr Vec<Pass> plan(const Job& job) {
  const bool inverse = job.kind == Kind::inverse || job.kind == Kind::real_inverse;
  Pass first, last;
  first.reads_operand = last.writes_result = true;
  first.in_data = job.kind == Kind::real_inverse ? job.n / 2 + 1 : job.n;
  first.points = job.n;
  first.mirror = job.kind == Kind::real_inverse;
  first.turn_in = last.turn_after = inverse;
  last.out_data = job.kind == Kind::real ? job.n / 2 + 1 : job.n;
  last.scale = scale_of(job.kind, job.norm, job.n);
  Vec<Pass> passes;
  if (is_smooth(job.n)) {
    add_passes(passes, job, job.n, first, last);
    return passes;
  }
  if (is_prime(job.n) && is_unit(job.n - 1, job.family, job.memory)) {
    Pass middle_out, middle_in;
    first.factors = kRaderIn, first.chirp = job.n;
    middle_out.factors = kRaderSpectrum, middle_out.chirp = job.n;
    middle_out.out_data = middle_in.in_data = middle_in.points = job.n;  // result 0 is kept behind the others
    middle_out.turn_after = last.turn_before = true;
    middle_out.alone = 1, last.alone = 2;
    last.factors = kRaderOut, last.chirp = job.n;
    add_passes(passes, job, job.n - 1, first, middle_out);
    add_passes(passes, job, job.n - 1, middle_in, last);
    return passes;
  }
  int64_t m = 1;
  while (m < 2 * job.n - 1) m *= 2;
  if (split(m, job.family, job.memory).empty()) return {};
  Pass middle_out, middle_in;
  first.factors = kChirpBefore, first.chirp = job.n;
  middle_out.factors = kSpectrumAfter, middle_out.chirp = job.n, middle_out.spectrum = m;
  middle_out.out_data = middle_in.in_data = middle_in.points = m;
  middle_out.turn_after = last.turn_before = true;
  last.factors = kChirpAfter, last.chirp = job.n;
  add_passes(passes, job, m, first, middle_out);
  add_passes(passes, job, m, middle_in, last);
  return passes;
}

// Radices of the passes through workgroup memory, one less each, four bits each.
struct Radices {
  uint32_t packed = 0;
  int count = 0;
  constexpr int operator[](int i) const { return static_cast<int>(packed >> (4 * i) & 15) + 1; }
};
// `most_bits` of a radix that is a power of two.
constexpr Radices radices_of(int64_t n, int most_bits) {
  Radices radices;
  const auto add = [&](int r) { radices.packed |= static_cast<uint32_t>(r - 1) << (4 * radices.count++); };
  if (n == 1) add(1);
  for (const int r : {13, 11, 7, 5, 3}) {
    while (n % r == 0) add(r), n /= r;
  }
  int bits = 0;
  while (n % 2 == 0) ++bits, n /= 2;
  for (int left = (bits + most_bits - 1) / most_bits; left > 0; --left) {
    const int share = (bits + left - 1) / left;
    add(1 << share);
    bits -= share;
  }
  return radices;
}

}  // namespace rlxgpu::core::fourier

#endif  // RLXGPU_KERNELS_FFT_PLAN_H_

// Bodies of fft.wgsl that are written for one length: transforms in registers, and passes through workgroup memory.
//
// On adapters that run on a CPU (lavapipe), moving points through memory costs more than computing with them, barriers
// cost most of all, and a shuffle is one instruction. So:
// - to 64 points each invocation has a transform of its own;
// - to 1024 points, a multiple of 8, each lane of a subgroup of 8 transforms every eighth point, and three exchanges
//   between lanes finish the work. The factors between are chosen by lane number among literals: lavapipe's compiler
//   knows a lane's number, so what is left of the choice is one constant vector. (From a table: 1.6 times the time.)
#ifndef RLXGPU_KERNELS_FFT_BODIES_H_
#define RLXGPU_KERNELS_FFT_BODIES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/kernels/fft/codelet.h"
#include "rlxgpu/kernels/fft/plan.h"

namespace rlxgpu::core::fourier {

// Arguments: n, lanes of a workgroup, points before which all are given.
constexpr void write_rows(Text& out, std::span<const int64_t> args) {
  const int64_t n = args[0], lanes = args[1];
  out << "@compute @workgroup_size(" << lanes << ")\n"
      << "fn main(@builtin(workgroup_id) group : vec3u, @builtin(num_workgroups) groups : vec3u,\n"
      << "        @builtin(local_invocation_index) lane : u32) {\n"
      << "  let row = min((group.y * groups.x + group.x) * " << lanes << "u + lane, rows() - 1u);\n";
  Codelet code(out);
  Vec<int> x;
  for (int64_t j = 0; j < n; ++j) x.push_back(code.let(j < args[2] ? "fetch_given" : "fetch", "(row, ", j, "u)"));
  const Vec<int> y = code.dft(x);
  for (int64_t k = 0; k < n; ++k) out << "  deliver(row, " << k << "u, a" << y[static_cast<size_t>(k)] << ");\n";
  out << "}\n";
}

// vec2f of e^(-2 pi i k / n).
struct RootLiteral {
  int64_t k, n;
  friend constexpr Text& operator<<(Text& out, RootLiteral root) {
    const Turn w = turn(root.k, root.n);
    return out << "vec2f(" << FloatLiteral{w.cos} << ", " << FloatLiteral{-w.sin} << ')';
  }
};

// Lane l transforms points l, l + 8, ...: its result k times the root l k of order n, transformed over the lanes, is
// result k + (n / 8) times the bits of l reversed. Arguments: n, the points before which
// all are given, and from which on all are zero.
constexpr void write_lanes(Text& out, std::span<const int64_t> args) {
  const int64_t n = args[0], each = n / 8, given_to = args[1], zero_from = args[2];
  out << "@compute @workgroup_size(8)\n"
      << "fn main(@builtin(workgroup_id) group : vec3u, @builtin(num_workgroups) groups : vec3u,\n"
      << "        @builtin(subgroup_invocation_id) lane : u32) {\n"
      << "  let row = min(group.y * groups.x + group.x, rows() - 1u);\n"
      << "  let b0 = (lane & 1u) != 0u;\n  let b1 = (lane & 2u) != 0u;\n  let b2 = (lane & 4u) != 0u;\n"
      << "  let s0 = select(1.0f, -1.0f, b0);\n  let s1 = select(1.0f, -1.0f, b1);\n  let s2 = select(1.0f, -1.0f, "
         "b2);\n"
      << "  let w1 = select(vec2f(1.0f, 0.0f), vec2f(0.0f, -1.0f), b1 && b0);\n"
      << "  let w2 = select(vec2f(1.0f, 0.0f), select(select(vec2f(1.0f, 0.0f), " << RootLiteral{1, 8}
      << ", b0), select("
      << "vec2f(0.0f, -1.0f), " << RootLiteral{3, 8} << ", b0), b1), b2);\n"
      << "  let at = (((lane & 1u) << 2u) | (lane & 2u) | (lane >> 2u)) * " << each << "u;\n";
  Codelet code(out);
  using Var = Codelet::Var;
  Vec<int> x;
  for (int64_t j = 0; j < each; ++j) {
    if (8 * j >= zero_from) {
      x.push_back(code.let("vec2f()"));
    } else {
      x.push_back(code.let(8 * j + 8 <= given_to ? "fetch_given" : "fetch", "(row, lane + ", 8 * j, "u)"));
    }
  }
  const Vec<int> y = code.dft(x);
  for (int64_t k = 0; k < each; ++k) {
    int v = y[static_cast<size_t>(k)];
    if (k > 0) {
      const auto pair = [&](int64_t lane) {
        Text text;
        text << "select(" << RootLiteral{lane * k, n} << ", " << RootLiteral{(lane + 1) * k, n} << ", b0)";
        return text;
      };
      const int w =
          code.let("select(select(", pair(0), ", ", pair(2), ", b1), select(", pair(4), ", ", pair(6), ", b1), b2)");
      v = code.let("product(", Var{v}, ", ", Var{w}, ")");
    }
    v = code.let("product(subgroupShuffleXor(", Var{v}, ", 4u) + s2 * ", Var{v}, ", w2)");
    v = code.let("product(subgroupShuffleXor(", Var{v}, ", 2u) + s1 * ", Var{v}, ", w1)");
    v = code.let("subgroupShuffleXor(", Var{v}, ", 1u) + s0 * ", Var{v});
    out << "  deliver(row, at + " << k << "u, a" << v << ");\n";
  }
  out << "}\n";
}

inline constexpr std::string_view kPassFunctions =
    R"(// In passes through workgroup memory, in place: a pass with radix r transforms r points that lie `rest` apart, and
// multiplies by the factors of what is left to do:
//      n = 12 = 3 * 4     pass 0, rest 4: (0 4 8) (1 5 9) ..      pass 1, rest 1: (0 1 2 3) (4 5 6 7) ..
// The first pass reads x, the last stores y; there butterflies are taken in the order of their results, which is that
// of their places with the digits reversed. A barrier between passes.
var<workgroup> memory : array<vec2f, kMemory>;

fn row_of(row : u32) -> u32 { return min(row, rows() - 1u); }

fn radix(pass_number : u32) -> u32 { return ((radices() >> (4u * pass_number)) & 15u) + 1u; }

// Places whose numbers differ by 16 are not in the same bank.
fn place(t : u32, a : u32) -> u32 {
  let i = t * n() + a;
  return i ^ ((i >> 4u) & 15u);
}

fn take(first : bool, row : u32, t : u32, a : u32) -> vec2f {
  if (first) { return fetch(row, a); }
  return memory[place(t, a)];
}

fn put(last : bool, row : u32, t : u32, a : u32, k : u32, root : u32, v : vec2f) {
  if (last) {
    deliver(row, k, v);
  } else {
    memory[place(t, a)] = product(v, roots[root]);
  }
}

fn reversed(q : u32) -> u32 {
  var rest = q;
  var block = 0u;
  for (var p = 0u; p + 1u < passes(); p++) {
    block = block * radix(p) + rest % radix(p);
    rest /= radix(p);
  }
  return block;
}

struct Butterfly {
  first : bool,
  last : bool,
  base : u32,
  root : u32,
}
fn butterfly_of(r : u32, q : u32, rest : u32) -> Butterfly {
  var b : Butterfly;
  b.first = rest * r == n();
  b.last = rest == 1u;
  var block = q / rest;
  if (b.last) { block = reversed(q); }
  b.base = block * (rest * r) + q % rest;
  b.root = (q % rest) * (n() / (rest * r));
  return b;
}
)";

// A butterfly for each of these radices.
constexpr void write_butterflies(Text& out, const Radices& radices) {
  for (int r = 1; r <= 16; ++r) {
    bool used = false;
    for (int i = 0; i < radices.count; ++i) used = used || radices[i] == r;
    if (!used) continue;
    out << "fn butterfly_" << r << "(row : u32, t : u32, q : u32, rest : u32) {\n"
        << "  let b = butterfly_of(" << r << "u, q, rest);\n";
    Codelet code(out);
    Vec<int> x;
    for (int j = 0; j < r; ++j) x.push_back(code.let("take(b.first, row, t, b.base + ", j, "u * rest)"));
    const Vec<int> y = code.dft(x);
    for (int k = 0; k < r; ++k) {
      out << "  put(b.last, row, t, b.base + " << k << "u * rest, q + " << k << "u * (n() / " << r << "u), " << k
          << "u * b.root, a" << y[static_cast<size_t>(k)] << ");\n";
    }
    out << "}\n";
  }
}

// One loop for each pass, with its sizes. Arguments: n, packed radices, their number, transforms together, across,
// lanes.
constexpr void write_passes(Text& out, std::span<const int64_t> args) {
  const int64_t n = args[0], together = args[3], lanes = args[5];
  const Radices radices = {static_cast<uint32_t>(args[1]), static_cast<int>(args[2])};
  out << kPassFunctions;
  write_butterflies(out, radices);
  out << "@compute @workgroup_size(" << lanes << ")\n"
      << "fn main(@builtin(workgroup_id) group : vec3u, @builtin(num_workgroups) groups : vec3u,\n"
      << "        @builtin(local_invocation_index) id : u32) {\n"
      << "  let first_row = (group.y * groups.x + group.x) * " << together << "u;\n";
  int64_t rest = n;
  for (int p = 0; p < radices.count; ++p) {
    const int64_t r = radices[p], each = n / r;
    rest /= r;
    if (p > 0) out << "  workgroupBarrier();\n";
    out << "  for (var b = id; b < " << together * each << "u; b += " << lanes << "u) {\n";
    if (args[4] != 0) {
      out << "    let t = b % " << together << "u;\n    let q = b / " << together << "u;\n";
    } else {
      out << "    let t = b / " << each << "u;\n    let q = b % " << each << "u;\n";
    }
    out << "    butterfly_" << r << "(row_of(first_row + t), t, q, " << rest << "u);\n  }\n";
  }
  out << "}\n";
}

}  // namespace rlxgpu::core::fourier

#endif  // RLXGPU_KERNELS_FFT_BODIES_H_

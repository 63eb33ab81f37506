// What 32 neighbours of a block are, in WGSL, for formats where more is gained than by unpack4 eight times:
// fn part_of(b : u32, s : u32) -> Part, of elements 32 s to 32 s + 31 of the block at byte b, as codes, scales and
// least values. It may call what rlxgpu/kernels/blocks/part.part.wgsl has, besides what unpack4 may call.
#ifndef RLXGPU_GRAPH_BLOCK_PARTS_H_
#define RLXGPU_GRAPH_BLOCK_PARTS_H_

#include <string_view>

#include "rlxgpu/graph/block_texts.h"

namespace rlxgpu::core::block_codecs {

inline constexpr char kCurveText[] = R"(// kCurve, 128 more, by choices: a table in memory is read lane by lane on CPUs.
fn curved(q : u32) -> vec4f {
  let i = unpack4xU8(q);
  let odd = (i & vec4u(4u)) != vec4u();
  let low = select(vec4u(1059919873u), vec4u(1986682191u), odd);
  let high = select(vec4u(2795081089u), vec4u(4057580981u), odd);
  return vec4f((select(low, high, (i & vec4u(8u)) != vec4u()) >> ((i & vec4u(3u)) * 8u)) & vec4u(255u));
}
fn curve(q : vec4u) -> array<vec4f, 8> {
  let l = q & vec4u(0x0f0f0f0fu);
  let h = (q >> vec4u(4u)) & vec4u(0x0f0f0f0fu);
  return array<vec4f, 8>(curved(l.x), curved(l.y), curved(l.z), curved(l.w), curved(h.x), curved(h.y), curved(h.z),
                         curved(h.w));
}
)";
inline constexpr std::string_view kPartQ4_0 = R"(fn part_of(b : u32, s : u32) -> Part {
  let d = half_at(b);
  let q = four_words(b + 2u);
  return Part(bytes_of(q & vec4u(0x0f0f0f0fu), (q >> vec4u(4u)) & vec4u(0x0f0f0f0fu)), vec2f(d), vec2f(-8.0f * d));
})";
inline constexpr std::string_view kPartQ4_1 = R"(fn part_of(b : u32, s : u32) -> Part {
  let q = four_words(b + 4u);
  return Part(bytes_of(q & vec4u(0x0f0f0f0fu), (q >> vec4u(4u)) & vec4u(0x0f0f0f0fu)), vec2f(half_at(b)),
              vec2f(half_at(b + 2u)));
})";
inline constexpr std::string_view kPartQ8_0 = R"(fn part_of(b : u32, s : u32) -> Part {
  var codes : array<vec4f, 8>;
  let at = b / 4u;
  let middle = b % 4u == 0u;  // of a word is where the codes begin
  var last = word(at);
  let d = half_of(select(last >> 16u, last & 0xffffu, middle));
  for (var i = 0u; i < 8u; i++) {
    let next = word(at + 1u + i);
    codes[i] = vec4f(unpack4xI8(select(next, (last >> 16u) | (next << 16u), middle)));
    last = next;
  }
  return Part(codes, vec2f(d), vec2f());
})";
inline constexpr std::string_view kPartQ4_K = R"(fn part_of(b : u32, s : u32) -> Part {
  let at = b / 4u;
  let shift = (s & 3u) * 8u;
  let late = s >= 4u;
  let p0 = word(at + 1u) >> shift;
  let p1 = word(at + 2u) >> shift;
  let p2 = word(at + 3u) >> shift;
  let scale = select(p0 & 63u, (p2 & 15u) | ((p0 >> 2u) & 48u), late);
  let least = select(p1 & 63u, ((p2 >> 4u) & 15u) | ((p1 >> 2u) & 48u), late);
  let first = at + 4u + s / 2u * 8u;
  var codes : array<vec4f, 8>;
  for (var i = 0u; i < 8u; i++) { codes[i] = vec4f(unpack4xU8((word(first + i) >> (s % 2u * 4u)) & 0x0f0f0f0fu)); }
  let head = word(at);
  return Part(codes, vec2f(half_of(head & 0xffffu) * f32(scale)), vec2f(-half_of(head >> 16u) * f32(least)));
})";
inline constexpr std::string_view kPartQ5_K = R"(fn part_of(b : u32, s : u32) -> Part {
  let at = b / 4u;
  let shift = (s & 3u) * 8u;
  let late = s >= 4u;
  let p0 = word(at + 1u) >> shift;
  let p1 = word(at + 2u) >> shift;
  let p2 = word(at + 3u) >> shift;
  let scale = select(p0 & 63u, (p2 & 15u) | ((p0 >> 2u) & 48u), late);
  let least = select(p1 & 63u, ((p2 >> 4u) & 15u) | ((p1 >> 2u) & 48u), late);
  let first = at + 12u + s / 2u * 8u;
  var codes : array<vec4f, 8>;
  for (var i = 0u; i < 8u; i++) { 
    let fifth = (word(at + 4u + i) >> s) & 0x01010101u;
    codes[i] = vec4f(unpack4xU8(((word(first + i) >> (s % 2u * 4u)) & 0x0f0f0f0fu) | (fifth << 4u)));
  }
  let head = word(at);
  return Part(codes, vec2f(half_of(head & 0xffffu) * f32(scale)), vec2f(-half_of(head >> 16u) * f32(least)));
})";
inline constexpr std::string_view kPartQ6_K = R"(fn part_of(b : u32, s : u32) -> Part {
  let shift = b % 4u * 8u;
  let low = (b + s / 4u * 64u + s % 2u * 32u) / 4u;
  let high = (b + 128u + s / 4u * 32u) / 4u;
  var codes : array<vec4f, 8>;
  var l = word(low);
  var h = word(high);
  for (var i = 0u; i < 8u; i++) {
    let next_l = word(low + 1u + i);
    let next_h = word(high + 1u + i);
    codes[i] = vec4f(unpack4xU8(((funnel(l, next_l, shift) >> (s / 2u % 2u * 4u)) & 0x0f0f0f0fu) |
                                (((funnel(h, next_h, shift) >> (s % 4u * 2u)) & 0x03030303u) << 4u)));
    l = next_l;
    h = next_h;
  }
  let scales = vec2u(byte_at(b + 192u + 2u * s), byte_at(b + 193u + 2u * s)) << vec2u(24u);
  let scale = vec2f(bitcast<vec2i>(scales) >> vec2u(24u)) * half_at(b + 208u);
  return Part(codes, scale, -32.0f * scale);
})";
inline constexpr char kIq4NlPartAlone[] = R"(fn part_of(b : u32, s : u32) -> Part {
  let d = half_at(b);
  return Part(curve(four_words(b + 2u)), vec2f(d), vec2f(-128.0f * d));
})";
inline constexpr Joined kPartIq4Nl(kCurveText, kIq4NlPartAlone);
inline constexpr char kIq4XsPartAlone[] = R"(fn part_of(b : u32, s : u32) -> Part {
  let at = b / 4u;
  let head = word(at);
  let scale = ((word(at + 1u) >> (s * 4u)) & 15u) | (((head >> (16u + 2u * s)) & 3u) << 4u);
  let d = half_of(head & 0xffffu) * (f32(scale) - 32.0f);
  return Part(curve(four_words(b + 8u + 16u * s)), vec2f(d), vec2f(-128.0f * d));
})";
inline constexpr Joined kPartIq4Xs(kCurveText, kIq4XsPartAlone);
inline constexpr std::string_view kPartMxfp4 = R"(// Twice E2M1 of four bytes, and 16 more, so that none is negative.
fn four_bits(q : u32) -> u32 {
  let t = q & 0x07070707u;
  let top = t & (((t >> 2u) & 0x01010101u) * 3u);
  let size = t + top + (((top >> 1u) & top & 0x01010101u) << 1u);
  return 0x10101010u + size - 2u * (size & (((q >> 3u) & 0x01010101u) * 255u));
}
fn part_of(b : u32, s : u32) -> Part {
  let e = byte_at(b);
  let small = e < 2u;  // as in unpack4
  let scale = bitcast<f32>(select(max(e, 1u) - 1u, e + 2u, small) << 23u) * select(1.0f, 0.125f, small);
  let q = four_words(b + 1u);
  let l = vec4u(four_bits(q.x), four_bits(q.y), four_bits(q.z), four_bits(q.w));
  let r = q >> vec4u(4u);
  let h = vec4u(four_bits(r.x), four_bits(r.y), four_bits(r.z), four_bits(r.w));
  return Part(bytes_of(l, h), vec2f(scale), vec2f(-16.0f * scale));
})";

}  // namespace rlxgpu::core::block_codecs

#endif  // RLXGPU_GRAPH_BLOCK_PARTS_H_

/*/**/R"wgsl(*/
// Of two neighbouring words the one that begins so many bits, fewer than 32, after the first.
fn funnel(low : u32, high : u32, shift : u32) -> u32 { return (low >> shift) | ((high << 1u) << (31u - shift)); }
// 16 bytes from any place on; the word behind them is read only if one of them is in it.
fn four_words(at : u32) -> vec4u {
  let i = at / 4u;
  let shift = at % 4u * 8u;
  let a = word(i + 1u);
  let b = word(i + 2u);
  let c = word(i + 3u);
  let last = word(i + select(4u, 3u, shift == 0u));
  return vec4u(funnel(word(i), a, shift), funnel(a, b, shift), funnel(b, c, shift), funnel(c, last, shift));
}

// 32 neighbours: codes scale + least, where both are of 16 elements each.
struct Part {
  codes : array<vec4f, 8>,
  scale : vec2f,
  least : vec2f,
}
fn bytes_of(q : vec4u, r : vec4u) -> array<vec4f, 8> {
  return array<vec4f, 8>(vec4f(unpack4xU8(q.x)), vec4f(unpack4xU8(q.y)), vec4f(unpack4xU8(q.z)), vec4f(unpack4xU8(q.w)),
                         vec4f(unpack4xU8(r.x)), vec4f(unpack4xU8(r.y)), vec4f(unpack4xU8(r.z)), vec4f(unpack4xU8(r.w)));
}
//)wgsl"

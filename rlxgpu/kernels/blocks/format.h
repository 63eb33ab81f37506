// What kernels of packed weights share: their sizes, what a format gives to a kernel file, and rows unpacked on the
// host.
#ifndef RLXGPU_KERNELS_BLOCKS_FORMAT_H_
#define RLXGPU_KERNELS_BLOCKS_FORMAT_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/emit.h"
#include "rlxgpu/compile/grid.h"
#include "rlxgpu/graph/storage.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::blocks {

constexpr int64_t words_of(Storage storage, int64_t rows, int64_t columns) {
  return ceil_div(block_bytes(storage, rows, columns), 4);
}

// attrs: storage, rows and columns of w.
struct Sizes {
  const Codec& codec;
  int64_t n, k;
};
template <typename AnyCall>
constexpr Sizes sizes_of(const AnyCall& call) {
  return {codec_of(static_cast<Storage>(call.attr(0))), call.attr(1), call.attr(2)};
}
constexpr int64_t rows_of(const Call& call) { return call.operand(0).shape.count() / sizes_of(call).k; }

inline void fill_grid(std::span<const int64_t> args, std::span<uint32_t> words) {
  const BlockGrid& grid = *kCodecs[args[0]].grid;
  for (int i = 0; i < grid.words(); ++i) words[static_cast<size_t>(i)] = grid.word(i);
}

// What blocks.part.wgsl and the functions of a format need; `words` is the operand that holds the blocks.
constexpr void give_blocks(Emit& e, Dispatch& dispatch, const Sizes& s, int words) {
  dispatch.number("kK", s.k)
      .number("kElements", s.codec.elements)
      .number("kBytes", s.codec.bytes)
      .raw("w", e.operand(words))
      .slot("unpack", s.codec.unpack4)
      .flag("GRID", s.codec.grid != nullptr)
      .slot("grid_word", s.codec.grid != nullptr ? std::string_view() : "fn grid_word(i : u32) -> u32 { return 0u; }");
  if (s.codec.grid != nullptr) {
    dispatch.raw("grid", e.table(u32, {s.codec.grid->words()}, {fill_grid, {e.attr(0)}}));
  }
}
// The same with part_of.
constexpr void give_parts(Emit& e, Dispatch& dispatch, const Sizes& s, int words) {
  give_blocks(e, dispatch, s, words);
  dispatch.slot("part", s.codec.part);
}

// The row of w that these words hold.
inline std::vector<float> decoded_row(const reference::Array& words, const Sizes& s, int64_t row) {
  std::vector<uint8_t> block(static_cast<size_t>(s.codec.bytes));
  std::vector<float> to;
  const int64_t blocks = s.k / s.codec.elements;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < s.codec.bytes; ++i) {
      const int64_t at = (row * blocks + b) * s.codec.bytes + i;
      block[static_cast<size_t>(i)] = static_cast<uint8_t>(static_cast<uint32_t>(words[at / 4]) >> (at % 4 * 8));
    }
    for (int j = 0; j < s.codec.elements; ++j) to.push_back(s.codec.decode(block.data(), j));
  }
  return to;
}

}  // namespace rlxgpu::core::blocks

#endif  // RLXGPU_KERNELS_BLOCKS_FORMAT_H_

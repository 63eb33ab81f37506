// Storage says how the elements of a packed weight lie in memory: in blocks of n elements in b bytes, scales inside.
//
//   const Codec& codec = codec_of(Storage::q4_0);            // 32 elements in 18 bytes
//   float y = codec.decode(block, 7);                        // element 7 of the block at these bytes
//
// The formats are those of GGUF files, byte for byte. One row of kCodecs is all that there is of a format: its sizes,
// what an element means in C++ (block_codecs.h), and the same in WGSL for four neighbours (block_texts.h) and, where
// that is faster, for 32 (block_parts.h).
#ifndef RLXGPU_GRAPH_STORAGE_H_
#define RLXGPU_GRAPH_STORAGE_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/graph/block_codecs.h"
#include "rlxgpu/graph/block_grids.h"
#include "rlxgpu/graph/block_parts.h"
#include "rlxgpu/graph/block_texts.h"

namespace rlxgpu::core {

enum class Storage : uint8_t {
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  tq2_0,
  mxfp4,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  iq1_s,
  iq1_m,
  tq1_0,
  nvfp4,
  q1_0,
  q2_0,
  q8_k,
};

struct Codec {
  std::string_view name;        // as GGUF's tools write it
  int gguf_type = 0;            // its number in a GGUF file
  int elements = 0, bytes = 0;  // of a block
  float (*decode)(const uint8_t* block, int j) = nullptr;
  std::string_view unpack4;
  std::string_view part = {};       // empty: eight times unpack4
  const BlockGrid* grid = nullptr;  // that codes are indices into
};

// In the order of Storage.
inline constexpr Codec kCodecs[] = {
    {"Q4_0", 2, 32, 18, block_codecs::q4_0, block_codecs::kUnpackQ4_0, block_codecs::kPartQ4_0},
    {"Q4_1", 3, 32, 20, block_codecs::q4_1, block_codecs::kUnpackQ4_1, block_codecs::kPartQ4_1},
    {"Q5_0", 6, 32, 22, block_codecs::q5_0, block_codecs::kUnpackQ5_0},
    {"Q5_1", 7, 32, 24, block_codecs::q5_1, block_codecs::kUnpackQ5_1},
    {"Q8_0", 8, 32, 34, block_codecs::q8_0, block_codecs::kUnpackQ8_0, block_codecs::kPartQ8_0},
    {"Q2_K", 10, 256, 84, block_codecs::q2_k, block_codecs::kUnpackQ2_K},
    {"Q3_K", 11, 256, 110, block_codecs::q3_k, block_codecs::kUnpackQ3_K},
    {"Q4_K", 12, 256, 144, block_codecs::q4_k, block_codecs::kUnpackQ4_K.view(), block_codecs::kPartQ4_K},
    {"Q5_K", 13, 256, 176, block_codecs::q5_k, block_codecs::kUnpackQ5_K.view(), block_codecs::kPartQ5_K},
    {"Q6_K", 14, 256, 210, block_codecs::q6_k, block_codecs::kUnpackQ6_K, block_codecs::kPartQ6_K},
    {"IQ4_NL", 20, 32, 18, block_codecs::iq4_nl, block_codecs::kUnpackIq4Nl, block_codecs::kPartIq4Nl.view()},
    {"IQ4_XS", 23, 256, 136, block_codecs::iq4_xs, block_codecs::kUnpackIq4Xs, block_codecs::kPartIq4Xs.view()},
    {"TQ2_0", 35, 256, 66, block_codecs::tq2_0, block_codecs::kUnpackTq2_0},
    {"MXFP4", 39, 32, 17, block_codecs::mxfp4, block_codecs::kUnpackMxfp4, block_codecs::kPartMxfp4},
    {"IQ2_XXS", 16, 256, 66, block_codecs::iq2_xxs, block_codecs::kUnpackIq2Xxs.view(), {}, &kIq2Xxs},
    {"IQ2_XS", 17, 256, 74, block_codecs::iq2_xs, block_codecs::kUnpackIq2Xs.view(), {}, &kIq2Xs},
    {"IQ2_S", 22, 256, 82, block_codecs::iq2_s, block_codecs::kUnpackIq2S.view(), {}, &kIq2S},
    {"IQ3_XXS", 18, 256, 98, block_codecs::iq3_xxs, block_codecs::kUnpackIq3Xxs.view(), {}, &kIq3Xxs},
    {"IQ3_S", 21, 256, 110, block_codecs::iq3_s, block_codecs::kUnpackIq3S.view(), {}, &kIq3S},
    {"IQ1_S", 19, 256, 50, block_codecs::iq1_s, block_codecs::kUnpackIq1S, {}, &kIq1},
    {"IQ1_M", 29, 256, 56, block_codecs::iq1_m, block_codecs::kUnpackIq1M, {}, &kIq1},
    {"TQ1_0", 34, 256, 54, block_codecs::tq1_0, block_codecs::kUnpackTq1_0},
    {"NVFP4", 40, 64, 36, block_codecs::nvfp4, block_codecs::kUnpackNvfp4},
    {"Q1_0", 41, 128, 18, block_codecs::q1_0, block_codecs::kUnpackQ1_0},
    {"Q2_0", 42, 64, 18, block_codecs::q2_0, block_codecs::kUnpackQ2_0},
    {"Q8_K", 15, 256, 292, block_codecs::q8_k, block_codecs::kUnpackQ8_K},
};

constexpr const Codec& codec_of(Storage storage) { return kCodecs[static_cast<int>(storage)]; }

// Bytes of `rows` rows of `columns` elements, which are whole blocks.
constexpr int64_t block_bytes(Storage storage, int64_t rows, int64_t columns) {
  return rows * (columns / codec_of(storage).elements) * codec_of(storage).bytes;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Storage;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_STORAGE_H_

// What threefry means: the counter-based generator Threefry-2x32 with 20 rounds (Salmon and others, 2011).
#ifndef RLXGPU_KERNELS_RANDOM_REFERENCE_H_
#define RLXGPU_KERNELS_RANDOM_REFERENCE_H_

#include <array>
#include <bit>
#include <cstdint>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

using TwoWords = std::array<uint32_t, 2>;

inline TwoWords threefry_2x32(const TwoWords& key, const TwoWords& counter) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  TwoWords x = {counter[0] + keys[0], counter[1] + keys[1]};
  for (uint32_t round = 0; round < 20; ++round) {
    x[0] += x[1];
    x[1] = std::rotl(x[1], kRotations[round % 8]) ^ x[0];
    if (round % 4 != 3) continue;
    const uint32_t turn = round / 4 + 1;
    x[0] += keys[turn % 3];
    x[1] += keys[(turn + 1) % 3] + turn;
  }
  return x;
}

inline void threefry_reference(reference::Call& call) {
  const reference::Array& columns = call.operand(1);
  const int64_t last = columns.shape.rank() > 0 ? columns.shape[columns.shape.rank() - 1] : 1;
  for (int64_t i = 0; i < columns.count(); ++i) {
    const TwoWords key = {static_cast<uint32_t>(call.operand(0)[0]), static_cast<uint32_t>(call.attr(0))};
    const TwoWords counter = {static_cast<uint32_t>(static_cast<int64_t>(columns[i])), static_cast<uint32_t>(i / last)};
    const uint32_t bits = threefry_2x32(key, counter)[static_cast<size_t>(call.attr(1))];
    const int64_t kind = call.attr(2);
    call.result()[i] = kind == 0 ? bits : kind == 1 ? (bits >> 8) * 0x1p-24 : ((bits >> 9) + 0.5) * 0x1p-23;
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_RANDOM_REFERENCE_H_

// quantize: floats as blocks of a packed format, on all cores.
//
//   Result<std::vector<std::byte>> blocks = quantize(x, 4096, Storage::q4_k);      // rows of 4096 elements
//
// The formats that need no knowledge of which elements matter: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, MXFP4, NVFP4, Q1_0, Q2_0,
// TQ1_0 and TQ2_0, which have one right answer, and Q2_K to Q6_K, IQ4_NL and IQ4_XS, whose scales are searched for.
// IQ1, IQ2 and IQ3 are refused.
#ifndef RLXGPU_LOAD_QUANTIZE_H_
#define RLXGPU_LOAD_QUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/storage.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

struct QuantizeOfHost {
  int threads = 0;  // 0: as many as the machine has
  // Called on the caller's thread with the blocks that are done; false stops, with a status that says so.
  std::function<bool(int64_t done, int64_t blocks)> progress = {};
};

bool can_quantize(Storage storage);
// The format of this name, in any case: "q4_k".
std::optional<Storage> storage_of(std::string_view name);

Result<std::vector<std::byte>> quantize(std::span<const float> x, int64_t columns, Storage storage,
                                        const QuantizeOfHost& options = {});

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::can_quantize, core::quantize, core::QuantizeOfHost, core::storage_of;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_QUANTIZE_H_

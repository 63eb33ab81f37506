#include "rlxgpu/load/quantize.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/load/quantize_block.h"

namespace rlxgpu::core {
namespace {

using Encode = void (*)(const float* x, uint8_t* to);

Encode encoder_of(Storage storage) {
  switch (storage) {
    case Storage::q4_0:
      return quantizing::q4_0;
    case Storage::q4_1:
      return quantizing::q4_1;
    case Storage::q5_0:
      return quantizing::q5_0;
    case Storage::q5_1:
      return quantizing::q5_1;
    case Storage::q8_0:
      return quantizing::q8_0;
    case Storage::q2_k:
      return quantizing::q2_k;
    case Storage::q3_k:
      return quantizing::q3_k;
    case Storage::q4_k:
      return quantizing::q4_k;
    case Storage::q5_k:
      return quantizing::q5_k;
    case Storage::q6_k:
      return quantizing::q6_k;
    case Storage::iq4_nl:
      return quantizing::iq4_nl;
    case Storage::iq4_xs:
      return quantizing::iq4_xs;
    case Storage::tq1_0:
      return quantizing::tq1_0;
    case Storage::tq2_0:
      return quantizing::tq2_0;
    case Storage::mxfp4:
      return quantizing::mxfp4;
    case Storage::nvfp4:
      return quantizing::nvfp4;
    case Storage::q1_0:
      return quantizing::q1_0;
    case Storage::q2_0:
      return quantizing::q2_0;
    default:
      return nullptr;
  }
}

}  // namespace

bool can_quantize(Storage storage) { return encoder_of(storage) != nullptr; }

std::optional<Storage> storage_of(std::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  for (int i = 0; i < static_cast<int>(std::size(kCodecs)); ++i) {
    if (kCodecs[i].name == upper) return static_cast<Storage>(i);
  }
  return std::nullopt;
}

Result<std::vector<std::byte>> quantize(std::span<const float> x, int64_t columns, Storage storage,
                                        const QuantizeOfHost& options) {
  const Codec& codec = codec_of(storage);
  const Encode encode = encoder_of(storage);
  if (encode == nullptr) {
    return invalid_argument(absl::StrCat(codec.name, " is not made here: it needs to know which elements matter"));
  }
  const auto count = static_cast<int64_t>(x.size());
  if (columns <= 0 || columns % codec.elements != 0 || count % columns != 0) {
    return invalid_argument(absl::StrCat(count, " elements in rows of ", columns, ": rows of ", codec.name,
                                         " are whole blocks of ", codec.elements));
  }
  if (!std::all_of(x.begin(), x.end(), [](float v) { return std::isfinite(v); })) {
    return invalid_argument("an element is infinite or no number");
  }
  const int64_t blocks = count / codec.elements;
  std::vector<std::byte> to(static_cast<size_t>(blocks * codec.bytes));
  constexpr int64_t kAtOnce = 256;
  std::atomic<int64_t> next = 0, done = 0;
  std::atomic<bool> stop = false;
  const auto work = [&] {
    for (int64_t first = next.fetch_add(kAtOnce); first < blocks && !stop; first = next.fetch_add(kAtOnce)) {
      const int64_t last = std::min(blocks, first + kAtOnce);
      for (int64_t b = first; b < last; ++b) {
        encode(x.data() + b * codec.elements, reinterpret_cast<uint8_t*>(to.data()) + b * codec.bytes);
      }
      done += last - first;
    }
  };
  const int64_t wanted = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < std::min(wanted, (blocks + kAtOnce - 1) / kAtOnce); ++i) threads.emplace_back(work);
  while (options.progress && done < blocks && !stop) {
    if (!options.progress(done, blocks)) stop = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (std::thread& thread : threads) thread.join();
  if (stop) return absl::CancelledError("quantizing was stopped");
  return to;
}

}  // namespace rlxgpu::core

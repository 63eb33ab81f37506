// MoonshineDecoder: the text half of a Moonshine speech model, token by token, with its caches on the device.
//
//   absl::StatusOr<MoonshineDecoder> decoder = MoonshineDecoder::open(device, "decoder_model_merged.onnx");
//   absl::Status status = decoder->start(hidden, frames);              // what the encoder made of the sound
//   status = decoder->submit(kMoonshineStart);
//   absl::StatusOr<int32_t> next = decoder->next();                    // and so on, until kMoonshineEnd
//
// The file's own graph has other shapes at every step. Here its weights, found by the roles that the names of its nodes
// tell, are put into one graph whose caches grow in place, so that nothing is planned or uploaded between steps. It computes
// what the file says: activations are quantised to bytes with one scale for each product, and multiplied exactly.
#ifndef RLXGPU_TOOLS_MOONSHINE_DECODER_H_
#define RLXGPU_TOOLS_MOONSHINE_DECODER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::tools {

inline constexpr int32_t kMoonshineStart = 1, kMoonshineEnd = 2;

class MoonshineDecoder {
 public:
  static absl::StatusOr<MoonshineDecoder> open(const Device& device, const std::string& path);

  // Forgets the text so far. `hidden`: (frames, width), row by row. The first sound of a length class (multiples of 512
  // frames, about 12 s) takes longer: kernels are compiled.
  absl::Status start(std::span<const float> hidden, int64_t frames);
  // One token more; returns before the device is done.
  absl::Status submit(int32_t token);
  // The likeliest token after it.
  absl::StatusOr<int32_t> next();

  int64_t width() const;
  int64_t most_tokens() const;
  Executable<DynamicGraph>& step_executable();  // for profiles; after start()

 private:
  struct State;
  explicit MoonshineDecoder(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_MOONSHINE_DECODER_H_

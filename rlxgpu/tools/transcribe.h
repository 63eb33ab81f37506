// rlxgpu transcribe: what is said in a sound, by a Moonshine speech model from ONNX files.
//
//   rlxgpu transcribe speech.wav --model FOLDER
//
// FOLDER holds encoder_model.onnx, decoder_model_merged.onnx (npm's @moonshine-ai/moonshine-js has them) and
// llama-tokenizer.js (npm's llama-tokenizer-js), for the vocabulary: `./dev models` puts them there.
#ifndef RLXGPU_TOOLS_TRANSCRIBE_H_
#define RLXGPU_TOOLS_TRANSCRIBE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::tools {

struct Transcript {
  std::vector<int32_t> tokens;  // without start and end
  std::string text;
  double encoder_seconds = 0, decoder_seconds = 0;
  double idle_seconds = 0;  // of the decoder's: the device had nothing to do, since the host was about its next token
  int64_t frames = 0;
};

// One model on one device, for many sounds.
class Transcriber {
 public:
  // How sizes stand in the encoder's kernels: free ones serve every length, baked ones are faster for one.
  static absl::StatusOr<Transcriber> open(const Device& device, const std::string& folder, Sizes sizes = Sizes::free);

  // Samples at 16 kHz, up to a minute. `said` is called with the text so far after every token.
  absl::StatusOr<Transcript> transcribe(std::span<const float> samples, const std::function<void(std::string_view)>& said = {});

  Executable<DynamicGraph>& encoder();  // for profiles; after transcribe()
  Executable<DynamicGraph>& decoder();

 private:
  struct State;
  explicit Transcriber(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// The same sound at 16 kHz, filtered on the device.
absl::StatusOr<std::vector<float>> at_16_khz(const Device& device, std::vector<float> samples, uint32_t sample_rate);

struct TranscribeCommand {
  std::string in = {}, model = {};
  bool times = false;
};
// Returns the exit code.
int transcribe_command(const TranscribeCommand& command, std::ostream& out, std::ostream& err, bool on_terminal);

// Where models are without --model: $RLXGPU_MODELS, or `models` in the user's cache folder; then the model's name.
std::string model_folder(std::string_view name);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_TRANSCRIBE_H_

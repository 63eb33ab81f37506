// rlxgpu spectrogram: a picture of a sound. Time to the right, frequency (or mel bands) upwards, power as colour.
//
//   rlxgpu spectrogram speech.wav speech.png --mel 80
//
// The transforms run on the GPU, in blocks of pieces, whatever the length of the sound.
#ifndef RLXGPU_TOOLS_SPECTROGRAM_H_
#define RLXGPU_TOOLS_SPECTROGRAM_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/tools/picture.h"

namespace rlxgpu::core::tools {

struct SpectrogramCommand {
  std::string in = {}, out = {};
  int64_t length = 1024, hop = 256;  // of a piece and between pieces, in samples
  std::string window = "hann";       // rectangular, hann, hamming, blackman
  int64_t mel = 0;                   // bands; 0: all frequencies, evenly
  std::string colors = "viridis";    // viridis, magma, gray
  double range = 80;                 // dB from the darkest to the brightest
};

// Powers, (pieces, bins), row by row.
struct Spectrogram {
  int64_t pieces = 0, bins = 0;
  std::vector<float> powers;
};
absl::StatusOr<Spectrogram> spectrogram_of(const Device& device, const std::vector<float>& samples,
                                           uint32_t sample_rate, const SpectrogramCommand& command);
Picture draw(const Spectrogram& spectrogram, uint32_t sample_rate, const SpectrogramCommand& command);

// Returns the exit code.
int spectrogram_command(const SpectrogramCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_SPECTROGRAM_H_

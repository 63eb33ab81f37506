// read_wav: the samples of a WAV file, all channels mixed to one.
//
//   absl::StatusOr<Wav> wav = read_wav("speech.wav");    // 8, 16, 24 or 32-bit integers, 32 or 64-bit floats
//
// A file that is cut short, has another format or no samples is an error that says so. Files above 512 MB are refused.
#ifndef RLXGPU_TOOLS_WAV_H_
#define RLXGPU_TOOLS_WAV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace rlxgpu::core::tools {

struct Wav {
  uint32_t sample_rate = 0;
  uint32_t channels = 0;
  std::vector<float> samples;  // integers as fractions of their range
};

absl::StatusOr<Wav> read_wav(const std::string& path);
absl::StatusOr<Wav> parse_wav(std::string_view bytes);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_WAV_H_

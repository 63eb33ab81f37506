#include "rlxgpu/tools/wav.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rlxgpu::core::tools {
namespace {

constexpr uintmax_t kMostBytes = uintmax_t{512} << 20;

uint64_t little(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct Format {
  uint32_t kind = 0, channels = 0, rate = 0, bits = 0;  // kind 1: integers, 3: floats
};

float sample_at(std::string_view bytes, size_t at, const Format& format) {
  const uint64_t word = little(bytes, at, format.bits / 8);
  if (format.kind == 3) {
    return format.bits == 32 ? std::bit_cast<float>(static_cast<uint32_t>(word))
                             : static_cast<float>(std::bit_cast<double>(word));
  }
  if (format.bits == 8) return (static_cast<float>(word) - 128) / 128;  // these alone are unsigned
  const auto high = static_cast<int32_t>(static_cast<uint32_t>(word << (32 - format.bits)));
  return static_cast<float>(high) * 0x1p-31f;
}

absl::Status bad(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("no WAV file that can be read: ", what));
}

}  // namespace

absl::StatusOr<Wav> parse_wav(std::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE")
    return bad("it does not begin with RIFF and WAVE");
  Format format;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view name = bytes.substr(at, 4);
    const uint64_t size = little(bytes, at + 4, 4), left = bytes.size() - at - 8;
    if (name == "fmt ") {
      if (size < 16 || left < size) return bad("its format is cut short");
      format = {static_cast<uint32_t>(little(bytes, at + 8, 2)), static_cast<uint32_t>(little(bytes, at + 10, 2)),
                static_cast<uint32_t>(little(bytes, at + 12, 4)), static_cast<uint32_t>(little(bytes, at + 22, 2))};
      if (format.kind == 0xfffe && size >= 26)
        format.kind = static_cast<uint32_t>(little(bytes, at + 32, 2));  // "extensible"
      const bool integers =
          format.kind == 1 && (format.bits == 8 || format.bits == 16 || format.bits == 24 || format.bits == 32);
      const bool floats = format.kind == 3 && (format.bits == 32 || format.bits == 64);
      if (!integers && !floats)
        return bad(absl::StrCat("format ", format.kind, " with ", format.bits,
                                " bits is neither integers nor floats that are known"));
      if (format.channels == 0 || format.rate == 0)
        return bad(absl::StrCat(format.channels, " channels at ", format.rate, " Hz"));
    } else if (name == "data") {
      if (format.rate == 0) return bad("its samples come before their format");
      if (left < size)
        return bad(absl::StrCat("it is cut short: ", size, " bytes of samples are announced, ", left, " are there"));
      const size_t each = format.bits / 8, count = size / (each * format.channels);
      if (count == 0) return bad("it has no samples");
      Wav wav{format.rate, format.channels, std::vector<float>(count)};
      for (size_t i = 0; i < count; ++i) {
        float sum = 0;
        for (size_t c = 0; c < format.channels; ++c)
          sum += sample_at(bytes, at + 8 + (i * format.channels + c) * each, format);
        wav.samples[i] = sum / static_cast<float>(format.channels);
      }
      return wav;
    }
    if (left < size) return bad("a part of it is cut short");
    at += 8 + size + size % 2;
  }
  return bad("it has no samples");
}

absl::StatusOr<Wav> read_wav(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return absl::NotFoundError(absl::StrCat(path, ": ", error.message()));
  if (size > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", size, " bytes, at most ", kMostBytes, " are read"));
  std::ifstream file(path, std::ios::binary);
  std::string bytes(size, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size)))
    return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  absl::StatusOr<Wav> wav = parse_wav(bytes);
  if (!wav.ok()) return absl::Status(wav.status().code(), absl::StrCat(path, ": ", wav.status().message()));
  return wav;
}

}  // namespace rlxgpu::core::tools

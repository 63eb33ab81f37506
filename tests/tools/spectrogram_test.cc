// Sounds in every format are read, bad files are refused with a reason, and a chirp is a line that rises.
#include "rlxgpu/tools/spectrogram.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/tools/wav.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::tools {
namespace {

void little(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 255));
}

std::string wav_of(uint32_t kind, uint32_t bits, uint32_t channels, const std::vector<double>& samples,
                   uint32_t rate = 8000) {
  std::string data, out = "RIFF";
  for (const double s : samples) {
    if (kind == 3) {
      little(data, bits == 32 ? std::bit_cast<uint32_t>(static_cast<float>(s)) : std::bit_cast<uint64_t>(s),
             static_cast<int>(bits / 8));
    } else if (bits == 8) {
      little(data, static_cast<uint64_t>(std::lround(s * 128) + 128), 1);
    } else {
      little(data, static_cast<uint64_t>(std::llround(s * std::exp2(bits - 1))), static_cast<int>(bits / 8));
    }
  }
  little(out, 36 + data.size(), 4);
  out += "WAVEfmt ";
  little(out, 16, 4), little(out, kind, 2), little(out, channels, 2), little(out, rate, 4);
  little(out, rate * channels * bits / 8, 4), little(out, channels * bits / 8, 2), little(out, bits, 2);
  out += "data";
  little(out, data.size(), 4);
  return out + data;
}

TEST_CASE("samples of every format are read") {
  const std::vector<double> samples = {0, 0.5, -0.5, 0.25, -1, 0.75};
  for (const auto& [kind, bits] : {std::pair{1u, 8u}, {1u, 16u}, {1u, 24u}, {1u, 32u}, {3u, 32u}, {3u, 64u}}) {
    CAPTURE(kind, bits);
    const absl::StatusOr<Wav> mono = parse_wav(wav_of(kind, bits, 1, samples)),
                              stereo = parse_wav(wav_of(kind, bits, 2, samples));
    REQUIRE(mono.ok());
    CHECK(mono->samples == std::vector<float>(samples.begin(), samples.end()));
    CHECK(mono->sample_rate == 8000);
    REQUIRE(stereo.ok());
    CHECK(stereo->samples == std::vector<float>{0.25f, -0.125f, -0.125f});
  }
  std::string extensible = wav_of(1, 16, 1, samples);
  extensible.replace(20, 2, "\xfe\xff");
  extensible.replace(16, 4, std::string("\x28\0\0\0", 4));
  extensible.insert(36, std::string("\x16\0\x10\0\0\0\0\0\1\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 24));
  REQUIRE(parse_wav(extensible).ok());
  CHECK(parse_wav(extensible)->samples.size() == 6);
}

TEST_CASE("bad files are refused with a reason") {
  const std::string good = wav_of(1, 16, 1, {0.5, 0.25});
  const auto error_of = [](const std::string& bytes) { return std::string(parse_wav(bytes).status().message()); };
  CHECK(absl::StrContains(error_of(""), "does not begin with RIFF"));
  CHECK(absl::StrContains(error_of("GIF89a and more than twelve bytes"), "does not begin with RIFF"));
  CHECK(absl::StrContains(error_of(good.substr(0, 20)), "its format is cut short"));
  CHECK(absl::StrContains(error_of(good.substr(0, good.size() - 1)), "4 bytes of samples are announced, 3 are there"));
  CHECK(absl::StrContains(error_of(good.substr(0, 36)), "no samples"));
  CHECK(absl::StrContains(error_of(wav_of(1, 16, 1, {})), "no samples"));
  CHECK(absl::StrContains(error_of(wav_of(1, 12, 1, {})), "format 1 with 12 bits"));
  CHECK(absl::StrContains(error_of(wav_of(6, 8, 1, {})), "format 6 with 8 bits"));
  CHECK(absl::StrContains(error_of(wav_of(1, 16, 0, {})), "0 channels"));
  const std::string path = std::filesystem::temp_directory_path() / "rlxgpu_spectrogram_test.wav";
  std::ostringstream out, err;
  CHECK(spectrogram_command({.in = path + ".none", .out = path}, out, err) == 1);
  CHECK(absl::StrContains(err.str(), "No such file"));
  std::ofstream(path, std::ios::binary) << good;
  std::filesystem::resize_file(path, uintmax_t{2} << 30);  // sparse: takes no room
  CHECK(spectrogram_command({.in = path, .out = path}, out, err) == 1);
  CHECK(absl::StrContains(err.str(), "2147483648 bytes, at most 536870912 are read"));
  std::filesystem::remove(path);
  err.str("");
  CHECK(spectrogram_command({.in = path, .out = path, .hop = 0}, out, err) == 1);
  CHECK(absl::StrContains(err.str(), "hop 0 is not between 1 and the length 1024"));
  err.str("");
  CHECK(spectrogram_command({.in = path, .out = path, .colors = "pink"}, out, err) == 1);
  CHECK(absl::StrContains(err.str(), "colour map \"pink\" is none of"));
}

// Rows of a PNG that Picture wrote: blocks are stored as they are.
std::string rows_of(const std::string& png) {
  size_t at = 8;
  std::string rows;
  while (at + 12 <= png.size()) {
    const auto big = [&](size_t i) {
      uint32_t v = 0;
      for (size_t k = 0; k < 4; ++k) v = v << 8 | static_cast<uint8_t>(png[i + k]);
      return v;
    };
    const uint32_t size = big(at);
    if (png.substr(at + 4, 4) == "IDAT") {
      for (size_t i = at + 10; i + 5 <= at + 8 + size - 4;) {
        const size_t count = static_cast<uint8_t>(png[i + 1]) + 256u * static_cast<uint8_t>(png[i + 2]);
        rows += png.substr(i + 5, count);
        i += 5 + count;
      }
    }
    at += 12 + size;
  }
  return rows;
}

TEST_CASE("a picture is what was drawn") {
  Picture picture(300, 100, {10, 20, 30});
  picture.set(299, 99, {1, 2, 3});
  picture.set(-1, 5, {9, 9, 9});
  picture.text(2, 2, "1", {255, 0, 0});
  const std::string png = picture.png(), rows = rows_of(png);
  CHECK(png.starts_with("\x89PNG\r\n\x1a\n"));
  REQUIRE(rows.size() == 100 * (1 + 3 * 300));
  CHECK(rows.substr(0, 4) == std::string("\0\x0a\x14\x1e", 4));
  CHECK(rows.substr(rows.size() - 3) == "\1\2\3");
  CHECK(picture.at(2 + 4, 2) == Color{255, 0, 0});
}

TEST_CASE("a chirp is a line that rises", "[gpu]") {
  const Device device = testing::device_or_skip();
  std::vector<float> x(40000);
  for (size_t i = 0; i < x.size(); ++i) {  // from 0 to 4 kHz in 5 s
    const double t = static_cast<double>(i) / 8000;
    x[i] = static_cast<float>(std::sin(2 * std::acos(-1.0) * 400 * t * t));
  }
  for (const int64_t mel : {0, 20}) {
    const SpectrogramCommand command = {.length = 256, .hop = 64, .mel = mel};
    const absl::StatusOr<Spectrogram> s = spectrogram_of(device, x, 8000, command);
    REQUIRE(s.status().ToString() == "OK");
    CHECK(s->pieces == 1 + (40000 - 256) / 64);  // more than one block
    CHECK(s->bins == (mel > 0 ? mel : 129));
    int64_t last = 0;
    for (int64_t p = 0; p < s->pieces; ++p) {
      const float* const row = s->powers.data() + p * s->bins;
      const int64_t best = std::max_element(row, row + s->bins) - row;
      if (mel == 0)
        CHECK(std::fabs(static_cast<double>(best) -
                        800.0 * static_cast<double>(64 * p + 128) / 8000 / (8000.0 / 256)) <= 1.5);
      CHECK(best >= last - (mel > 0 ? 1 : 0));
      last = best;
    }
    const Picture picture = draw(*s, 8000, command);
    CHECK(picture.width() > 600);
    CHECK(picture.height() > 400);
  }
  const absl::StatusOr<Spectrogram> shorter = spectrogram_of(device, {0.5f, 0.5f}, 8000, {.length = 256, .hop = 64});
  REQUIRE(shorter.status().ToString() == "OK");
  CHECK(shorter->pieces == 1);  // filled up with zeros
}

}  // namespace
}  // namespace rlxgpu::core::tools

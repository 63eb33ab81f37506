#include "rlxgpu/tools/spectrogram.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/signal/signal.h"
#include "rlxgpu/tools/wav.h"

namespace rlxgpu::core::tools {
namespace {

constexpr Color kInk = {40, 40, 40}, kPaper = {255, 255, 255};
constexpr int kLeft = 90, kRight = 150, kTop = 24, kBottom = 56, kMostColumns = 1200, kMostRows = 400;
constexpr int64_t kBlock = 512;  // pieces in one run

constexpr Color kViridis[] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
constexpr Color kMagma[] = {{0, 0, 4}, {81, 18, 124}, {183, 55, 121}, {252, 137, 97}, {252, 253, 191}};
constexpr Color kGray[] = {{255, 255, 255}, {0, 0, 0}};

std::span<const Color> map_of(const std::string& name) {
  if (name == "magma") return kMagma;
  if (name == "gray") return kGray;
  return kViridis;
}

// Between the colours of a map; v from 0 to 1.
Color color_at(std::span<const Color> map, double v) {
  const double place = std::clamp(v, 0.0, 1.0) * static_cast<double>(map.size() - 1);
  const auto i = std::min(static_cast<size_t>(place), map.size() - 2);
  const double part = place - static_cast<double>(i);
  const auto mix = [&](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + (b - a) * part)); };
  return {mix(map[i].r, map[i + 1].r), mix(map[i].g, map[i + 1].g), mix(map[i].b, map[i + 1].b)};
}

// The round number of which at most `most` fit into `span`.
double step_for(double span, int most) {
  double step = std::pow(10, std::floor(std::log10(span / most)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (span / (step * factor) <= most) return step * factor;
  }
  return span;
}

absl::StatusOr<Window> window_of(const std::string& name) {
  if (name == "rectangular") return Window::rectangular;
  if (name == "hann") return Window::hann;
  if (name == "hamming") return Window::hamming;
  if (name == "blackman") return Window::blackman;
  return absl::InvalidArgumentError(
      absl::StrCat("window \"", name, "\" is none of rectangular, hann, hamming, blackman"));
}

absl::Status check(const SpectrogramCommand& c, uint32_t sample_rate) {
  if (c.length < 2 || c.length > 1 << 20)
    return absl::InvalidArgumentError(absl::StrCat("length ", c.length, " is not between 2 and 2^20"));
  if (c.hop < 1 || c.hop > c.length)
    return absl::InvalidArgumentError(absl::StrCat("hop ", c.hop, " is not between 1 and the length ", c.length));
  if (c.mel < 0 || c.mel > 1024)
    return absl::InvalidArgumentError(absl::StrCat(c.mel, " mel bands are not between 0 and 1024"));
  if (!(c.range > 0)) return absl::InvalidArgumentError("the range must be above 0 dB");
  if (c.colors != "viridis" && c.colors != "magma" && c.colors != "gray")
    return absl::InvalidArgumentError(absl::StrCat("colour map \"", c.colors, "\" is none of viridis, magma, gray"));
  if (sample_rate == 0) return absl::InvalidArgumentError("a sample rate of 0");
  return window_of(c.window).status();
}

}  // namespace

absl::StatusOr<Spectrogram> spectrogram_of(const Device& device, const std::vector<float>& samples,
                                           uint32_t sample_rate, const SpectrogramCommand& c) {
  if (absl::Status status = check(c, sample_rate); !status.ok()) return status;
  Spectrogram all;
  const auto count = static_cast<int64_t>(samples.size());
  all.pieces = count < c.length ? 1 : 1 + (count - c.length) / c.hop;
  all.bins = c.mel > 0 ? c.mel : c.length / 2 + 1;
  const int64_t block = std::min({all.pieces, kBlock, std::max<int64_t>(1, (int64_t{1} << 24) / c.length)});
  const int64_t given = c.length + (block - 1) * c.hop;
  DynamicGraph graph;
  const Tensor x = graph->input("x", f32, {given});
  Tensor powers = power(stft(x, {c.length, c.hop, *window_of(c.window), false}));
  if (c.mel > 0) powers = mel_bands(powers, c.length, {.sample_rate = sample_rate, .mels = c.mel});
  graph->output("y", powers);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  if (!executable.ok()) return executable.status();
  std::vector<float> part(static_cast<size_t>(given));
  for (int64_t first = 0; first < all.pieces; first += block) {
    for (int64_t i = 0; i < given; ++i) {
      const int64_t at = first * c.hop + i;
      part[static_cast<size_t>(i)] = at < count ? samples[static_cast<size_t>(at)] : 0.0f;
    }
    if (Status status = executable->set("x", part); !status.ok()) return status;
    executable->run();
    const auto y = executable->get<float>("y");
    if (!y.ok()) return y.status();
    const auto wanted = static_cast<size_t>(std::min(block, all.pieces - first) * all.bins);
    all.powers.insert(all.powers.end(), y->begin(), y->begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  return all;
}

Picture draw(const Spectrogram& s, uint32_t sample_rate, const SpectrogramCommand& c) {
  const std::span<const Color> map = map_of(c.colors);
  // Few pieces or bins are drawn wider; of many, the greatest of those that share a pixel.
  const int columns = static_cast<int>(std::clamp<int64_t>(s.pieces, 600, kMostColumns)), rows = kMostRows;
  float greatest = 0;
  for (const float p : s.powers) greatest = std::isfinite(p) ? std::max(greatest, p) : greatest;
  const double top = greatest > 0 ? 10 * std::log10(static_cast<double>(greatest)) : 0;
  Picture picture(kLeft + columns + kRight, kTop + rows + kBottom, kPaper);
  for (int x = 0; x < columns; ++x) {
    const int64_t p0 = x * s.pieces / columns, p1 = std::max(p0 + 1, (x + 1) * s.pieces / columns);
    for (int y = 0; y < rows; ++y) {
      const int64_t b0 = y * s.bins / rows, b1 = std::max(b0 + 1, (y + 1) * s.bins / rows);
      float most = 0;
      for (int64_t p = p0; p < p1; ++p) {
        for (int64_t b = b0; b < b1; ++b) most = std::max(most, s.powers[static_cast<size_t>(p * s.bins + b)]);
      }
      const double db = most > 0 ? 10 * std::log10(static_cast<double>(most)) : top - c.range;
      picture.set(kLeft + x, kTop + rows - 1 - y, color_at(map, 1 + (db - top) / c.range));
    }
  }
  const int right = kLeft + columns, bottom = kTop + rows;
  picture.fill(kLeft - 2, kTop, 2, rows + 2, kInk);
  picture.fill(kLeft - 2, bottom, columns + 2, 2, kInk);
  const double seconds = static_cast<double>((s.pieces - 1) * c.hop + c.length) / sample_rate;
  const double time_step = step_for(seconds, 8);
  for (double t = 0; t <= seconds * 1.0001; t += time_step) {
    const int x = kLeft + static_cast<int>(t / seconds * columns);
    const std::string label = absl::StrFormat("%g", t);
    picture.fill(x, bottom, 2, 8, kInk);
    picture.text(x - Picture::text_width(label) / 2, bottom + 12, label, kInk);
  }
  picture.text(right - 12, bottom + 34, "s", kInk);
  const double high = c.mel > 0 ? static_cast<double>(c.mel) : sample_rate / 2000.0, high_step = step_for(high, 8);
  for (double f = 0; f <= high * 1.0001; f += high_step) {
    const int y = bottom - static_cast<int>(f / high * rows);
    const std::string label = absl::StrFormat("%g", f);
    picture.fill(kLeft - 10, y, 8, 2, kInk);
    picture.text(kLeft - 14 - Picture::text_width(label), y - Picture::kTextHeight / 2, label, kInk);
  }
  picture.text(4, 4, c.mel > 0 ? "mel" : "kHz", kInk);
  const int bar = right + 24;
  for (int y = 0; y < rows; ++y)
    picture.fill(bar, kTop + y, 20, 1, color_at(map, 1 - static_cast<double>(y) / (rows - 1)));
  const double db_step = step_for(c.range, 8);
  for (double db = 0; db <= c.range * 1.0001; db += db_step) {
    const int y = kTop + static_cast<int>(db / c.range * (rows - 1));
    picture.fill(bar + 20, y, 6, 2, kInk);
    picture.text(bar + 32, y - Picture::kTextHeight / 2, absl::StrFormat("%g", -db == 0 ? 0.0 : -db), kInk);
  }
  picture.text(bar, 4, "dB", kInk);
  return picture;
}

int spectrogram_command(const SpectrogramCommand& command, std::ostream& out, std::ostream& err) {
  const auto fail = [&](const absl::Status& status) {
    err << "rlxgpu spectrogram: " << status.message() << '\n';
    return 1;
  };
  if (absl::Status status = check(command, 1); !status.ok()) return fail(status);
  const absl::StatusOr<Wav> wav = read_wav(command.in);
  if (!wav.ok()) return fail(wav.status());
  const absl::StatusOr<Device> device = open_device();
  if (!device.ok()) return fail(device.status());
  const absl::StatusOr<Spectrogram> spectrogram = spectrogram_of(*device, wav->samples, wav->sample_rate, command);
  if (!spectrogram.ok()) return fail(spectrogram.status());
  const Picture picture = draw(*spectrogram, wav->sample_rate, command);
  std::ofstream file(command.out, std::ios::binary);
  file << picture.png();
  if (!file.flush()) return fail(absl::UnavailableError(absl::StrCat(command.out, ": cannot be written")));
  out << absl::StrFormat("%s: %.2f s at %d Hz, %d pieces of %d samples, %d x %d pixels, on %s\n", command.out,
                         static_cast<double>(wav->samples.size()) / wav->sample_rate, wav->sample_rate,
                         spectrogram->pieces, command.length, picture.width(), picture.height(), device->label());
  return 0;
}

}  // namespace rlxgpu::core::tools

// Fourier transforms, windows and mel bands.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/signal/signal.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

// ONNX has complex numbers as a last axis of 2, real ones as a last axis of 1.
Tensor without_last(Tensor x, int64_t part) { return squeeze(narrow(x, -1, part, 1), {-1}); }
Tensor as_complex(Tensor x) { return complex(without_last(x, 0), without_last(x, 1)); }
Tensor as_pairs(Tensor z) { return concat({unsqueeze(real(z), {-1}), unsqueeze(imag(z), {-1})}, -1); }

// Cut or filled with zeros to this length.
Tensor of_length(Tensor x, int axis, int64_t length) {
  const int64_t now = x.shape()[axis];
  if (now >= length) return narrow(x, axis, 0, length);
  IntList before, after;
  after.resize(axis, 0);
  after.push_back(length - now);
  return pad(x, before, after);
}

void import_dft(Node& n) {
  Tensor x = cast(n.tensor(0), f32);
  const int rank = n.rank(0);
  if (rank < 2) n.invalid("the operand has rank ", rank, ", 2 at least is needed");
  const int64_t given = n.opset() < 20 ? n.integer("axis", 1) : n.has(2) ? n.integer(2) : -2;
  const int axis = n.axis(given, rank);
  const bool inverse = n.flag("inverse"), onesided = n.flag("onesided");
  const int64_t parts = n.extent(0, rank - 1), now = n.extent(0, axis);
  if (axis == rank - 1 || (parts != 1 && parts != 2)) n.invalid("the last axis is for real and imaginary parts");
  int64_t length = n.has(1) ? n.integer(1) : onesided && inverse ? 2 * (now - 1) : now;
  if (length < 1 || length > INT32_MAX) n.invalid("the length is ", length);
  if (onesided && inverse) {
    if (parts != 2) n.invalid("the inverse of a one-sided transform needs complex numbers");
    x = of_length(x, axis, length / 2 + 1);
    return n.result(0, cast(unsqueeze(irfft(as_complex(x), length, axis), {-1}), n.carrier(n.type(0))));
  }
  x = of_length(x, axis, length);
  if (parts == 1 && onesided) return n.result(0, cast(as_pairs(rfft(without_last(x, 0), axis)), n.carrier(n.type(0))));
  const Tensor z = parts == 2 ? as_complex(x) : cast(without_last(x, 0), c64);
  Tensor y = inverse ? ifft(z, axis) : fft(z, axis);
  if (onesided) y = narrow(y, axis, 0, length / 2 + 1);
  n.result(0, cast(as_pairs(y), n.carrier(n.type(0))));
}

void import_stft(Node& n) {
  const Tensor signal = cast(n.tensor(0), f32);
  const int rank = n.rank(0);
  const int64_t step = n.integer(1), parts = rank == 3 ? n.extent(0, 2) : 1;
  const int64_t length = n.has(3) ? n.integer(3) : n.has(2) ? n.extent(2, 0) : n.extent(0, std::min(rank - 1, 1));
  if (rank < 2 || rank > 3 || parts < 1 || parts > 2) n.invalid("the signal is not (batch, samples, 1 or 2)");
  if (step < 1 || length < 1 || step > INT32_MAX || length > n.extent(0, 1))
    n.invalid("steps of ", step, " and pieces of ", length);
  const bool onesided = n.flag("onesided", true);
  const auto pieces = [&](int64_t part) {
    const Tensor one = frames(rank == 3 ? without_last(signal, part) : signal, length, step);
    return n.has(2) ? one * cast(n.tensor(2), f32) : one;
  };
  if (parts == 1 && onesided) return n.result(0, cast(as_pairs(rfft(pieces(0))), n.carrier(n.type(0))));
  const Tensor z = fft(parts == 2 ? complex(pieces(0), pieces(1)) : cast(pieces(0), c64));
  n.result(0, cast(as_pairs(onesided ? narrow(z, -1, 0, length / 2 + 1) : z), n.carrier(n.type(0))));
}

ElementType output_type(Node& n, std::string_view name) {
  return n.has(name) ? n.element_type(name) : ElementType::f32;
}

// Weights of a window: a + b cos + c cos of twice the angle, from the numbers that make it.
void window(Node& n, double a, double b, double c) {
  const ElementType type = output_type(n, "output_datatype");
  const int64_t size = n.integer(0);
  const bool periodic = n.flag("periodic", true);
  if (size < 0 || size > (1 << 24)) n.unsupported("a window of ", size);
  std::vector<double> weights;
  const double period = static_cast<double>(periodic ? size : size - 1);
  for (int64_t i = 0; i < size; ++i) {
    const double angle = period > 0 ? 2 * M_PI * static_cast<double>(i) / period : 0;
    weights.push_back(a + b * std::cos(angle) + c * std::cos(2 * angle));
  }
  n.result(0, HostTensor::of_numbers(type, {size}, weights));
}
void import_hann(Node& n) { window(n, 0.5, -0.5, 0); }
void import_hamming(Node& n) { window(n, 25.0 / 46, -21.0 / 46, 0); }
void import_blackman(Node& n) { window(n, 0.42, -0.5, 0.08); }

// Triangles over the bins of a transform, evenly spaced in mel. A constant: all that it follows from is known.
void import_mel(Node& n) {
  const ElementType type = output_type(n, "output_datatype");
  const int64_t bands = n.integer(0), length = n.integer(1), rate = n.integer(2);
  const double low = n.number(3), high = n.number(4);
  const int64_t bins = length / 2 + 1;
  if (bands < 1 || bands > 65536 || length < 1 || length > (1 << 24) || rate < 1 || bands * bins > (1 << 24))
    n.invalid("the sizes make no matrix");
  if (!(low >= 0) || !(high >= low) || !(high < 1e9)) n.invalid("the frequencies do not go up from 0 or more");
  const auto mel_of = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
  const double from = mel_of(low), step = (mel_of(high) - from) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hz = 700 * (std::pow(10.0, (from + step * static_cast<double>(i)) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hz / static_cast<double>(rate));
    edges.push_back(static_cast<int64_t>(std::clamp(bin, 0.0, static_cast<double>(bins))));
  }
  std::vector<double> weights(static_cast<size_t>(bands * bins));
  const auto set = [&](int64_t bin, int64_t band, double weight) {
    if (bin < bins) weights[static_cast<size_t>(bin * bands + band)] = weight;
  };
  for (int64_t band = 0; band < bands; ++band) {
    const auto b = static_cast<size_t>(band);
    const int64_t left = edges[b], middle = edges[b + 1], right = edges[b + 2];
    if (middle == left) set(middle, band, 1);
    for (int64_t bin = left; middle > left && bin <= middle; ++bin)
      set(bin, band, static_cast<double>(bin - left) / static_cast<double>(middle - left));
    for (int64_t bin = middle; bin < right; ++bin)
      set(bin, band, static_cast<double>(right - bin) / static_cast<double>(right - middle));
  }
  n.result(0, HostTensor::of_numbers(type, {bins, bands}, weights));
}

constexpr OpImporter kOps[] = {
    {"BlackmanWindow", import_blackman}, {"DFT", import_dft},
    {"HammingWindow", import_hamming},   {"HannWindow", import_hann},
    {"MelWeightMatrix", import_mel},     {"STFT", import_stft},
};

}  // namespace

Importers signal_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx

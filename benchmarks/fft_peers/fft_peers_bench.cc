// Transforms by rlxgpu, VkFFT and FFTW, one after another in every round, and the ratios asked for.
//
//   ./dev bench peers              (this and other comparisons)
#include <fftw3.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/fft_peers/vkfft_peer.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/signal/signal.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::peers {
namespace {

using Points = std::vector<std::complex<float>>;

struct Case {
  int64_t n, rows;
  double against_vkfft;  // asked for; 0: nothing
  double of_1024;        // at most so many times our 1024 x 256
  bool unrolled = false;
};
constexpr Case kCases[] = {{1024, 256, 1.7, 0}, {4096, 64, 1.5, 0},  {4096, 64, 1.5, 0, true},
                           {65536, 4, 1.3, 0},  {1000, 256, 0, 1.6}, {1009, 256, 0, 5}};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double error_of(const Points& a, const Points& b) {
  double error = 0, size = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) error += std::norm(a[i] - b[i]), size += std::norm(b[i]);
  return a.size() == b.size() ? std::sqrt(error / size) : 1;
}

// log_mel as its three dispatches, and as ops of their own.
int log_mel_of_ten_seconds(const Device& device, int rounds) {
  DynamicGraph joined, separate;
  joined->output("y", log_mel(joined->input("x", f32, {160000})));
  {
    const Tensor x = separate->input("x", f32, {160000});
    const Tensor bands = mel_bands(power(stft(x)), 400);
    const Tensor logs = log(max(bands, 1e-10)) * 0.4342944819;
    separate->output("y", (max(logs, reduce_max(logs) - 8.0) + 4.0) * 0.25);
  }
  std::vector<float> x(160000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 1000) / 1000 - 0.5f;
  std::vector<Executable<DynamicGraph>> both;
  for (const DynamicGraph* graph : {&joined, &separate}) {
    DynamicOptions options;
    options.tuned = false;
    options.sizes = Sizes::baked;
    options.compile.fuse.fuse = graph == &joined;
    auto executable = Executable<DynamicGraph>::create(device, *graph, options);
    if (!executable.ok() || !executable->set("x", x).ok())
      return std::fprintf(stderr, "log_mel: %s\n", executable.status().ToString().c_str()), 1;
    executable->run();
    both.push_back(*std::move(executable));
  }
  const auto a = both[0].get<float>("y"), b = both[1].get<float>("y");
  double most = 0, best[2] = {1e9, 1e9};
  for (size_t i = 0; i < a->size(); ++i) most = std::max(most, std::fabs(static_cast<double>((*a)[i] - (*b)[i])));
  for (int round = 0; round < rounds; ++round) {
    for (int which : {0, 1}) {
      const double start = now();
      both[static_cast<size_t>(which)].run();
      if (!device.wait_idle().ok()) return 1;
      best[which] = std::min(best[which], now() - start);
    }
  }
  std::printf(
      "log_mel of 10 s: %.3f ms, as separate ops %.3f ms (greatest difference %.1e)\n    %.2fx, at most 0.50x: %s\n",
      best[0] * 1e3, best[1] * 1e3, most, best[0] / best[1], best[0] <= 0.5 * best[1] ? "holds" : "MISSED");
  return 0;
}

int run(int rounds) {
  Result<Device> device = open_device();
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.status().ToString().c_str()), 1;
  VkFftPeer vkfft;
  std::printf("ours on %s; VkFFT on %s; best of %d rounds, submitted and waited for, ms\n", device->label().c_str(),
              vkfft.device_name().c_str(), rounds);
  double ours_1024 = 0;
  for (const Case& c : kCases) {
    Points x(static_cast<size_t>(c.n * c.rows)), y(x.size()), expected(x.size());
    std::mt19937 random(1);
    for (auto& v : x)
      v = {std::uniform_real_distribution<float>(-1, 1)(random), std::uniform_real_distribution<float>(-1, 1)(random)};
    DynamicGraph graph;
    graph->output("y", fft(graph->input("x", c64, {c.rows, c.n})));
    DynamicOptions options;
    options.tuned = false;
    options.sizes = Sizes::baked;
    const Choice unrolled[] = {{"fft", "unrolled"}};  // what the tuner would find, after a long compilation
    if (c.unrolled) options.compile.choices = unrolled;
    auto ours = Executable<DynamicGraph>::create(*device, graph, options);
    if (!ours.ok()) return std::fprintf(stderr, "%s\n", ours.status().ToString().c_str()), 1;
    const int length = static_cast<int>(c.n);
    const fftwf_plan plan = fftwf_plan_many_dft(
        1, &length, static_cast<int>(c.rows), reinterpret_cast<fftwf_complex*>(x.data()), nullptr, 1, length,
        reinterpret_cast<fftwf_complex*>(expected.data()), nullptr, 1, length, FFTW_FORWARD, FFTW_ESTIMATE);
    fftwf_execute(plan);
    if (!ours->set("x", x).ok()) return 1;
    ours->run();
    const auto result = ours->get<std::complex<float>>("y");
    const Points theirs = vkfft.prepare(c.n, c.rows, x);
    double best_ours = 1e9, best_vkfft = 1e9, best_fftw = 1e9;
    for (int round = 0; round < rounds; ++round) {
      double start = now();
      ours->run();
      if (!device->wait_idle().ok()) return 1;
      best_ours = std::min(best_ours, now() - start);
      if (!theirs.empty()) best_vkfft = std::min(best_vkfft, vkfft.run());
      start = now();
      fftwf_execute(plan);
      best_fftw = std::min(best_fftw, now() - start);
    }
    if (c.n == 1024) ours_1024 = best_ours;
    if (c.unrolled) std::printf("variant unrolled:\n");
    std::printf(
        "%6lld x %-4lld rlxgpu %7.3f   VkFFT %7.3f   FFTW (1 thread) %7.3f   difference from FFTW: ours %.1e, VkFFT "
        "%.1e\n",
        static_cast<long long>(c.n), static_cast<long long>(c.rows), best_ours * 1e3, best_vkfft * 1e3, best_fftw * 1e3,
        result.ok() ? error_of(*result, expected) : 1.0, error_of(theirs, expected));
    if (c.against_vkfft > 0) {
      const double ratio = best_vkfft / best_ours;
      std::printf("    against VkFFT %.2fx, asked for %.2fx: %s\n", ratio, c.against_vkfft,
                  ratio >= c.against_vkfft ? "holds" : "MISSED");
    }
    if (c.of_1024 > 0) {
      const double ratio = best_ours / ours_1024;
      std::printf("    of our 1024 x 256: %.2fx, at most %.2fx: %s\n", ratio, c.of_1024,
                  ratio <= c.of_1024 ? "holds" : "MISSED");
    }
    fftwf_destroy_plan(plan);
  }
  return log_mel_of_ten_seconds(*device, rounds);
}

}  // namespace
}  // namespace rlxgpu::core::peers

int main(int argc, char** argv) { return rlxgpu::core::peers::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 30); }

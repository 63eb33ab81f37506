// fuzz: random programs against the reference, as long as one likes.
//
//   ./dev fuzz 10                                          ten minutes, from a seed of the clock
//   bazel run -c opt //tests:fuzz -- --seed=7 --graphs=1   one program again
//   bazel run -c opt //tests:fuzz -- --large               only those with layers of a real network's size
//
// Program i has seed + i (--large: the i-th seed of such a program). Failures are printed as code when they are found;
// Ctrl-C ends with the summary. Exit code 0: all programs were right.
#include <malloc.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "rlxgpu/runtime/device.h"
#include "tests/fuzz/fuzz.h"

ABSL_FLAG(double, minutes, 0, "stop after so many minutes; 0: go on");
ABSL_FLAG(int64_t, graphs, 0, "stop after so many programs; 0: go on");
ABSL_FLAG(uint64_t, seed, 0, "of the first program; 0: from the clock");
ABSL_FLAG(int, failures, 10, "stop after so many failures");
ABSL_FLAG(bool, large, false, "only programs with layers of a real network's size: every eighth seed");

namespace {

volatile std::sig_atomic_t stopped = 0;

void stop(int) { stopped = 1; }

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The i-th from `seed` on whose program has large layers.
uint64_t large_seed(uint64_t seed, int64_t i) {
  while (!rlxgpu::core::fuzz::is_large(seed)) ++seed;
  return seed + 8 * static_cast<uint64_t>(i);
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("random programs against the reference: --minutes=N --graphs=N --seed=N --large");
  absl::ParseCommandLine(argc, argv);
  const double minutes = absl::GetFlag(FLAGS_minutes);
  const int64_t graphs = absl::GetFlag(FLAGS_graphs);
  const bool large = absl::GetFlag(FLAGS_large);
  uint64_t seed = absl::GetFlag(FLAGS_seed);
  if (seed == 0)
    seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) / 1000000000u * 1000000u;

  // Arrays of references come and go: kept memory saves the system clearing new pages.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);

  absl::StatusOr<rlxgpu::core::Device> device = rlxgpu::core::open_device();
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().ToString().c_str());
    return 2;
  }
  std::printf("%s\nseed %llu\n", device->label().c_str(), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);

  rlxgpu::core::fuzz::Fuzzer fuzzer(*device);
  const Clock::time_point start = Clock::now();
  double shown = 0;
  const auto progress = [&](const char* end) {
    std::printf("\r%lld graphs, %.1f/s, %lld elements, %.2f %% without a bound, %zu failures   %s",
                static_cast<long long>(fuzzer.graphs()), static_cast<double>(fuzzer.graphs()) / seconds_since(start),
                static_cast<long long>(fuzzer.elements()), 100 * fuzzer.skipped_share(), fuzzer.failures().size(), end);
    std::fflush(stdout);
  };
  while (!stopped && (graphs == 0 || fuzzer.graphs() < graphs) &&
         (minutes <= 0 || seconds_since(start) < 60 * minutes) &&
         static_cast<int>(fuzzer.failures().size()) < absl::GetFlag(FLAGS_failures)) {
    if (!fuzzer.run(large ? large_seed(seed, fuzzer.graphs()) : seed + static_cast<uint64_t>(fuzzer.graphs())))
      std::printf("\n%s\n", fuzzer.failures().back().c_str());
    if (seconds_since(start) - shown > 1) {
      shown = seconds_since(start);
      progress("");
    }
  }
  progress("\n");
  return fuzzer.failures().empty() ? 0 : 1;
}

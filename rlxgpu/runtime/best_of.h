// best_after_warm_up: the least of several measurements, the first of which does not count.
//
//   absl::StatusOr<double> seconds = best_after_warm_up([&] { return run_once(); }, {.runs = 9});
//
// Software drivers compile a kernel when it is first dispatched, and its timestamps hold that time, too: hundreds of
// times the kernel's own. Nothing may be concluded from it.
#ifndef RLXGPU_RUNTIME_BEST_OF_H_
#define RLXGPU_RUNTIME_BEST_OF_H_

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/status/statusor.h"

namespace rlxgpu::core {

struct BestOfOptions {
  int runs = std::numeric_limits<int>::max();              // at most, after the warm-up
  double seconds = 0.5;                                    // no new run after that long; there is one at least
  double rival = std::numeric_limits<double>::infinity();  // three times slower than this is enough to know
};

template <typename Run>
absl::StatusOr<double> best_after_warm_up(const Run& run, const BestOfOptions& options) {
  absl::StatusOr<double> seconds = run();
  if (!seconds.ok()) return seconds;
  double least = std::numeric_limits<double>::infinity();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < std::max(options.runs, 1); ++i) {
    seconds = run();
    if (!seconds.ok()) return seconds;
    least = std::min(least, *seconds);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() >= options.seconds || least > 3 * options.rival) break;
  }
  return least;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::BestOfOptions, core::best_after_warm_up;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_BEST_OF_H_

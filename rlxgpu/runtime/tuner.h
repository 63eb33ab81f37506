// tune: measures which kernel variants are fastest on a device, for every call of a graph, and keeps the answers.
//
//   Result<TuneReport> report = tune<Mlp>(device, {.progress = print_progress_bar});
//   Executable<Mlp> mlp(device);                                   // uses them, as every later process does
//
// Each group of the graph that has a choice runs by itself, on made-up numbers, in every variant that accepts it:
// first to warm up, then several times with GPU timestamps; the best time counts. A variant whose result differs
// from the simplest one's is not used. The default gives way only to one that is 3 % faster when both run in turns.
// Answers are stored one by one in the user's tuning.json (tuning_file.h), by adapter, driver and call, so a tuning
// that is cut short keeps what it has; calls that are known are not measured again. Blocks; seconds to minutes.
#ifndef RLXGPU_RUNTIME_TUNER_H_
#define RLXGPU_RUNTIME_TUNER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/tuning_file.h"

namespace rlxgpu::core {

struct TuneProgress {
  int done = 0, total = 0;         // calls
  std::string_view call, variant;  // being measured; empty at the end
};

struct TuneOptions {
  double seconds = 120;          // for all of it: when they are over, the calls left keep their defaults
  double variant_seconds = 0.5;  // for each variant, after its warm-up
  int runs = 9;                  // of each variant, at most; the best counts
  bool again = false;            // measure also what is known
  std::function<void(const TuneProgress&)> progress = {};
};

struct TuneReport {
  struct Item {
    std::string call, before;  // the variant that is used without tuning
    TunedChoice choice;
  };
  std::vector<Item> measured;
  int known = 0;         // calls that were measured before
  bool complete = true;  // false: time was over
  Status stored;         // why the file could not be written; the device uses the answers all the same
};

Result<TuneReport> tune(const Device& device, const Graph& graph, const TuneOptions& options = {});

// The same for a graph type.
template <typename G>
Result<TuneReport> tune(const Device& device, const TuneOptions& options = {}) {
  Builder builder;
  G::build(builder);
  return tune(device, builder.graph(), options);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::TuneOptions, core::TuneProgress, core::TuneReport, core::tune;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_TUNER_H_

// tune: measures which kernel variants are fastest on a device, for every call of a graph, and keeps the answers.
//
//   Result<TuneReport> report = tune<Mlp>(device, {.progress = print_progress_bar});
//   Executable<Mlp> mlp(device);                                   // uses them, as every later process does
//
// Each group of the graph that has a choice runs by itself, on made-up numbers, in every variant that accepts it:
// first to warm up, then several times with GPU timestamps; the best time counts. Of variants that are not far slower
// than the best, values of parameters are searched: one parameter after another, in steps, as long as it gets faster. A
// variant whose result differs from the simplest one's is not used. The default gives way only to one that is 3 %
// faster when both run in turns. Every measurement is stored in the user's tuning.json (tuning_file.h), by adapter,
// driver and call, so a tuning that is cut short, even killed, keeps what it has, and the next one goes on from there;
// what is known is not measured again. Blocks; seconds to minutes.
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
  int points = 24;               // sets of parameters tried for each call besides the defaults, at most
  bool again = false;            // measure also what is known
  std::function<void(const TuneProgress&)> progress = {};
};

struct TuneReport {
  struct Item {
    std::string call, before;  // the variant that is used without tuning
    TunedChoice choice;
    // How many times as fast as the default; 1 where the default stays.
    double gain() const {
      const auto was = choice.microseconds.find(before), is = choice.microseconds.find(choice.variant);
      const bool known = was != choice.microseconds.end() && is != choice.microseconds.end();
      return known && was->second > 0 && is->second > 0 ? was->second / is->second : 1;
    }
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

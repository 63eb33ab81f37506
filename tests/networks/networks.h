// Real networks: the table of third_party/environment/networks.txt, and what running one of them gives.
//
//   const Result<std::vector<Network>> networks = chosen(*read_table(path), "all");
//   run_network(device, networks->front(), true, [](const Outcome& outcome) { std::puts(row(outcome).c_str()); });
//
// Every size of a network is run with free sizes and with baked ones, and every output compared with the double
// reference. Files are in $RLXGPU_MODELS/networks: `./dev models` fetches them.
#ifndef RLXGPU_TESTS_NETWORKS_NETWORKS_H_
#define RLXGPU_TESTS_NETWORKS_NETWORKS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::testing {

struct Network {
  std::string name, kind, package, file;
  std::vector<std::string> sizes;  // "x=1x3x64x64,sr:16000"; or "fixed, elements 1": the shapes of the file
};

// One run of a network.
struct Outcome {
  std::string network, size;
  bool baked = false;
  bool right = false;
  double seconds = 0;          // of one run, when all kernels are compiled
  double compiled = 0;         // seconds until the end of the first run, in which drivers compile
  double checked = 0;          // seconds of the comparison; references are evaluated in the first of a size
  int steps = 0;               // that were compared one by one
  std::string complaint = {};  // what is wrong: outputs that differ, or why there are none
};

Result<std::vector<Network>> read_table(const std::string& path);

// Those that `choice` says: "all", names joined by commas, or a number, which stands for three networks, one of each
// part of the table, at one of their sizes. Other numbers stand for others, in rotation: all of it after 3 times a
// part's length.
Result<std::vector<Network>> chosen(const std::vector<Network>& table, std::string_view choice);

// Calls `done` after each of them. `every_step`: each step of a run is verified, too (runtime/verify.h), which finds
// what the outputs hide: rounding explains far larger differences at the end of a network than in one step.
void run_network(const Device& device, const Network& network, bool every_step,
                 const std::function<void(const Outcome&)>& done);

// "text-detector  x=1x3x96x96  baked  right  12.3 ms ..." in columns.
std::string row(const Outcome& outcome);

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_NETWORKS_NETWORKS_H_

// Prints the table of real networks: each at three sizes, with sizes free and baked, on this machine's adapter.
//
//   table NETWORKS.txt [all | NAME,NAME... | NUMBER]        // ./dev networks runs it on both adapters
#include <cstdio>

#include "tests/networks/networks.h"

int main(int count, char** arguments) {
  using namespace rlxgpu;
  using namespace rlxgpu::core::testing;
  if (count < 2) return std::fputs("say which table to read\n", stderr), 2;
  Result<std::vector<Network>> table = read_table(arguments[1]);
  if (!table.ok()) return std::fprintf(stderr, "%s\n", table.status().ToString().c_str()), 2;
  Result<std::vector<Network>> networks = chosen(*table, count > 2 ? arguments[2] : "all");
  if (!networks.ok()) return std::fprintf(stderr, "%s\n", networks.status().ToString().c_str()), 2;
  Result<Device> device = open_device({.tuning = false});
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.status().ToString().c_str()), 2;
  std::printf("%s\n", device->label().c_str());
  int right = 0, wrong = 0;
  for (const Network& network : *networks) {
    run_network(*device, network, true, [&](const Outcome& outcome) {
      std::printf("%s\n", row(outcome).c_str());
      std::fflush(stdout);
      ++(outcome.right ? right : wrong);
    });
  }
  std::printf("%d right, %d WRONG\n", right, wrong);
  return wrong == 0 ? 0 : 1;
}

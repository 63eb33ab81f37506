// Reads programs as JSON with random damage, and runs those that are accepted, for as long as one likes. `./dev fuzz
// program 5` does so for five minutes under sanitizers.
//
//   fuzz MINUTES [SEED]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "tests/tools/program_damage.h"

int main(int argc, char** argv) {
  using namespace rlxgpu::core;
  using testing::ProgramReading;
  const double minutes = argc > 1 ? std::atof(argv[1]) : 5;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  // What a damaged kernel does on a device is Dawn's affair; this device checks everything and runs nothing.
  const Result<Device> device = open_device({.backend = Backend::null, .disk_cache = false});
  if (!device.ok()) {
    std::printf("no device: %s\n", device.status().ToString().c_str());
    return 1;
  }
  testing::ProgramDamage damage(seed);
  const auto start = std::chrono::steady_clock::now();
  long long programs = 0, counts[3] = {};
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(60 * minutes)) {
    const std::string text = damage.next();
    std::ofstream("last-program.json") << text;  // what it was, should it be the last
    ++counts[static_cast<int>(testing::read_program(text, *device))];
    ++programs;
  }
  std::printf("%lld programs: %lld refused, %lld accepted and not run, %lld run\n", programs, counts[0], counts[1],
              counts[2]);
}

// Reads safetensors files with random damage for as long as one likes. `./dev fuzz safetensors 5` does so for five
// minutes under sanitizers.
//
//   fuzz MINUTES [SEED]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/load/damage.h"

int main(int argc, char** argv) {
  using rlxgpu::core::testing::Reading;
  const double minutes = argc > 1 ? std::atof(argv[1]) : 5;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  rlxgpu::core::testing::Damage damage(seed);
  const auto start = std::chrono::steady_clock::now();
  long long files = 0, read = 0;
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(60 * minutes)) {
    for (int i = 0; i < 1000; ++i, ++files) {
      const Reading reading = rlxgpu::core::testing::read_anything(damage.next());
      read += reading == Reading::read;
      if (reading != Reading::outside) continue;
      std::printf("file %lld of this seed: a tensor is outside of its file\n", files);
      return 1;
    }
  }
  std::printf("%lld files, %lld of them read, the others refused\n", files, read);
}

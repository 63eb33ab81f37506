// A program with weights from a file: prints x * w.
#include <cstdio>

#include "rlxgpu/load/safetensors.h"
#include "rlxgpu/rlxgpu.h"
#include "rlxgpu/version.h"

using namespace rlxgpu;

struct Scaled {
  static constexpr void build(Builder& g) { g.output("y", g.input("x", f32, {3}) * g.param("w", f32, {3})); }
};

int main() {
  static_assert(RLXGPU_VERSION_MAJOR == 0);
  const Result<Safetensors> file = Safetensors::open("model.safetensors");
  const Result<Device> device = open_device();
  if (!file.ok() || !device.ok()) return std::puts("no file, or no device"), 1;
  const Weights weights(*device);
  if (!load_weights(*file, Executable<Scaled>::program, weights).ok()) return std::puts("no weights"), 1;
  Executable<Scaled> scaled(*device, {.weights = weights});
  scaled.set<"x">({1.0f, 2.0f, 3.0f});
  scaled.run();
  const auto y = scaled.get<"y">();
  if (!y.ok()) return std::puts(y.status().ToString().c_str()), 1;
  std::printf("%g %g %g\n", (*y)[0], (*y)[1], (*y)[2]);
}

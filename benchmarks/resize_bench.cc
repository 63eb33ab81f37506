// Images made larger and smaller on the device.
//
//   ./dev bench resize
//
// resize/CASE/FORM: "default" is resize() as it is; "apart" keeps the axes apart, with memory between them; "copy"
// writes as many elements and does nothing else.
#include <string>

#include "benchmark/benchmark.h"
#include "benchmarks/graph_bench.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/stored.h"
#include "rlxgpu/kernels/resize/resize.h"

namespace rlxgpu::core::benchmarks {
namespace {

struct Case {
  const char* name;
  int64_t from, to;
  ResizeOptions options;
  double taps;  // for each element of the result, of both axes
};
const Case kCases[] = {
    {"nearest_256_512", 256, 512, {.mode = ResizeMode::nearest}, 1},
    {"nearest_256_400", 256, 400, {.mode = ResizeMode::nearest}, 1},
    {"linear_256_512", 256, 512, {}, 4},
    {"linear_512_224", 512, 224, {}, 4},
    {"cubic_256_512", 256, 512, {.mode = ResizeMode::cubic}, 8},
    {"antialias_512_64", 512, 64, {.antialias = true}, 32},
};

Tensor one_axis(Tensor x, int axis, const Case& c) { return resize(x, {{.axis = axis, .size = c.to}}, c.options); }

void register_all() {
  constexpr int64_t kChannels = 3;
  for (const Case& c : kCases) {
    const double count = static_cast<double>(kChannels * c.to * c.to),
                 bytes = 4 * (count + static_cast<double>(kChannels * c.from * c.from));
    const auto input = [c](Builder& g) { return g.input("x", f32, {1, kChannels, c.from, c.from}); };
    const std::string name = std::string("resize/") + c.name;
    register_graph(name + "/default",
                   {[=](Builder& g) {
                      g.output("y",
                               resize(input(g), {{.axis = 2, .size = c.to}, {.axis = 3, .size = c.to}}, c.options));
                    },
                    2 * c.taps * count, bytes});
    register_graph(name + "/apart",
                   {[=](Builder& g) { g.output("y", one_axis(stored(one_axis(input(g), 2, c)), 3, c)); },
                    2 * c.taps * count, bytes});
    register_graph(
        name + "/copy",
        {[=](Builder& g) { g.output("y", g.input("x", f32, {1, kChannels, c.to, c.to}) * 2.0f); }, 0, 8 * count});
  }
}

}  // namespace
}  // namespace rlxgpu::core::benchmarks

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  rlxgpu::core::benchmarks::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

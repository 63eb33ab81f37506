// The nearest neighbours of n points among themselves, in 64 dimensions.
//
//   ./dev bench knn
//
// knn/N/fused is knn(); knn/N/composed makes all n x n distances by a product and takes the least of each row by topk.
// That matrix bounds n: at 16384 it is 1 GiB, more than one binding of most adapters.
#include <string>

#include "benchmark/benchmark.h"
#include "benchmarks/graph_bench.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/knn/knn.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/sort/sort.h"

namespace rlxgpu::core::benchmarks {
namespace {

constexpr int64_t kColumns = 64, kNearest = 15;

void register_all() {
  for (const int64_t n : {1024, 4096}) {
    const auto input = [n](Builder& g) { return g.input("x", f32, {n, kColumns}); };
    const double flops = 2.0 * static_cast<double>(n * n * kColumns);
    const std::string name = "knn/" + std::to_string(n);
    register_graph(name + "/fused", {[=](Builder& g) {
                                       const Tensor x = input(g);
                                       g.output("y", knn(x, x, kNearest).distances);
                                     },
                                     flops});
    register_graph(name + "/composed", {[=](Builder& g) {
                                          const Tensor x = input(g);
                                          const Tensor squares = sum(x * x, 1, {.keep_dims = true});
                                          const Tensor all =
                                              squares + transpose(squares) - matmul(x, transpose(x)) * 2.0f;
                                          g.output("y", topk(all, kNearest, 1, false).values);
                                        },
                                        flops, 0, 1e-3});
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

// Products by rlxgpu and by others on the same machine, interleaved, best of many, and the ratios that issue 3 asks
// for.
//
//   ./dev bench peers                                two minutes on two cores
//   ./dev bench peers --rounds=20 --filter=1024     more chances for a quiet moment, some of the products
//
// Times of each product, then a table of the goals. Ratios are the peer's time over ours, for wall and for processor time; the latter counts when others use the machine,
// and only between programs that run on the CPU. ggml's Vulkan backend runs with and without matrix units in processes
// of its own; its better time counts. OpenBLAS and ggml's CPU backend use all cores.
#include <cblas.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "benchmarks/cold_start.h"
#include "benchmarks/peers/ggml_peer.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::peers {
namespace {

struct Case {
  Product product;
  bool b_transposed;                  // as ggml has it always
  double against_ggml, against_blas;  // bars; 0: none
};

constexpr Case kCases[] = {
    {{false, 512, 512, 512}, false, 5.0, 0.20},  {{false, 1024, 1024, 1024}, false, 5.0, 0.18},
    {{false, 2048, 2048, 2048}, false, 0, 0.16}, {{false, 1000, 1000, 1000}, false, 0, 0},
    {{true, 1024, 1024, 1024}, false, 4.5, 0},   {{false, 1, 4096, 4096}, true, 2.0, 0},
    {{true, 1, 4096, 4096}, true, 2.3, 0},
};

// One product on the device. `variant` empty: what a program gets without tuning.
class Ours {
 public:
  Ours(const Device& device, const Case& c, std::string_view variant) : device_(device) {
    const Product& p = c.product;
    const DType dtype = p.half ? f16 : f32;
    DynamicGraph graph;
    const Tensor a = graph->input("a", dtype, {p.m, p.k});
    const Tensor b = graph->input("b", dtype, c.b_transposed ? Shape{p.n, p.k} : Shape{p.k, p.n});
    graph->output("y", matmul(a, c.b_transposed ? transpose(b) : b));
    DynamicOptions options;
    const Choice choices[] = {{"matmul", variant}};
    if (!variant.empty()) options.compile.choices = choices;
    options.tuned = false;
    options.sizes = Sizes::baked;
    auto executable = Executable<DynamicGraph>::create(device, graph, options);
    if (!executable.ok()) {
      std::fprintf(stderr, "%s\n", executable.status().ToString().c_str());
      std::exit(1);
    }
    executable_.emplace(*std::move(executable));
    fill("a", dtype, p.m * p.k), fill("b", dtype, p.k * p.n);
    run();  // compiles
  }

  Timing run() {
    const Stopwatch watch;
    executable_->run();
    const Status status = device_.wait_idle();
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str()), std::exit(1);
    return watch.timing();
  }

 private:
  void fill(std::string_view name, DType dtype, int64_t count) {
    const int64_t lanes = per_word(dtype);
    std::vector<uint32_t> words(static_cast<size_t>((count + lanes - 1) / lanes));
    for (int64_t i = 0; i < count; ++i) {
      words[static_cast<size_t>(i / lanes)] |= word_of(static_cast<double>(i * 37 % 257) / 128 - 1, dtype)
                                               << (lanes == 1 ? 0 : 16 * (i % lanes));
    }
    const Status status = executable_->set_elements(name, dtype, count, words.data());
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str()), std::exit(1);
  }

  Device device_;
  std::optional<Executable<DynamicGraph>> executable_;
};

Timing blas(const Product& p, const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c) {
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  const Stopwatch watch;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.data(), k, b.data(), n, 0, c.data(), n);
  return watch.timing();
}

// A line of the table at the end. Of ratios the larger is better, of seconds the smaller.
struct Line {
  std::string what;
  double bar, wall, cpu;  // cpu 0: not compared
};
void print_table(const std::vector<Line>& lines) {
  std::printf("\n| | goal | wall time | processor time | |\n|---|---|---|---|---|\n");
  for (const Line& line : lines) {
    const bool seconds = line.cpu == 0;
    const bool wall = seconds ? line.wall <= line.bar : line.wall >= line.bar;
    const char* verdict = wall ? (seconds || line.cpu >= line.bar ? "holds" : "holds in wall time")
                               : (!seconds && line.cpu >= line.bar ? "holds in processor time only" : "MISSED");
    std::printf("| %s | %s %.2f | %.2f | ", line.what.c_str(), seconds ? "at most" : "at least", line.bar, line.wall);
    if (!seconds) std::printf("%.2f", line.cpu);
    std::printf(" | %s |\n", verdict);
  }
}

int run(int rounds, std::string_view filter) {
  Result<Device> device = open_device();
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.status().ToString().c_str()), 1;
  openblas_set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  std::printf("%s, %u threads, best of %d rounds; ms wall / ms processor time of all threads\n",
              device->label().c_str(), std::thread::hardware_concurrency(), rounds);
  GgmlPeer vulkan({.backend = "Vulkan"}), no_units({.backend = "Vulkan", .matrix_units = false}),
      cpu({.backend = "CPU"});
  std::vector<Line> lines;
  const auto compare = [&](const std::string& what, const Timing& theirs, const Timing& mine, double scale,
                           double bar) {
    if (theirs.wall > 0 && bar > 0)
      lines.push_back({what, bar, theirs.wall / mine.wall * scale, theirs.cpu / mine.cpu * scale});
  };
  for (const Case& c : kCases) {
    const Product& p = c.product;
    const std::string name = std::string(p.half ? "f16 " : "f32 ") + std::to_string(p.m) + "x" + std::to_string(p.k) +
                             "x" + std::to_string(p.n);
    if (name.find(filter) == std::string::npos) continue;
    const double flops = 2.0 * static_cast<double>(p.m * p.k * p.n);
    Ours ours(*device, c, ""), tiled(*device, c, "tiled");
    std::vector<float> a(static_cast<size_t>(p.m * p.k), 0.5f), b(static_cast<size_t>(p.k * p.n), 0.25f),
        y(static_cast<size_t>(p.m * p.n));
    std::optional<Ours> ours_at_1024;
    if (p.m == 1000) ours_at_1024.emplace(*device, Case{{false, 1024, 1024, 1024}, false, 0, 0}, "");
    Timing square, mine, naive, openblas, ggml_vulkan, ggml_cpu;
    const int count = flops > 4e9 ? std::max(1, rounds / 3) : rounds;
    const int each = flops > 4e9 ? 1 : 3;  // runs of everyone in each round, one after another
    for (int round = 0; round < count; ++round) {
      for (int i = 0; i < each; ++i) mine.best_with(ours.run());
      for (int i = 0; i < each && ours_at_1024; ++i) square.best_with(ours_at_1024->run());
      if (round < 2 && flops <= 4e9) naive.best_with(tiled.run());
      for (int i = 0; i < each && !p.half; ++i) openblas.best_with(blas(p, a, b, y));
      if (flops > 4e9) continue;  // ten seconds each
      if (const auto timing = vulkan.measure(p, each)) ggml_vulkan.best_with(*timing);
      if (const auto timing = no_units.measure(p, each)) ggml_vulkan.best_with(*timing);
      if (const auto timing = cpu.measure(p, each)) ggml_cpu.best_with(*timing);
    }
    std::printf("%s\n", name.c_str());
    const auto row = [&](const char* name, const Timing& t) {
      if (t.wall == 0) return;
      std::printf("  %-16s %9.3f / %9.3f ms  %7.1f GFLOP/s\n", name, t.wall * 1e3, t.cpu * 1e3, flops / t.wall * 1e-9);
    };
    row("rlxgpu", mine), row("rlxgpu, tiled", naive), row("ggml Vulkan", ggml_vulkan), row("ggml CPU", ggml_cpu);
    row("OpenBLAS", openblas);
    compare(name + " against ggml Vulkan", ggml_vulkan, mine, 1, c.against_ggml);
    compare(name + " against OpenBLAS", openblas, mine, 1, c.against_blas);
    compare(name + " against our rate at 1024", square, mine, 1e9 / (1024.0 * 1024 * 1024), 0.85);
    std::fflush(stdout);
  }
  double seconds = 0;
  cold_start_seconds("planned");  // fills the caches
  for (int i = 0; i < rounds; ++i) {
    const double now = cold_start_seconds("planned");
    if (now > 0 && (seconds == 0 || now < seconds)) seconds = now;
  }
  if (seconds > 0) lines.push_back({"seconds from a new process to its first f32 512x512x512", 0.5, seconds, 0});
  print_table(lines);
  return 0;
}

}  // namespace
}  // namespace rlxgpu::core::peers

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == rlxgpu::core::kColdStart)
    return rlxgpu::core::cold_start_child(argv[2]);
  if (argc > 2 && argv[1] == rlxgpu::core::peers::kServe) return rlxgpu::core::peers::serve_ggml(argv[2]);
  int rounds = 9;
  std::string_view filter;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--rounds=")) {
      rounds = std::max(1, std::atoi(argv[i] + 9));
    } else if (argument.starts_with("--filter=")) {
      filter = argument.substr(9);
    } else {
      return std::fprintf(stderr, "usage: peers_bench [--rounds=N] [--filter=PART_OF_NAME]\n"), 2;
    }
  }
  return rlxgpu::core::peers::run(rounds, filter);
}

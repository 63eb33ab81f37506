// Products of packed weights by rlxgpu and by ggml's Vulkan backend on the same machine, in turns, best of many, and
// the ratios that issue 20 asks for.
//
//   ./dev bench peers                                with the other peers
//   blocks_peers_bench --rounds=20 --filter=Q4_K     more chances for a quiet moment, some of the products
//
// Ratios are the peer's time over ours, for wall and for processor time; the latter counts when others use the machine,
// and only between programs that run on the CPU. ggml runs with and without matrix units in processes of its own; its
// better time counts. Our product with f16 weights is timed along: a matrix-vector product of blocks may take 1.2 times
// that.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/peers/ggml_peer.h"
#include "rlxgpu/base/half.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/blocks/blocks.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/load/quantize.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::peers {
namespace {

struct Case {
  Storage storage;
  int64_t m, k, n;
  double bar;  // against ggml
};
constexpr Case kCases[] = {
    {Storage::q8_0, 1, 4096, 4096, 4}, {Storage::q4_0, 1, 4096, 4096, 4},   {Storage::q4_k, 1, 4096, 4096, 4},
    {Storage::q6_k, 1, 4096, 4096, 4}, {Storage::iq4_xs, 1, 4096, 4096, 4}, {Storage::mxfp4, 1, 4096, 4096, 4},
    {Storage::q8_0, 512, 512, 512, 5}, {Storage::q4_0, 512, 512, 512, 5},   {Storage::q4_k, 512, 512, 512, 5},
};

void check(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str()), std::exit(1);
}

// One product on the device, with blocks, or f16 without a storage.
class Ours {
 public:
  Ours(const Device& device, const Case& c, std::optional<Storage> storage) : device_(device) {
    DynamicGraph graph;
    const Tensor x = graph->input("x", f32, {c.m, c.k});
    if (storage) {
      graph->output("y", matmul(x, block_param(*graph, "w", *storage, c.n, c.k)));
    } else {
      graph->output("y", matmul(x, transpose(graph->param("w", f16, {c.n, c.k}))));
    }
    auto executable = Executable<DynamicGraph>::create(device, graph, {.sizes = Sizes::baked, .tuned = false});
    check(executable.status());
    executable_.emplace(*std::move(executable));
    std::vector<float> w;
    for (int64_t i = 0; i < c.n * c.k; ++i) w.push_back(static_cast<float>(i * 37 % 257) / 128 - 1);
    if (storage) {
      std::vector<std::byte> blocks = *quantize(w, c.k, *storage);
      blocks.resize((blocks.size() + 3) / 4 * 4);
      check(executable_->set_elements("w", u32, static_cast<int64_t>(blocks.size() / 4), blocks.data()));
    } else {
      std::vector<Half> halves(w.begin(), w.end());
      check(executable_->set_elements("w", f16, c.n * c.k, halves.data()));
    }
    check(executable_->set("x", std::vector<float>(w.begin(), w.begin() + c.m * c.k)));
    run();  // compiles
  }
  Timing run() {
    const Stopwatch watch;
    executable_->run();
    check(device_.wait_idle());
    return watch.timing();
  }

 private:
  Device device_;
  std::optional<Executable<DynamicGraph>> executable_;
};

int run(int rounds, std::string_view filter) {
  Result<Device> device = open_device();
  check(device.status());
  std::printf("%s, best of %d rounds; wall / processor time of all threads\n\n", device->label().c_str(), rounds);
  std::printf(
      "| product | rlxgpu ms | ggml Vulkan ms | ratio | asked for | rlxgpu f16 ms | times f16 "
      "|\n|---|---|---|---|---|---|---|\n");
  GgmlPeer vulkan({.backend = "Vulkan"}), no_units({.backend = "Vulkan", .matrix_units = false});
  for (const Case& c : kCases) {
    const Codec& codec = codec_of(c.storage);
    const std::string name =
        std::string(codec.name) + " " + std::to_string(c.m) + "x" + std::to_string(c.k) + "x" + std::to_string(c.n);
    if (name.find(filter) == std::string::npos) continue;
    Ours ours(*device, c, c.storage), half(*device, c, std::nullopt);
    Timing mine, theirs, halves;
    for (int round = 0; round < rounds; ++round) {
      constexpr int kEach = 3;  // runs of everyone in each round, one after another
      for (int i = 0; i < kEach; ++i) mine.best_with(ours.run());
      for (int i = 0; i < kEach; ++i) halves.best_with(half.run());
      const Product p{false, c.m, c.k, c.n, codec.gguf_type};
      if (const auto timing = vulkan.measure(p, kEach)) theirs.best_with(*timing);
      if (const auto timing = no_units.measure(p, kEach)) theirs.best_with(*timing);
    }
    std::printf("| %s | %.3f / %.3f | %.3f / %.3f | %.2f / %.2f | %.0f | %.3f / %.3f | %.2f / %.2f |\n", name.c_str(),
                mine.wall * 1e3, mine.cpu * 1e3, theirs.wall * 1e3, theirs.cpu * 1e3, theirs.wall / mine.wall,
                theirs.cpu / mine.cpu, c.bar, halves.wall * 1e3, halves.cpu * 1e3, mine.wall / halves.wall,
                mine.cpu / halves.cpu);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace rlxgpu::core::peers

int main(int argc, char** argv) {
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
      return std::fprintf(stderr, "usage: blocks_peers_bench [--rounds=N] [--filter=PART_OF_NAME]\n"), 2;
    }
  }
  return rlxgpu::core::peers::run(rounds, filter);
}

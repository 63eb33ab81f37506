// The demo: a transformer encoder that the C++ compiler turned into a GPU program. Shows the program,
// runs it, compares it with the double-precision reference, and profiles every step.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "docs/examples/encoder.h"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/tools/profile_table.h"

namespace {

using namespace rlxgpu;  // NOLINT: an example reads better without the prefix
using namespace rlxgpu::core;  // NOLINT: it looks into the graph, too

inline constexpr examples::EncoderSize kSize{.layers = 2, .rows = 64, .width = 128, .heads = 4};
using Model = examples::Encoder<kSize>;
using Encoder = Executable<Model>;

static_assert(Encoder::program.steps.size() == 18 * kSize.layers);  // known to the compiler

[[noreturn]] void die(const Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Random input and weights, by name; weights small enough that values keep their size from layer to layer.
reference::Arrays make_data(const Graph& graph) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  reference::Arrays data;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::param) continue;
    const Value& value = graph.value(node.results.first);
    reference::Array array(value.dtype, value.shape);
    const float scale = node.kind == NodeKind::input ? 1.0f : 1.0f / std::sqrt(static_cast<float>(value.shape[0]));
    for (double& element : array.data) element = scale * normal(random);
    data.emplace(graph.name(node.name), std::move(array));
  }
  return data;
}

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]));
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A transformer encoder: compiled into a GPU program by the C++ compiler, run, checked, profiled."};
  std::string adapter;
  app.add_option("--adapter", adapter, "part of an adapter's name; `rlxgpu devices` lists them")->envname("RLXGPU_ADAPTER");
  CLI11_PARSE(app, argc, argv);

  Result<Device> device = open_device({.adapter = adapter});
  if (!device.ok()) die(device.status());
  std::printf("adapter   %s\n\n", device->label().c_str());

  const Text text = listing(Encoder::program);
  std::printf("program   %d layers, %d tokens of %d, as the C++ compiler planned it for every device: %.*s\n", kSize.layers, kSize.rows, kSize.width,
              static_cast<int>(text.size()), text.view().data());

  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  const EngineOptions options = {.progress = [](const Progress& p) {
    std::fprintf(stderr, "\rkernels   %d of %d compiled by Dawn", p.done, p.total);
    if (p.done == p.total) std::fputs("\n", stderr);
  }};
  Encoder encoder(*device, options);  // planned again, for this device
  if (Status status = encoder.status(); !status.ok()) die(status);

  Builder builder;
  Model::build(builder);
  const reference::Arrays data = make_data(builder.graph());
  for (const auto& [name, array] : data) {
    const std::vector<float> elements(array.data.begin(), array.data.end());
    const std::span<const std::byte> bytes = std::as_bytes(std::span(elements));
    if (name == "x") {
      encoder.set<"x">(elements);
    } else if (Status status = encoder.engine().weights().set(name, f32, array.shape, bytes); !status.ok()) {
      die(status);
    }
  }
  encoder.run();
  auto y = encoder.get<"y">();
  if (!y.ok()) die(y.status());
  const std::chrono::duration<double> first = std::chrono::steady_clock::now() - start;

  // What rounding every value to f32 costs is the measure for what the GPU may differ by.
  const reference::Arrays exact = reference::run(builder.graph(), data, {.round = false});
  const reference::Arrays stored = reference::run(builder.graph(), data);
  const std::vector<double> result(y->begin(), y->end());
  const double allowed = 8 * worst_difference(stored.at("y").data, exact.at("y").data);
  const double worst = worst_difference(result, exact.at("y").data);
  const bool right = worst <= allowed;
  std::printf("result    first after %.2f s; differs from the double reference by at most %.1e (f32 storage alone allows %.1e): %s\n\n",
              first.count(), worst, allowed, right ? "right" : "WRONG");

  Result<std::vector<StepProfile>> best = tools::best_profile(encoder.engine(), 5);
  if (!best.ok()) die(best.status());
  std::printf("profile   best of 5 runs, GPU timestamps\n%s", tools::profile_table(*best).c_str());
  std::printf(
      "\nNext: ./dev bazel run //rlxgpu/tools:rlxgpu -- devices          the adapters of this machine\n"
      "      ./dev bazel run //rlxgpu/tools:rlxgpu -- program encoder --wgsl   the kernels as text\n"
      "      docs/examples/encoder.h                                   the graph: change it and run again\n");
  return right ? 0 : 1;
}

// Whole layers: what they take beside their products, and what a token takes outside of kernels.
//
//   ./dev bench models              // a BERT-base layer against its four products; a 6-layer decoder, token by token
//   ./dev bench models --steps      // and the time of every step
//   ./dev bench models --prefill    // only many tokens at once
//
// Programs are planned for the device, without the tuner. Times are the best of many; what is compared takes turns. A
// token's time is that of a whole turn: its number in, a run, the next number out. What of it is outside of kernels is
// taken to be the time of a turn with as many dispatches of kernels that do next to nothing: timestamps around every
// step would cost more than what is looked for.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "docs/examples/bert.h"
#include "docs/examples/llama.h"
#include "docs/examples/mamba.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/glu/glu.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/stored.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core {
namespace {

void check(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str()), std::exit(1);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A graph on the device, with numbers of about 1 / 16 in all weights and inputs.
class Model {
 public:
  Model(const Device& device, const std::function<void(Builder&)>& build) : device_(device) {
    DynamicGraph graph;
    build(*graph);
    DynamicOptions options;
    options.tuned = false;
    options.sizes = Sizes::baked;
    auto made = Executable<DynamicGraph>::create(device, graph, options);
    check(made.status());
    executable_ = *std::move(made);
    for (const Node& node : graph.graph().nodes) {
      const Value& value = graph.graph().value(node.results.first);
      if ((node.kind != NodeKind::input && node.kind != NodeKind::param) || value.dtype != f32) continue;
      std::vector<float> x(static_cast<size_t>(value.shape.count()));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 257) / 2048 - 0.0625f;
      check(executable_.set(graph.graph().name(node.name), x));
    }
    run();  // compiles
  }
  void run() {
    executable_.run();
    check(device_.wait_idle());
  }
  Executable<DynamicGraph>& executable() { return executable_; }
  // Each step's least time on the device; zeros where it has no timestamps.
  std::vector<StepProfile> profile(int runs) {
    std::vector<StepProfile> best;
    for (int i = 0; i < runs; ++i) {
      Result<std::vector<StepProfile>> steps = executable_.engine().profile();
      check(steps.status());
      if (best.empty()) best = *steps;
      for (size_t s = 0; s < best.size(); ++s) best[s].seconds = std::min(best[s].seconds, (*steps)[s].seconds);
    }
    return best;
  }

 private:
  Device device_;
  Executable<DynamicGraph> executable_;
};

void print_steps(const std::vector<StepProfile>& steps) {
  for (const StepProfile& step : steps) {
    std::printf("    %8.3f ms %7.2f GFLOP/s  %s\n", step.seconds * 1e3, step.flops / step.seconds * 1e-9,
                step.label.c_str());
  }
}

struct Options {
  int rounds = 15, tokens = 128;
  bool steps = false, prefill = false;
};

const char* verdict(bool holds) { return holds ? "holds" : "MISSED"; }

constexpr examples::BertSize base_size(bool fused) { return {.layers = 1, .fused_norms = fused}; }

void layer(Builder& g, bool fused) {
  const examples::BertSize size = base_size(fused);
  const auto factor = [&](std::string_view name) { return g.param(name, f32, {size.width}); };
  const examples::Unnormed x = {g.input("x", f32, {size.rows, size.width}), factor("g0"), factor("s0"), 1e-12f};
  g.output("y", examples::bert_layer(g, 0, x, g.input("mask", boolean, {size.rows}), size).sum);
}
void products(Builder& g) {
  const examples::BertSize size = base_size(false);
  const auto product = [&](const char* name, int k, int n) {
    const std::string label(name);
    g.output(label + ".y", matmul(g.input(label + ".x", f32, {size.rows, k}), g.param(label, f32, {k, n})));
  };
  product("wqkv", size.width, 3 * size.width), product("wo", size.width, size.width);
  product("w1", size.width, size.hidden), product("w2", size.hidden, size.width);
}

void bert(const Device& device, const Options& options) {
  Model apart(device, [](Builder& g) { layer(g, false); }), fused(device, [](Builder& g) { layer(g, true); });
  Model alone(device, products);
  double best_apart = 1e9, best_fused = 1e9, best_alone = 1e9;
  for (int i = 0; i < options.rounds; ++i) {
    best_apart = std::min(best_apart, seconds_of([&] { apart.run(); }));
    best_alone = std::min(best_alone, seconds_of([&] { alone.run(); }));
    if (i < 3) best_fused = std::min(best_fused, seconds_of([&] { fused.run(); }));
  }
  const double best = std::min(best_apart, best_fused), ratio = best / best_alone;
  std::printf("BERT-base layer, 128 tokens: %.2f ms (norms fused %.2f), its products alone %.2f ms\n", best_apart * 1e3,
              best_fused * 1e3, best_alone * 1e3);
  std::printf("  layer over products                    %5.2f, at most 1.35: %s\n", ratio, verdict(ratio <= 1.35));
  if (options.steps) print_steps(apart.profile(5)), print_steps(alone.profile(5));
}

// A number in, `steps` dispatches that hardly do anything, a number out.
void nothing(Builder& g, size_t steps) {
  Tensor x = g.input("tokens", u32, {1});
  for (size_t i = 0; i + 1 < steps; ++i) x = stored(x + 1);
  g.output("next", cast(x, i32));
}

// One token.
uint32_t turn(Model& model, uint32_t token) {
  Executable<DynamicGraph>& decode = model.executable();
  check(decode.set("tokens", std::array{token}));
  decode.run();
  Result<std::vector<int32_t>> said = decode.get<int32_t>("next");
  check(said.status());
  return static_cast<uint32_t>((*said)[0]);
}

void decoder(const Device& device, const char* name, const std::function<void(Builder&)>& build, const Options& options,
             bool asked) {
  Model model(device, build);
  const std::vector<StepProfile> profile = model.profile(options.steps ? 9 : 1);
  const size_t count = profile.size();
  Model idle(device, [&](Builder& g) { nothing(g, count); });
  if (idle.profile(1).size() != count) check(invalid_argument("the idle program has another number of steps"));
  double best = 1e9, best_idle = 1e9;
  uint32_t token = 1;
  for (int i = 0; i < options.tokens; ++i) {
    (void)model.executable().set("position", 256 + i);  // those that have them
    (void)model.executable().set("seed", 1);
    best = std::min(best, seconds_of([&] { token = turn(model, token); }));
    best_idle = std::min(best_idle, seconds_of([&] { turn(idle, 1); }));
  }
  const double outside = best_idle / best;
  std::printf("%s: %.2f ms a token\n", name, best * 1e3);
  std::printf("  dispatches a token                     %5zu%s%s\n", count, asked ? ", at most 50: " : "",
              asked ? verdict(count <= 50) : "");
  std::printf("  time outside of kernels                %4.1f %%%s%s\n", outside * 100, asked ? ", at most 15 %: " : "",
              asked ? verdict(outside <= 0.15) : "");
  if (options.steps) print_steps(profile);
}

// A gated unit's first half: one dispatch, or two products.
void gated(Builder& g, int tokens, bool joined) {
  const Tensor x = g.input("x", f32, {tokens, 512});
  const Tensor gate = g.param("gate", f32, {512, 1408}), up = g.param("up", f32, {512, 1408});
  g.output("y", joined ? gated_matmul(x, gate, up, Activation::silu) : swiglu(matmul(x, gate), matmul(x, up)));
}

// Many tokens at once through two layers, without a vocabulary to speak of.
template <int kTokens>
void prefill(const Device& device, const Options& options) {
  constexpr examples::LlamaSize kSize = {.layers = 2, .vocabulary = 32};
  Model model(device, examples::Llama<kSize, kTokens>::build);
  check(model.executable().set("position", 0));
  double best = 1e9;
  for (int i = 0; i < options.rounds; ++i) best = std::min(best, seconds_of([&] { model.run(); }));
  std::printf("2-layer decoder, d = 512, %3d tokens at once: %.2f ms\n", kTokens, best * 1e3);
  if (options.steps) print_steps(model.profile(5));
  Model joined(device, [](Builder& g) { gated(g, kTokens, true); }),
      apart(device, [](Builder& g) { gated(g, kTokens, false); });
  double best_joined = 1e9, best_apart = 1e9;
  for (int i = 0; i < 3 * options.rounds; ++i) {
    best_joined = std::min(best_joined, seconds_of([&] { joined.run(); }));
    best_apart = std::min(best_apart, seconds_of([&] { apart.run(); }));
  }
  std::printf("  gate and up in one dispatch %.2f ms, in two %.2f ms\n", best_joined * 1e3, best_apart * 1e3);
}

void read_many(const Device& device, const Options& options) {
  prefill<64>(device, options);
  prefill<128>(device, options);
  prefill<512>(device, options);
}

constexpr examples::LlamaSize kGreedy = {}, kSampled = {.sampled = true};
constexpr examples::MambaSize kMamba = {.layers = 6, .width = 512, .inner = 1024, .rank = 32};

int run(const Options& options) {
  Result<Device> device = open_device();
  check(device.status());
  std::printf("%s\n", device->label().c_str());
  if (options.prefill) return read_many(*device, options), 0;
  bert(*device, options);
  decoder(*device, "6-layer decoder, d = 512, greedy", examples::Llama<kGreedy, 1>::build, options, true);
  decoder(*device, "6-layer decoder, d = 512, sampled", examples::Llama<kSampled, 1>::build, options, true);
  read_many(*device, options);
  decoder(*device, "6 layers of Mamba, d = 512", examples::Mamba<kMamba, 1>::build, options, false);
  return 0;
}

}  // namespace
}  // namespace rlxgpu::core

int main(int argc, char** argv) {
  rlxgpu::core::Options options;
  for (int i = 1; i < argc; ++i) {
    options.steps = options.steps || std::string_view(argv[i]) == "--steps";
    options.prefill = options.prefill || std::string_view(argv[i]) == "--prefill";
  }
  return rlxgpu::core::run(options);
}

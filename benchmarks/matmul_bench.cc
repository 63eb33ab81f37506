// Products on the device: every variant that accepts them, over shapes and types.
//
//   ./dev bench matmul                                                 all of it, about five minutes
//   ./dev bench matmul --benchmark_filter='f32/512x512x512'            one shape
//   ./dev bench matmul --benchmark_filter=default --benchmark_out=results.json --benchmark_out_format=json
//   ./dev bench matmul --choice [f32/512]       a table: the default's time against that of the best variant, in turns
//
// Names are matmul/TYPE/[BATCHx]MxKxN/VARIANT; "default" is what a program gets without tuning, and its label says
// which variant that is. Times are the device's own, of all steps of the product; best_ms is the shortest and
// best_cpu_ms the least processor time of all threads, which counts on a shared machine. Small products are compared
// with plain sums in double before they are timed.
#include <time.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "rlxgpu/base/half.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core {
namespace {

struct Case {
  int64_t batch, m, k, n;
  bool b_transposed = false;  // b is stored as (n, k)
};

// Square; transformer layers (768 and 4096 wide); a few rows or columns; long sums; batches as in attention.
constexpr Case kCases[] = {
    {1, 64, 64, 64},       {1, 128, 128, 128},       {1, 256, 256, 256},       {1, 512, 512, 512},
    {1, 1000, 1000, 1000}, {1, 1024, 1024, 1024},    {1, 2048, 2048, 2048},    {1, 128, 768, 768},
    {1, 128, 768, 3072},   {1, 128, 3072, 768},      {1, 197, 768, 2304},      {1, 4096, 4096, 1},
    {1, 1, 4096, 4096},    {1, 1, 4096, 4096, true}, {1, 4, 4096, 4096, true}, {1, 16, 1024, 1024},
    {1, 1, 64, 4096},      {1, 32, 16384, 32},       {1, 4, 16384, 4},         {12, 128, 64, 128, true},
    {12, 128, 128, 64},    {64, 32, 32, 32},
};
constexpr double kCheckedFlops = 2.0 * 128 * 128 * 128 * 4;

Device& device() {
  static Device opened = [] {
    Result<Device> result = open_device();
    if (!result.ok()) {
      std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
      std::exit(1);
    }
    return *result;
  }();
  return opened;
}

std::string name_of_case(const Case& c) {
  std::string name = c.batch > 1 ? std::to_string(c.batch) + "x" : "";
  name += std::to_string(c.m) + "x" + std::to_string(c.k) + "x" + std::to_string(c.n);
  return c.b_transposed ? name + "t" : name;
}

void build(Builder& g, const Case& c, DType dtype) {
  const Tensor a = g.input("a", dtype, {c.batch, c.m, c.k});
  const Tensor b = g.input("b", dtype, c.b_transposed ? Shape{c.batch, c.n, c.k} : Shape{c.batch, c.k, c.n});
  g.output("y", matmul(a, c.b_transposed ? transpose(b, {0, 2, 1}) : b));
}

// Elements in [-1, 1], as the type holds them, and their words.
struct Elements {
  std::vector<double> values;
  std::vector<uint32_t> words;
};
Elements random_elements(DType dtype, int64_t count, uint32_t seed) {
  Elements elements;
  std::mt19937 random(seed);
  const auto lanes = static_cast<size_t>(per_word(dtype));
  elements.words.resize((static_cast<size_t>(count) + lanes - 1) / lanes);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const double value = static_cast<double>(static_cast<int>(random() % 257) - 128) / 128;  // exact in every type
    elements.values.push_back(value);
    elements.words[i / lanes] |= word_of(value, dtype) << (lanes == 1 ? 0 : 16 * (i % lanes));
  }
  return elements;
}

std::string check(Executable<DynamicGraph>& executable, const Case& c, DType dtype, const Elements& a,
                  const Elements& b) {
  executable.run();
  const int64_t count = c.batch * c.m * c.n;
  std::vector<uint32_t> words(storage_bytes(dtype, count) / 4);
  const Status status = executable.get_elements("y", dtype, count, words.data());
  if (!status.ok()) return status.ToString();
  const double ulp = dtype == f32 ? 0x1p-23 : dtype == f16 ? 0x1p-10 : 0x1p-7;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t batch = i / (c.m * c.n), row = i / c.n % c.m, col = i % c.n;
    double sum = 0;
    for (int64_t k = 0; k < c.k; ++k) {
      const int64_t in_b = c.b_transposed ? (batch * c.n + col) * c.k + k : (batch * c.k + k) * c.n + col;
      sum += a.values[static_cast<size_t>((batch * c.m + row) * c.k + k)] * b.values[static_cast<size_t>(in_b)];
    }
    const auto at = static_cast<size_t>(i);
    const uint32_t word = words[dtype == f32 ? at : at / 2];
    const double got = dtype == f32 ? static_cast<double>(std::bit_cast<float>(word))
                       : dtype == f16
                           ? static_cast<double>(half_value(static_cast<uint16_t>(word >> (16 * (at % 2)))))
                           : static_cast<double>(std::bit_cast<float>(at % 2 == 0 ? word << 16 : word & 0xffff0000u));
    if (std::fabs(got - sum) > std::fabs(sum) * ulp + static_cast<double>(c.k) * 0x1p-23) {
      return "wrong: element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(sum);
    }
  }
  return "";
}

// Of all threads of this process: on adapters that run on the CPU, what others do there meanwhile does not count.
double process_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double flops_of(const Case& c) { return 2.0 * static_cast<double>(c.batch * c.m * c.n) * static_cast<double>(c.k); }

// A product with both operands given. `variant` empty: what a program gets without tuning.
Result<Executable<DynamicGraph>> prepare(const Case& c, DType dtype, std::string_view variant, const Elements& a,
                                         const Elements& b) {
  DynamicGraph graph;
  build(*graph, c, dtype);
  DynamicOptions options;
  const Choice choices[] = {{"matmul", variant}};
  if (!variant.empty()) options.compile.choices = choices;
  options.tuned = false;
  options.sizes = Sizes::baked;
  auto executable = Executable<DynamicGraph>::create(device(), graph, options);
  if (!executable.ok()) return executable;
  for (const Status& status : {executable->set_elements("a", dtype, c.batch * c.m * c.k, a.words.data()),
                               executable->set_elements("b", dtype, c.batch * c.k * c.n, b.words.data())}) {
    if (!status.ok()) return status;
  }
  return executable;
}

void BM_Matmul(benchmark::State& state, const Case& c, DType dtype, std::string_view variant) {
  const Elements a = random_elements(dtype, c.batch * c.m * c.k, 1), b = random_elements(dtype, c.batch * c.k * c.n, 2);
  auto executable = prepare(c, dtype, variant, a, b);
  if (!executable.ok()) return state.SkipWithError(executable.status().ToString());
  const double flops = flops_of(c);
  if (flops <= kCheckedFlops) {
    if (const std::string wrong = check(*executable, c, dtype, a, b); !wrong.empty()) return state.SkipWithError(wrong);
  }
  if (const Status status = executable->engine().warm_up(); !status.ok()) return state.SkipWithError(status.ToString());
  double best = 0, best_cpu = 0;
  std::string label;
  for (auto _ : state) {
    const double cpu_before = process_seconds();
    const auto steps = executable->engine().profile();
    if (!steps.ok()) return state.SkipWithError(steps.status().ToString());
    double seconds = 0;
    for (const StepProfile& step : *steps) seconds += step.seconds, label = step.label;
    state.SetIterationTime(seconds);
    const double cpu = process_seconds() - cpu_before;
    if (best == 0 || seconds < best) best = seconds;
    if (best_cpu == 0 || cpu < best_cpu) best_cpu = cpu;
  }
  using benchmark::Counter;
  const auto elements = static_cast<double>(c.batch * (c.m * c.k + c.k * c.n + c.m * c.n));
  state.counters["FLOP"] = Counter(flops, Counter::kIsIterationInvariantRate);
  state.counters["bytes"] = Counter(elements * 4 / per_word(dtype), Counter::kIsIterationInvariantRate);
  state.counters["best_ms"] = best * 1e3;
  state.counters["best_cpu_ms"] = best_cpu * 1e3;
  state.SetLabel(label + " on " + device().label());
}

bool accepts(const Variant& variant, const Case& c, DType dtype) {
  DynamicGraph graph;
  build(*graph, c, dtype);
  const Choice choices[] = {{"matmul", variant.name}};
  CompileOptions options;
  options.choices = choices;
  const Program program = compile(graph.graph(), device().target(), options);
  for (const Step& step : program.steps) {
    const std::string_view label = view_of(program, device().target()).name(step.label);
    if (label.ends_with("/" + std::string(variant.name))) return true;
  }
  return false;
}

// The variants that accept a product; without "plain" where that would take minutes.
std::vector<std::string_view> variants_of(const Case& c, DType dtype) {
  std::vector<std::string_view> names;
  for (const Variant& variant : kMatmul.variants) {
    if ((variant.name == "plain" && flops_of(c) > 1e8) || !accepts(variant, c, dtype)) continue;
    names.push_back(variant.name);
  }
  return names;
}

void register_all() {
  for (const DType dtype : {f32, f16, bf16}) {
    for (const Case& c : kCases) {
      const std::string name = "matmul/" + std::string(name_of(dtype)) + "/" + name_of_case(c) + "/";
      const auto add = [&](std::string_view shown, std::string_view variant) {
        benchmark::RegisterBenchmark(name + std::string(shown), BM_Matmul, c, dtype, variant)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond)
            ->MinTime(0.1);
      };
      add("default", "");
      for (const std::string_view variant : variants_of(c, dtype)) add(variant, variant);
    }
  }
}

struct Contender {
  std::string name;
  Executable<DynamicGraph> executable;
  double best = 0;  // seconds of the device
};

// One run; false when that fails.
bool run_once(Contender& contender, std::string* label = nullptr) {
  const auto steps = contender.executable.engine().profile();
  if (!steps.ok()) return false;
  double seconds = 0;
  for (const StepProfile& step : *steps) {
    seconds += step.seconds;
    if (label != nullptr) *label = step.label.substr(step.label.rfind('/') + 1);
  }
  if (contender.best == 0 || seconds < contender.best) contender.best = seconds;
  return true;
}

// Every variant in turns; those that are three times slower than the best fall out.
int print_choices(std::string_view filter) {
  std::printf("%s: what is chosen without tuning, and the best (ms, best of many, in turns)\n\n",
              device().label().c_str());
  std::printf("| product | chosen | ms | best | ms | ratio |\n|---|---|---|---|---|---|\n");
  double worst = 0;
  for (const DType dtype : {f32, f16}) {
    for (const Case& c : kCases) {
      const std::string name = std::string(name_of(dtype)) + "/" + name_of_case(c);
      if (name.find(filter) == std::string::npos) continue;
      const Elements a = random_elements(dtype, c.batch * c.m * c.k, 1),
                     b = random_elements(dtype, c.batch * c.k * c.n, 2);
      std::vector<Contender> contenders;
      std::string chosen;
      std::vector<std::string_view> names = variants_of(c, dtype);
      names.insert(names.begin(), "");
      for (const std::string_view variant : names) {
        if (variant == chosen && !variant.empty()) continue;  // the default's
        auto executable = prepare(c, dtype, variant, a, b);
        if (!executable.ok()) return std::fprintf(stderr, "%s\n", executable.status().ToString().c_str()), 1;
        contenders.push_back({std::string(variant), *std::move(executable)});
        if (!run_once(contenders.back(), variant.empty() ? &chosen : nullptr)) return 1;  // compiles
        if (variant.empty()) contenders.back().name = chosen;
        contenders.back().best = 0;
      }
      const std::string first = contenders[0].name;
      const double budget = flops_of(c) > 1e9 ? 3 : 1;  // seconds for a product
      double spent = 0;
      for (int round = 0; round < 200 && (round < 4 || spent < budget); ++round) {
        for (Contender& contender : contenders) {
          if (!run_once(contender)) return 1;
          spent += contender.best;
        }
        const auto best = std::min_element(contenders.begin(), contenders.end(), [](const auto& x, const auto& y) {
                            return x.best < y.best;
                          })->best;
        std::erase_if(contenders,
                      [&](const Contender& contender) { return contender.name != first && contender.best > 3 * best; });
      }
      const Contender& best = *std::min_element(contenders.begin(), contenders.end(),
                                                [](const auto& x, const auto& y) { return x.best < y.best; });
      const double ratio = contenders[0].best / best.best;
      worst = std::max(worst, ratio);
      std::printf("| %s | %s | %.3f | %s | %.3f | %.2f%s |\n", name.c_str(), first.c_str(), contenders[0].best * 1e3,
                  best.name.c_str(), best.best * 1e3, ratio, ratio > 1.3 ? " (above 1.3)" : "");
      std::fflush(stdout);
    }
  }
  std::printf("\nlargest ratio: %.2f\n", worst);
  return 0;
}

}  // namespace
}  // namespace rlxgpu::core

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--choice") return rlxgpu::core::print_choices(argc > 2 ? argv[2] : "");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  rlxgpu::core::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

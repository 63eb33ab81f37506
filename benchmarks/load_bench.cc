// From a model's files to a model that is ready to run: time, and the host memory that it takes.
//
//   ./dev models && ./dev bench load
//
// Every load is a process of its own, since memory that was used once stays with a process. The clock starts when the
// device is open. peak_mib is the most memory that the process had, less what it had with the device open; the software
// adapters keep the device's memory in the host's, so that it is included, and device_mib says how much of it there is.
// files_mib is what the files take. encoder: Moonshine's encoder, for a sound of seven seconds, by onnx::Session.
// moonshine: the encoder and the decoder, as `rlxgpu transcribe` loads them.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "benchmark/benchmark.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/tools/moonshine_decoder.h"
#include "rlxgpu/tools/transcribe.h"

namespace rlxgpu::core {
namespace {

constexpr char kChild[] = "--load";
constexpr int64_t kSamples = 7 * 16000;

struct Load {
  double seconds = 0, peak_mib = 0, device_mib = 0;
};

// A line of /proc/self/status, in MiB.
double memory(std::string_view what) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(what)) return std::atof(line.c_str() + what.size()) / 1024;
  }
  return 0;
}

int fail(std::string_view why) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(why.size()), why.data());
  return 1;
}

int load_child(std::string_view which, int out) {
  const Result<Device> device = open_device();
  if (!device.ok()) return fail(device.status().message());
  const std::string folder = tools::model_folder("moonshine-tiny");
  const double before = memory("VmRSS:");
  const auto begin = std::chrono::steady_clock::now();
  std::optional<tools::MoonshineDecoder> decoder;
  if (which == "moonshine") {
    absl::StatusOr<tools::MoonshineDecoder> opened =
        tools::MoonshineDecoder::open(*device, folder + "/decoder_model_merged.onnx");
    if (!opened.ok()) return fail(opened.status().message());
    decoder.emplace(*std::move(opened));
  }
  Result<onnx::Model> model =
      onnx::load(folder + "/encoder_model.onnx", {.extents = {{"batch_size", 1}, {"num_samples", kSamples}}});
  if (!model.ok()) return fail(model.status().message());
  Result<onnx::Session> session = onnx::Session::create(*device, *model);
  if (!session.ok()) return fail(session.status().message());
  if (const Status idle = device->wait_idle(); !idle.ok()) return fail(idle.message());
  Load load;
  load.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  load.peak_mib = memory("VmHWM:") - before;
  Engine& engine = session->executable().engine();
  load.device_mib = static_cast<double>(engine.device_bytes() + engine.weights().device_bytes()) / (1 << 20);
  return write(out, &load, sizeof load) == sizeof load ? 0 : 1;
}

std::optional<Load> load_once(const char* which) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t process = fork();
  if (process == 0) {
    execl("/proc/self/exe", "load", kChild, which, std::to_string(ends[1]).c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  Load load;
  const bool whole = process > 0 && read(ends[0], &load, sizeof load) == sizeof load;
  close(ends[0]);
  int status = 1;
  if (process < 0 || waitpid(process, &status, 0) != process || status != 0 || !whole) return std::nullopt;
  return load;
}

void BM_Load(benchmark::State& state, const char* which) {
  if (!load_once(which)) return state.SkipWithError("the model was not loaded: run ./dev models first");
  Load best{1e9, 1e9, 0};
  for (auto _ : state) {
    const std::optional<Load> load = load_once(which);
    if (!load) return state.SkipWithError("the process failed");
    state.SetIterationTime(load->seconds);
    best = {std::min(best.seconds, load->seconds), std::min(best.peak_mib, load->peak_mib), load->device_mib};
  }
  const std::string folder = tools::model_folder("moonshine-tiny");
  uintmax_t files = std::filesystem::file_size(folder + "/encoder_model.onnx");
  if (std::string_view(which) == "moonshine")
    files += std::filesystem::file_size(folder + "/decoder_model_merged.onnx");
  state.counters["best_ms"] = best.seconds * 1e3;
  state.counters["peak_mib"] = best.peak_mib;
  state.counters["device_mib"] = best.device_mib;
  state.counters["files_mib"] = static_cast<double>(files) / (1 << 20);
}
BENCHMARK_CAPTURE(BM_Load, encoder, "encoder")->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(7);
BENCHMARK_CAPTURE(BM_Load, moonshine, "moonshine")->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(7);

}  // namespace
}  // namespace rlxgpu::core

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == rlxgpu::core::kChild)
    return rlxgpu::core::load_child(argv[2], std::atoi(argv[3]));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

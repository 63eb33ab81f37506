// Speech to text: Moonshine on a recording, as `rlxgpu transcribe` does it, with the model already loaded.
//
//   ./dev models && ./dev bench transcribe
//
// encoder: the file's graph, from samples to hidden states. transcription: all of it, to text. Times are of the wall clock;
// best_ms is the shortest run. steps counts the decoder's runs, step_ms is the mean of one, and idle the share of it in which
// the device had nothing to do, since the host was about the next token. ONNX Runtime on the same adapter is the twin to
// compare with: benchmarks/peers/moonshine_onnxruntime.js.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/tools/transcribe.h"
#include "rlxgpu/tools/wav.h"

namespace rlxgpu::core {
namespace {

struct Bench {
  Device device;
  tools::Transcriber transcriber;
  std::vector<float> samples;
};

template <typename T>
T or_exit(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", std::string(value.status().message()).c_str());
  std::exit(1);
}

Bench& bench() {
  static Bench made = [] {
    Result<Device> device = open_device();
    if (!device.ok()) {
      std::fprintf(stderr, "%s\n", device.status().ToString().c_str());
      std::exit(1);
    }
    const std::string recordings = tools::model_folder("recordings");
    tools::Wav wav = or_exit(tools::read_wav(recordings + "/sense_and_sensibility_01_austen_64kb-0870.wav"));
    tools::Transcriber transcriber =
        or_exit(tools::Transcriber::open(*device, tools::model_folder("moonshine-tiny"), Sizes::baked));
    or_exit(transcriber.transcribe(wav.samples));  // compiles
    return Bench{*device, std::move(transcriber), std::move(wav.samples)};
  }();
  return made;
}

void BM_Transcribe(benchmark::State& state, bool encoder_only) {
  Bench& b = bench();
  double best = 0, decoder = 0, idle = 0, steps = 0;
  std::string text;
  for (auto _ : state) {
    const tools::Transcript transcript = or_exit(b.transcriber.transcribe(b.samples));
    const double seconds = transcript.encoder_seconds + (encoder_only ? 0 : transcript.decoder_seconds);
    state.SetIterationTime(seconds);
    if (best == 0 || seconds < best)
      best = seconds, decoder = transcript.decoder_seconds, idle = transcript.idle_seconds;
    steps = static_cast<double>(transcript.tokens.size() + 1);
    text = transcript.text;
  }
  state.counters["best_ms"] = best * 1e3;
  state.counters["sound_s"] = static_cast<double>(b.samples.size()) / 16000;
  if (!encoder_only) {
    state.counters["steps"] = steps;
    state.counters["step_ms"] = decoder / steps * 1e3;
    state.counters["idle"] = idle / decoder;
  }
  state.SetLabel(b.device.label() + ": " + text);
}

}  // namespace
}  // namespace rlxgpu::core

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const bool encoder : {true, false}) {
    benchmark::RegisterBenchmark(encoder ? "moonshine/encoder" : "moonshine/transcription", rlxgpu::core::BM_Transcribe,
                                 encoder)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(5);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

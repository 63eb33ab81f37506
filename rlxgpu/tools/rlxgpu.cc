// The rlxgpu command: what is here, what a graph becomes, whether kernels are valid. One file for each subcommand.
#include <unistd.h>

#include <iostream>

#include "CLI/CLI.hpp"
#include "rlxgpu/tools/calibrate.h"
#include "rlxgpu/tools/check_command.h"
#include "rlxgpu/tools/devices.h"
#include "rlxgpu/tools/doctor_command.h"
#include "rlxgpu/tools/export_command.h"
#include "rlxgpu/tools/gguf_command.h"
#include "rlxgpu/tools/language_command.h"
#include "rlxgpu/tools/model_command.h"
#include "rlxgpu/tools/plot.h"
#include "rlxgpu/tools/program_command.h"
#include "rlxgpu/tools/spectrogram.h"
#include "rlxgpu/tools/transcribe.h"
#include "rlxgpu/tools/tune_command.h"

int main(int argc, char** argv) {
  CLI::App app("rlxgpu: tensor programs as GPU kernels, made by the C++ compiler");
  app.name("rlxgpu");
  app.set_version_flag("--version", "rlxgpu 0.1.0");
  app.require_subcommand(0, 1);
  app.footer("RLXGPU_ADAPTER chooses the adapter that programs run on: part of a name that `rlxgpu devices` prints.");

  bool devices_as_json = false;
  CLI::App* devices =
      app.add_subcommand("devices", "List the adapters of this machine: driver, features, limits, measured speed");
  devices->add_flag("--json", devices_as_json, "Print JSON");

  rlxgpu::core::tools::ProgramCommand program;
  CLI::App* show = app.add_subcommand("program", "Show the program that an example graph becomes");
  show->add_option("NAME", program.name, "An example; without it, all are listed");
  show->add_flag("--here", program.here, "Plan it for the adapter of this machine; without it, for any WebGPU");
  CLI::Option* wgsl = show->add_flag("--wgsl", program.wgsl, "Print the WGSL of its kernels, too");
  show->add_flag("--recognised", program.recognised,
                 "Print the layers that were recognised where they are written out, instead of the program");
  show->add_flag("--json", program.json, "Print JSON: all of the program, with its WGSL")->excludes(wgsl);

  rlxgpu::core::tools::CheckCommand check;
  CLI::App* checks = app.add_subcommand("check", "Give kernels to tint and to Dawn's Null backend with default limits");
  checks->add_option("FILES", check.files, "WGSL files; without them, every kernel file and example of rlxgpu");
  checks->add_flag("--json", check.json, "Print JSON");

  rlxgpu::core::tools::CalibrateCommand calibrate;
  CLI::App* calibrates =
      app.add_subcommand("calibrate", "Measure how fast an adapter is, and keep that in the user's cache folder");
  calibrates->add_option("--adapter", calibrate.adapter,
                         "Part of the adapter's name; without it, the one used by default");
  calibrates->add_flag("--all", calibrate.all, "Every adapter of this machine");
  calibrates->add_option("--seconds", calibrate.seconds, "For each number; 1 unless told");

  rlxgpu::core::tools::TuneCommand tune;
  CLI::App* tunes = app.add_subcommand(
      "tune", "Measure the kernel variants of a graph, and keep the best in the user's cache folder");
  tunes->add_option("NAME", tune.name, "An example: see `rlxgpu program`");
  tunes->add_option("--matmul", tune.matmul, "Of a product [m,k] x [k,n] instead: M N K")
      ->expected(3)
      ->check(CLI::PositiveNumber);
  tunes->add_option("--dtype", tune.dtype, "Of that product: f32, f16 or bf16");
  tunes->add_option("--adapter", tune.adapter, "Part of the adapter's name; without it, the one used by default");
  tunes->add_option("--seconds", tune.seconds, "For all of it, at most; 120 unless told");
  tunes->add_flag("--again", tune.again, "Measure also what is known");

  rlxgpu::core::tools::PlotCommand plot;
  CLI::App* plots = app.add_subcommand("plot", "Draw the results of a benchmark (Google Benchmark's JSON) as SVG");
  plots->add_option("RESULTS", plot.results, "Written by a benchmark with --benchmark_out=results.json")->required();
  plots->add_option("--out", plot.out, "The SVG file; without it, RESULTS with .svg at the end");
  plots->add_option("--baseline", plot.baseline, "Bars are ratios to the benchmark of this name");
  plots->add_option("--filter", plot.filter, "Only benchmarks whose name contains this");

  rlxgpu::core::tools::SpectrogramCommand spectrogram;
  CLI::App* spectrograms = app.add_subcommand("spectrogram", "Draw the spectrum of a sound over time: WAV to PNG");
  spectrograms->add_option("IN", spectrogram.in, "A WAV file: 8 to 32-bit integers or floats, any channels")
      ->required();
  spectrograms->add_option("OUT", spectrogram.out, "The PNG file")->required();
  spectrograms->add_option("--length", spectrogram.length, "Samples of a piece; 1024 unless told");
  spectrograms->add_option("--hop", spectrogram.hop, "Samples from one piece to the next; 256 unless told");
  spectrograms->add_option("--window", spectrogram.window, "hann (unless told), hamming, blackman, rectangular");
  spectrograms->add_option("--mel", spectrogram.mel, "So many mel bands instead of frequencies");
  spectrograms->add_option("--colors", spectrogram.colors, "viridis (unless told), magma, gray");
  spectrograms->add_option("--range", spectrogram.range, "From the darkest to the brightest, in dB; 80 unless told");

  rlxgpu::core::tools::InspectCommand inspect;
  CLI::App* inspects =
      app.add_subcommand("inspect", "Show a model: of ONNX inputs, ops, weights and program, of GGUF sizes and memory");
  rlxgpu::core::tools::RunCommand run;
  CLI::App* runs = app.add_subcommand("run", "Run an ONNX model: .npy files in and out, or random inputs");
  const auto model_options = [](CLI::App* command, rlxgpu::core::tools::ModelCommand& model) {
    command->add_option("MODEL", model.model, "An .onnx file")->required();
    command->add_option("--extent", model.extents, "NAME=N: the size of a symbolic extent; 1 unless told")
        ->allow_extra_args(false);
    command->add_option("--input", model.inputs, "NAME=FILE.npy: the elements of an input")->allow_extra_args(false);
  };
  model_options(inspects, inspect);
  inspects->get_option("MODEL")->description("An .onnx or .gguf file");
  inspects->add_flag("--program", inspect.program, "List the program, too (ONNX)");
  rlxgpu::core::tools::InspectGgufCommand inspect_gguf;
  inspects->add_option("--context", inspect_gguf.context, "Tokens that the cache is for (GGUF); 4096 unless told")
      ->check(CLI::PositiveNumber);
  inspects->add_flag("--tensors", inspect_gguf.tensors, "List every tensor, too (GGUF)");
  rlxgpu::core::tools::QuantizeCommand quantize;
  CLI::App* quantizes = app.add_subcommand("quantize", "Write a model with its matrices in a packed format");
  quantizes->add_option("IN", quantize.in, "A .gguf or .safetensors file")->required();
  quantizes->add_option("OUT", quantize.out, "The .gguf file")->required();
  quantizes->add_option("--type", quantize.type, "The format, such as Q4_K, Q8_0 or MXFP4")->required();
  quantizes->add_option("--threads", quantize.threads, "As many as the machine has unless told")
      ->check(CLI::PositiveNumber);
  rlxgpu::core::tools::DoctorCommand doctor;
  CLI::App* doctors = app.add_subcommand(
      "doctor",
      "Run an ONNX model and compare every step with its simplest kernel or reference: which one is wrong here");
  model_options(doctors, doctor);
  doctors->add_flag("--baked", doctor.baked, "Only kernels with their sizes in them; without it, both kinds");
  doctors->add_flag("--free", doctor.free, "Only kernels that read their sizes");
  doctors->add_option("--seed", doctor.seed, "Of random inputs");
  doctors->add_option("--adapter", doctor.adapter, "Part of the adapter's name; without it, all of this machine");
  rlxgpu::core::tools::ExportCommand exported;
  CLI::App* exports = app.add_subcommand("export", "Write an example or an ONNX model as a bundle for web pages");
  model_options(exports, exported);
  exports->get_option("MODEL")->description("An example (see `rlxgpu program`) or an .onnx file");
  exports->add_option("--web", exported.web, "The folder to write it to")->required();
  model_options(runs, run);
  runs->add_option("--output-dir", run.output_dir, "Write every output there, as NAME.npy");
  runs->add_flag("--profile", run.profile, "Print what each step took on the device");
  runs->add_option("--trace", run.trace, "Write that as JSON for ui.perfetto.dev");
  runs->add_flag("--check", run.check, "Compare with the double-precision references of all ops (slow)");
  runs->add_flag("--baked", run.baked, "Kernels with their sizes in them: faster, and compiled for this model alone");
  runs->add_option("--runs", run.runs, "Timed runs; 1 unless told");
  runs->add_option("--seed", run.seed, "Of random inputs");
  runs->add_option("--adapter", run.adapter, "Part of the adapter's name; without it, the one used by default");
  rlxgpu::core::tools::TranscribeCommand transcribe;
  CLI::App* transcribes =
      app.add_subcommand("transcribe", "Write down what is said in a sound, by a Moonshine speech model");
  transcribes->add_option("IN", transcribe.in, "A WAV file of up to a minute, any rate and channels")->required();
  transcribes->add_option("--model", transcribe.model,
                          "The model's folder; without it, the one that `./dev models` makes");
  transcribes->add_flag("--times", transcribe.times, "Print how long it took, too");

  rlxgpu::core::tools::LanguageCommand language;
  language.terminal = isatty(STDERR_FILENO) != 0;
  const auto language_options = [&](CLI::App* command) {
    command->add_option("MODEL", language.model, "A .gguf file")->required();
    command->add_option("--adapter", language.adapter,
                        "Part of the adapter's name; without it, the one used by default");
  };
  const auto answer_options = [&](CLI::App* command) {
    rlxgpu::core::SamplerOptions& sampling = language.sampling;
    command->add_option("--tokens", language.tokens, "Of an answer, at most; without it, until the model ends it");
    command->add_option("--context", language.context,
                        "Tokens that are remembered; without it, the model's, at most 4096");
    command->add_option("--temperature", sampling.temperature, "0 takes the likeliest token; 0.8 unless told");
    command->add_option("--top-k", sampling.top_k, "Only so many of the likeliest, 0: all; 40 unless told");
    command->add_option("--top-p", sampling.top_p, "Only the fewest that reach this probability; 0.95 unless told");
    command->add_option("--min-p", sampling.min_p,
                        "Only those with this share of the likeliest's probability; 0.05 unless told");
    command->add_option("--repeat-penalty", sampling.repeat_penalty,
                        "Of tokens among the last 64; 1, none, unless told");
    command->add_option("--presence-penalty", sampling.presence_penalty, "The same, subtracted; 0 unless told");
    command->add_option("--frequency-penalty", sampling.frequency_penalty,
                        "The same, as often as they occur; 0 unless told");
    command->add_option("--seed", sampling.seed, "Of the random numbers; 0 unless told");
    command->add_option("--stop", language.stops, "A text that ends an answer; may be given again")
        ->allow_extra_args(false);
  };
  CLI::App* generates = app.add_subcommand("generate", "Go on with a text, by a language model from a GGUF file");
  language_options(generates);
  generates->add_option("PROMPT", language.text, "The text, or - for stdin")->required();
  answer_options(generates);
  CLI::App* chats = app.add_subcommand("chat", "Talk to a language model: a line in, an answer out");
  language_options(chats);
  chats->add_option("--system", language.system, "What the model is told before all else");
  answer_options(chats);
  CLI::App* embeds = app.add_subcommand("embed", "Write a text's vector as .npy");
  language_options(embeds);
  embeds->add_option("TEXT", language.text, "The text, or - for stdin")->required();
  embeds->add_option("--out", language.out, "The file; embedding.npy unless told");

  CLI11_PARSE(app, argc, argv);
  if (*generates) return rlxgpu::core::tools::generate_command(language, std::cin, std::cout, std::cerr);
  if (*chats) return rlxgpu::core::tools::chat_command(language, std::cin, std::cout, std::cerr);
  if (*embeds) return rlxgpu::core::tools::embed_command(language, std::cin, std::cout, std::cerr);
  if (*devices) return rlxgpu::core::tools::devices_command(devices_as_json, std::cout);
  if (*show) return rlxgpu::core::tools::program_command(program, std::cout, std::cerr);
  if (*checks) return rlxgpu::core::tools::check_command(check, std::cout, std::cerr);
  if (*calibrates) return rlxgpu::core::tools::calibrate_command(calibrate, std::cout, std::cerr);
  if (*tunes) return rlxgpu::core::tools::tune_command(tune, std::cout, std::cerr);
  if (*plots) return rlxgpu::core::tools::plot_command(plot, std::cout, std::cerr);
  if (*spectrograms) return rlxgpu::core::tools::spectrogram_command(spectrogram, std::cout, std::cerr);
  if (*quantizes) {
    return rlxgpu::core::tools::quantize_command(quantize, std::cout, std::cerr, isatty(STDERR_FILENO) != 0);
  }
  if (*inspects && inspect.model.ends_with(".gguf")) {
    inspect_gguf.model = inspect.model;
    return rlxgpu::core::tools::inspect_gguf_command(inspect_gguf, std::cout, std::cerr);
  }
  if (*inspects) return rlxgpu::core::tools::inspect_command(inspect, std::cout, std::cerr);
  if (*doctors) return rlxgpu::core::tools::doctor_command(doctor, std::cout, std::cerr);
  if (*exports) return rlxgpu::core::tools::export_command(exported, std::cout, std::cerr);
  if (*runs) return rlxgpu::core::tools::run_command(run, std::cout, std::cerr);
  if (*transcribes)
    return rlxgpu::core::tools::transcribe_command(transcribe, std::cout, std::cerr, isatty(STDERR_FILENO) != 0);
  std::cerr << app.help();
  return 2;
}

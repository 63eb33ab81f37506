#include "rlxgpu/tools/language_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/generate/generator.h"
#include "rlxgpu/models/language_model.h"
#include "rlxgpu/text/chat_template.h"
#include "rlxgpu/text/tokenizer.h"
#include "rlxgpu/text/utf8.h"
#include "rlxgpu/tools/npy.h"
#include "rlxgpu/tools/progress_bar.h"

namespace rlxgpu::core::tools {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

volatile std::sig_atomic_t interrupted = 0;
extern "C" void on_interrupt(int) { interrupted = 1; }

int fail(std::ostream& err, const Status& status) {
  err << "rlxgpu: " << status.message() << '\n';
  return 1;
}

struct Loaded {
  Device device;
  LanguageModel model;
  Tokenizer tokenizer;
};

Result<Loaded> load(const LanguageCommand& command, std::ostream& err) {
  DeviceOptions options;
  options.adapter = command.adapter;
  Result<Device> device = open_device(options);
  if (!device.ok()) return device.status();
  ProgressBar bar(err, command.terminal);
  const auto progress = [&](uint64_t done, uint64_t bytes) {
    constexpr uint64_t kMebi = 1 << 20;
    bar.show(static_cast<int>(done / kMebi), static_cast<int>(std::max(bytes / kMebi, uint64_t{1})), "MiB of weights");
    return interrupted == 0;
  };
  Result<LanguageModel> model = LanguageModel::load(*device, command.model, {.progress = progress});
  if (!model.ok()) return model.status();
  Result<Tokenizer> tokenizer = Tokenizer::of(model->file());
  if (!tokenizer.ok()) return tokenizer.status();
  return Loaded{*device, *std::move(model), *std::move(tokenizer)};
}

std::string given_text(const LanguageCommand& command, std::istream& in) {
  if (command.text != "-") return command.text;
  return {std::istreambuf_iterator<char>(in), {}};
}

// Writes an answer's text as it comes. Held back is what may be the beginning of a stop, or of a letter.
class Writer {
 public:
  Writer(std::ostream& out, const std::vector<std::string>& stops) : out_(out), stops_(stops) {}

  bool stopped() const { return stopped_; }
  const std::string& text() const { return text_; }

  void put(std::string_view bytes) {
    held_ += bytes;
    size_t first = std::string::npos;
    for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
    if (first != std::string::npos) {
      held_.resize(first);
      stopped_ = true;
      return flush(0);
    }
    size_t kept = unfinished_bytes(held_);
    for (const std::string& stop : stops_) {
      for (size_t n = std::min(stop.size() - 1, held_.size()); n > kept; --n) {
        if (held_.ends_with(std::string_view(stop).substr(0, n))) kept = n;
      }
    }
    flush(kept);
  }
  void end() { flush(0); }

 private:
  void flush(size_t kept) {
    const std::string_view ready = std::string_view(held_).substr(0, held_.size() - kept);
    text_ += ready;
    out_ << ready << std::flush;
    held_.erase(0, ready.size());
  }

  std::ostream& out_;
  std::vector<std::string> stops_;
  std::string held_, text_;
  bool stopped_ = false;
};

// Says an answer; the text that was written, or what went wrong.
Result<std::string> answer(Generator& generator, const Loaded& loaded, std::span<const Token> prompt,
                           const LanguageCommand& command, std::ostream& out, std::ostream& err) {
  interrupted = 0;
  Writer writer(out, command.stops);
  const double begin = now();
  double read = begin;
  int64_t count = 0;
  Answer tokens = generator.generate(prompt, {.sampling = command.sampling,
                                              .tokens = command.tokens,
                                              .ends = [&](Token token) { return loaded.tokenizer.ends(token); },
                                              .cancelled = [&] { return interrupted != 0 || writer.stopped(); }});
  read = now();
  const int64_t prompted = static_cast<int64_t>(prompt.size()) - generator.reused();
  for (const Token token : tokens) writer.put(loaded.tokenizer.piece(token)), ++count;
  writer.end();
  const double done = now();
  if (!tokens.status().ok()) return tokens.status();
  out << std::endl;
  if (tokens.finish() == Finish::context_full) {
    err << "rlxgpu: the context of " << generator.context() << " tokens is full (--context makes it longer)\n";
  }
  err << absl::StrFormat(
      "%d tokens of prompt in %.2f s (%.1f/s, %d were known), %d written in %.2f s (%.1f/s), %.0f MiB on the device\n",
      prompt.size(), read - begin, static_cast<double>(prompted) / std::max(read - begin, 1e-9), generator.reused(),
      count, done - read, static_cast<double>(count) / std::max(done - read, 1e-9),
      static_cast<double>(loaded.device.memory().total()) / 1048576);
  return writer.text();
}

Result<Generator> start(const LanguageCommand& command, const Loaded& loaded) {
  return Generator::create(loaded.model, {.context = command.context});
}

}  // namespace

int generate_command(const LanguageCommand& command, std::istream& in, std::ostream& out, std::ostream& err) {
  std::signal(SIGINT, on_interrupt);
  Result<Loaded> loaded = load(command, err);
  if (!loaded.ok()) return fail(err, loaded.status());
  const std::vector<Token> prompt = loaded->tokenizer.encode(given_text(command, in), {.special = true});
  if (prompt.empty()) return err << "rlxgpu: the prompt has no tokens\n", 2;
  Result<Generator> generator = start(command, *loaded);
  if (!generator.ok()) return fail(err, generator.status());
  Result<std::string> said = answer(*generator, *loaded, prompt, command, out, err);
  return said.ok() ? 0 : fail(err, said.status());
}

int chat_command(const LanguageCommand& command, std::istream& in, std::ostream& out, std::ostream& err) {
  std::signal(SIGINT, on_interrupt);
  Result<Loaded> loaded = load(command, err);
  if (!loaded.ok()) return fail(err, loaded.status());
  Result<ChatTemplate> chat = ChatTemplate::of(loaded->model.file(), loaded->tokenizer.vocabulary());
  if (!chat.ok()) return fail(err, chat.status());
  Result<Generator> generator = start(command, *loaded);
  if (!generator.ok()) return fail(err, generator.status());
  std::vector<ChatMessage> messages;
  if (!command.system.empty()) messages.push_back({"system", command.system});
  for (std::string line; err << (command.terminal ? "> " : "") << std::flush, std::getline(in, line);) {
    if (line.empty()) continue;
    messages.push_back({"user", line});
    Result<std::string> text = chat->text(messages);
    if (!text.ok()) return fail(err, text.status());
    Result<std::string> said = answer(
        *generator, *loaded, loaded->tokenizer.encode(*text, {.ends = false, .special = true}), command, out, err);
    if (!said.ok()) return fail(err, said.status());
    messages.push_back({"assistant", *said});
  }
  return 0;
}

int embed_command(const LanguageCommand& command, std::istream& in, std::ostream& out, std::ostream& err) {
  Result<Loaded> loaded = load(command, err);
  if (!loaded.ok()) return fail(err, loaded.status());
  const std::vector<Token> tokens = loaded->tokenizer.encode(given_text(command, in));
  if (tokens.empty()) return err << "rlxgpu: the text has no tokens\n", 2;
  const auto count = static_cast<int64_t>(tokens.size());
  const States memory(loaded->device);
  Result<Executable<DynamicGraph>> program =
      loaded->model.program({.tokens = count, .context = count, .embeddings = true}, memory);
  if (!program.ok()) return fail(err, program.status());
  for (const Status& status :
       {program->set("tokens", tokens), program->set("before", std::vector<uint32_t>{0}), program->run().wait()}) {
    if (!status.ok()) return fail(err, status);
  }
  Result<std::vector<float>> rows = program->get<float>("embeddings");
  if (!rows.ok()) return fail(err, rows.status());
  // One vector of length 1: the mean of all tokens', or the first's or last's if the model wants that.
  enum Pooling : int64_t { kNone, kMean, kFirst, kLast };
  const int64_t pooling = loaded->model.metadata().integer("pooling_type", 0, kMean);
  const size_t width = rows->size() / tokens.size();
  std::vector<float> vector(width);
  double square = 0;
  for (size_t i = 0; i < width; ++i) {
    double sum = 0;
    for (size_t t = 0; t < tokens.size(); ++t) {
      const bool counts = pooling == kFirst ? t == 0 : pooling == kLast ? t + 1 == tokens.size() : true;
      if (counts) sum += static_cast<double>((*rows)[t * width + i]);
    }
    vector[i] = static_cast<float>(sum);
    square += sum * sum;
  }
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::max(std::sqrt(square), 1e-30));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(vector));
  const Status written = write_npy(
      command.out,
      onnx::HostTensor::of_bytes(onnx::ElementType::f32, {static_cast<int64_t>(width)}, {bytes.begin(), bytes.end()}));
  if (!written.ok()) return fail(err, written);
  out << command.out << ": " << width << " numbers of " << tokens.size() << " tokens\n";
  return 0;
}

}  // namespace rlxgpu::core::tools
